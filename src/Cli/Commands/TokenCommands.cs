using System.CommandLine;
using System.Text;
using EQueue.Cli.Connecting;
using EQueue.Cli.Input;
using EQueue.Cli.Output;

namespace EQueue.Cli.Commands;

/// <summary><c>token create | revoke | list</c>.</summary>
internal static class TokenCommands
{
    private const string Beginning = "eqt_";
    private const int IdLength = 8;

    /// <summary>Ten years: who wants more says that it never ends.</summary>
    private const int MostDays = 3650;

    private static readonly TimeSpan UsualLifetime = TimeSpan.FromDays(30);

    public static Command Create(GlobalOptions options, CliStreams streams)
    {
        var token = new Command(
            "token",
            "Makes, revokes and lists tokens, with which programs come as a user. "
            + "Example: equeue token create shop --expires 90d");
        token.Subcommands.Add(CreateCreate(options, streams));
        token.Subcommands.Add(CreateRevoke(options, streams));
        token.Subcommands.Add(CreateList(options, streams));
        return token;
    }

    private static Command CreateCreate(GlobalOptions options, CliStreams streams)
    {
        Argument<string> user = new("user") { Description = "Whose it will be." };
        var expires = new Option<TimeSpan?>("--expires")
        {
            Description = $"How long it lets its user in: 12h, 90d; {DurationText.Of(UsualLifetime)} unless said.",
            HelpName = "TIME",
            CustomParser = static result => DurationText.Parse(result, MostDays),
        };
        var forever = new Option<bool>("--no-expiry") { Description = "It lets its user in until it is revoked." };
        var note = new Option<string>("--note")
        {
            Description = "What it is for, which the list shows.",
            HelpName = "TEXT",
            DefaultValueFactory = static _ => "",
        };
        var command = new Command(
            "create",
            "Makes a token and prints it, this once. Example: equeue token create shop --expires 90d > shop.token")
        {
            user, expires, forever, note,
        };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            TimeSpan? lifetime = parsed.GetValue(expires);
            if (lifetime is not null && parsed.GetValue(forever))
                throw new UsageException("Choose: --expires or --no-expiry.");
            if (!parsed.GetValue(forever))
                lifetime ??= UsualLifetime;
            string owner = parsed.GetRequiredValue(user);
            await using EQueueClient client = options.CreateClient(parsed);
            string? end = lifetime is { } time ? BodyTime.Text(TimeProvider.System.GetUtcNow() + time) : null;
            CreatedToken made = await client.Admin.CreateTokenAsync(
                owner, lifetime, parsed.GetRequiredValue(note), cancellationToken);
            if (options.IsJson(parsed))
            {
                AccessWriter.WriteJson(streams.Output, made, owner, end);
                return ExitCode.Done;
            }

            streams.Output.Write(Encoding.UTF8.GetBytes($"{made.Token}\n"));
            await streams.Error.WriteLineAsync(
                $"made token {made.Id} of user {owner}, which {(end is null ? "never ends" : $"ends at {end}")}; "
                + "it is not shown again");
            return ExitCode.Done;
        });
        return command;
    }

    private static Command CreateRevoke(GlobalOptions options, CliStreams streams)
    {
        Argument<string> id = new("id") { Description = "Its id, which the list shows; the whole token will do." };
        Option<bool> preview = DryRunOption.Create();
        var command = new Command(
            "revoke", "Ends a token, and the connections that it opened. Example: equeue token revoke x7Kd02_a")
        {
            id, preview,
        };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            string revoked = parsed.GetRequiredValue(id);
            // Who finds a token that leaked has all of it.
            if (revoked.StartsWith(Beginning, StringComparison.Ordinal) && revoked.Length > Beginning.Length + IdLength)
                revoked = revoked.Substring(Beginning.Length, IdLength);
            await using EQueueClient client = options.CreateClient(parsed);
            IReadOnlyList<TokenListing> known =
                await client.Admin.ListTokensAsync(cancellationToken).ToListAsync(cancellationToken);
            TokenListing token = known.FirstOrDefault(one => one.Id == revoked)
                ?? throw new NothingFoundException($"There is no token '{revoked}'.");
            bool isPreview = parsed.GetValue(preview);
            if (!isPreview)
                await client.Admin.RevokeTokenAsync(token.Id, cancellationToken);
            bool isJson = options.IsJson(parsed);
            if (isJson)
                new AccessWriter(streams, isJson).WriteJson(token);
            if (isPreview)
            {
                await streams.Error.WriteLineAsync(
                    $"token {token.Id} of user {token.User} would be revoked; nothing was changed");
            }
            else if (!isJson)
            {
                await streams.Error.WriteLineAsync($"revoked token {token.Id} of user {token.User}");
            }

            return ExitCode.Done;
        });
        return command;
    }

    private static Command CreateList(GlobalOptions options, CliStreams streams)
    {
        Argument<string?> user = new("user")
        {
            Description = "Only this user's.",
            Arity = ArgumentArity.ZeroOrOne,
        };
        var command = new Command(
            "list", "Lists tokens, without their secrets. Example: equeue token list shop --json") { user };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            string? only = parsed.GetValue(user);
            await using EQueueClient client = options.CreateClient(parsed);
            IReadOnlyList<TokenListing> tokens =
                await client.Admin.ListTokensAsync(cancellationToken).ToListAsync(cancellationToken);
            new AccessWriter(streams, options.IsJson(parsed)).Write(
                only is null ? tokens : [.. tokens.Where(one => one.User == only)]);
            return ExitCode.Done;
        });
        return command;
    }
}
