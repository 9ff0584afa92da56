using System.CommandLine;
using EQueue.Cli.Access;
using EQueue.Cli.Connecting;
using EQueue.Cli.Input;
using EQueue.Cli.Output;
using EQueue.Protocol;

namespace EQueue.Cli.Commands;

/// <summary><c>user add | passwd | disable | enable | groups | remove | list</c>.</summary>
/// <remarks>A password is asked for, or comes from a file or from standard input: an argument could be read by all of
/// the machine, in the list of processes.</remarks>
internal static class UserCommands
{
    public static Command Create(GlobalOptions options, CliStreams streams)
    {
        var user = new Command(
            "user",
            "Adds, changes, removes and lists users, who log in with a password or a token. "
            + "Example: equeue user add alice --group billing");
        user.Subcommands.Add(CreateAdd(options, streams));
        user.Subcommands.Add(CreatePasswd(options, streams));
        user.Subcommands.Add(CreateSwitch(
            isDisabled: true,
            "Keeps a user out, tokens included, until enabled again. Example: equeue user disable alice",
            options,
            streams));
        user.Subcommands.Add(CreateSwitch(
            isDisabled: false, "Lets a disabled user in again. Example: equeue user enable alice", options, streams));
        user.Subcommands.Add(CreateGroups(options, streams));
        user.Subcommands.Add(CreateRemove(options, streams));
        user.Subcommands.Add(CreateList(options, streams));
        return user;
    }

    private static Argument<string> NameArgument() =>
        new("name") { Description = "The user's name, as rules have it behind user:." };

    private static Option<string?> PasswordFileOption() => new("--new-password-file")
    {
        Description = "File that holds the new password alone, and that no other user may read. Without it, the "
            + "password is asked for on a terminal and read from standard input elsewhere.",
        HelpName = "FILE",
    };

    private static Command CreateAdd(GlobalOptions options, CliStreams streams)
    {
        Argument<string> name = NameArgument();
        var groups = new Option<string[]>("--group")
        {
            Description = "A group that rules may name as group:G; may be repeated.",
            HelpName = "G",
        };
        Option<string?> file = PasswordFileOption();
        var without = new Option<bool>("--no-password") { Description = "Without a password: tokens alone let it in." };
        var command = new Command(
            "add",
            "Adds a user; the password is never an argument. "
            + "Example: equeue user add alice --group billing --group support")
        {
            name, groups, file, without,
        };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            string added = parsed.GetRequiredValue(name);
            if (parsed.GetValue(without) && parsed.GetValue(file) is not null)
                throw new UsageException("Choose: --no-password or --new-password-file.");
            var user = new UserListing(
                added, false, !parsed.GetValue(without), Groups(added, parsed.GetValue(groups) ?? []));
            await using EQueueClient client = options.CreateClient(parsed);
            IReadOnlyList<UserListing> known =
                await client.Admin.ListUsersAsync(cancellationToken).ToListAsync(cancellationToken);
            if (known.Any(one => one.Name == added))
                throw new EQueueException(ErrorCode.InvalidArgument, $"There is a user '{added}' already.");
            string? password = user.HasPassword
                ? new NewPassword(streams).Read(added, parsed.GetValue(file)) : null;
            await client.Admin.SetUserAsync(
                added, password, isDisabled: false, user.Groups, mustBeNew: true,
                cancellationToken: cancellationToken);
            return await TellAsync("added", user, options.IsJson(parsed), streams);
        });
        return command;
    }

    private static Command CreatePasswd(GlobalOptions options, CliStreams streams)
    {
        Argument<string> name = NameArgument();
        Option<string?> file = PasswordFileOption();
        var command = new Command(
            "passwd", "Gives a user a new password in place of the one before. Example: equeue user passwd alice")
        {
            name, file,
        };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            await using EQueueClient client = options.CreateClient(parsed);
            UserListing user = await FindAsync(client.Admin, parsed.GetRequiredValue(name), cancellationToken);
            string password = new NewPassword(streams).Read(user.Name, parsed.GetValue(file));
            await client.Admin.SetUserAsync(
                user.Name, password, mustExist: true, cancellationToken: cancellationToken);
            return await TellAsync(
                "set the password of", user with { HasPassword = true }, options.IsJson(parsed), streams);
        });
        return command;
    }

    private static Command CreateSwitch(bool isDisabled, string description, GlobalOptions options, CliStreams streams)
    {
        Argument<string> name = NameArgument();
        var command = new Command(isDisabled ? "disable" : "enable", description) { name };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            await using EQueueClient client = options.CreateClient(parsed);
            UserListing user = await FindAsync(client.Admin, parsed.GetRequiredValue(name), cancellationToken);
            await client.Admin.SetUserAsync(
                user.Name, isDisabled: isDisabled, mustExist: true, cancellationToken: cancellationToken);
            return await TellAsync(
                isDisabled ? "disabled" : "enabled", user with { IsDisabled = isDisabled }, options.IsJson(parsed),
                streams);
        });
        return command;
    }

    private static Command CreateGroups(GlobalOptions options, CliStreams streams)
    {
        Argument<string> name = NameArgument();
        Argument<string[]> groups = new("group-of-users")
        {
            Description = "All groups that the user is to be in.",
            Arity = ArgumentArity.ZeroOrMore,
        };
        var none = new Option<bool>("--none") { Description = "Takes the user out of all groups." };
        var command = new Command(
            "groups",
            "Puts a user into groups, in place of those before. Example: equeue user groups alice billing support")
        {
            name, groups, none,
        };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            string[] given = parsed.GetValue(groups) ?? [];
            if (given.Length == 0 != parsed.GetValue(none))
                throw new UsageException("Name the groups, or say --none.");
            string changed = parsed.GetRequiredValue(name);
            string[] wanted = Groups(changed, given);
            await using EQueueClient client = options.CreateClient(parsed);
            UserListing user = await FindAsync(client.Admin, changed, cancellationToken);
            await client.Admin.SetUserAsync(
                user.Name, groups: wanted, mustExist: true, cancellationToken: cancellationToken);
            return await TellAsync(
                "set the groups of", user with { Groups = wanted }, options.IsJson(parsed), streams);
        });
        return command;
    }

    private static Command CreateRemove(GlobalOptions options, CliStreams streams)
    {
        Argument<string> name = NameArgument();
        Option<bool> preview = DryRunOption.Create();
        var command = new Command(
            "remove",
            "Removes a user and its tokens; rules that name it stay. Example: equeue user remove alice --dry-run")
        {
            name, preview,
        };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            bool isJson = options.IsJson(parsed);
            await using EQueueClient client = options.CreateClient(parsed);
            UserListing user = await FindAsync(client.Admin, parsed.GetRequiredValue(name), cancellationToken);
            if (!parsed.GetValue(preview))
            {
                await client.Admin.DeleteUserAsync(user.Name, cancellationToken);
                return await TellAsync("removed", user, isJson, streams);
            }

            IReadOnlyList<TokenListing> tokens =
                await client.Admin.ListTokensAsync(cancellationToken).ToListAsync(cancellationToken);
            if (isJson)
                new AccessWriter(streams, isJson).WriteJson(user);
            await streams.Error.WriteLineAsync(
                $"user {user.Name} would be removed, with {tokens.Count(one => one.User == user.Name)} tokens; "
                + "nothing was changed");
            return ExitCode.Done;
        });
        return command;
    }

    private static Command CreateList(GlobalOptions options, CliStreams streams)
    {
        var command = new Command("list", "Lists the users. Example: equeue user list --json");
        command.SetAction(async (parsed, cancellationToken) =>
        {
            await using EQueueClient client = options.CreateClient(parsed);
            new AccessWriter(streams, options.IsJson(parsed)).Write(
                await client.Admin.ListUsersAsync(cancellationToken).ToListAsync(cancellationToken));
            return ExitCode.Done;
        });
        return command;
    }

    /// <summary>What a user is now; of one that is not there, which names are near.</summary>
    private static async Task<UserListing> FindAsync(
        EQueueAdmin admin, string name, CancellationToken cancellationToken)
    {
        IReadOnlyList<UserListing> known =
            await admin.ListUsersAsync(cancellationToken).ToListAsync(cancellationToken);
        return known.FirstOrDefault(one => one.Name == name)
            ?? throw new NothingFoundException(
                $"There is no user '{name}'. {Nearest.Ask(name, known.Select(static one => one.Name))}".TrimEnd());
    }

    /// <summary>Groups as a broker keeps them: in ordinal order, each once.</summary>
    private static string[] Groups(string user, IEnumerable<string> given)
    {
        if (!NameRules.IsValid(user))
            throw new UsageException($"'{user}' is no name: letters, digits, '.', '_' and '-' only.");
        string[] groups = [.. given.Distinct(StringComparer.Ordinal).Order(StringComparer.Ordinal)];
        string? wrong = Array.Find(groups, static group => !NameRules.IsValid(group));
        return wrong is null
            ? groups
            : throw new UsageException($"'{wrong}' is no name of a group: letters, digits, '.', '_' and '-' only.");
    }

    private static async Task<int> TellAsync(string done, UserListing user, bool isJson, CliStreams streams)
    {
        if (isJson)
            new AccessWriter(streams, isJson).WriteJson(user);
        else
            await streams.Error.WriteLineAsync($"{done} user {user.Name}");
        return ExitCode.Done;
    }
}
