using System.CommandLine;
using EQueue.Cli.Connecting;
using EQueue.Cli.Contexts;
using EQueue.Cli.Input;
using EQueue.Cli.Output;
using EQueue.Protocol;

namespace EQueue.Cli.Commands;

/// <summary><c>context add | list | use | remove</c>: servers by name.</summary>
internal static class ContextCommands
{
    public static Command Create(GlobalOptions options, CliStreams streams)
    {
        var context = new Command(
            "context",
            "Keeps servers by name, for commands without --server. Example: equeue context use production");
        context.Subcommands.Add(CreateAdd(options, streams));
        context.Subcommands.Add(CreateList(options, streams));
        context.Subcommands.Add(CreateUse(options, streams));
        context.Subcommands.Add(CreateRemove(options, streams));
        return context;
    }

    private static Argument<string> NameArgument() => new("name") { Description = "The context's name." };

    private static Command CreateAdd(GlobalOptions options, CliStreams streams)
    {
        Argument<string> name = NameArgument();
        var replace = new Option<bool>("--replace") { Description = "Puts it in place of the one of that name." };
        var command = new Command(
            "add",
            "Keeps --server, the --tls options and those of credentials under a name; the first one is used at once. "
            + "Example: equeue context add production --server broker.example:9490 --tls-ca ca.pem --user alice")
        {
            name, replace,
        };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            string added = parsed.GetRequiredValue(name);
            if (!NameRules.IsValid(added))
                throw new UsageException($"'{added}' is no name: letters, digits, '.', '_' and '-' only.");
            if (!options.NamesServer(parsed))
                throw new UsageException("Say which servers: add --server HOST:PORT.");
            NamedContext context = options.ReadContext(parsed);
            if (context.PasswordFile is not null)
                SecretText.ReadFile(context.PasswordFile);
            if (context.TokenFile is not null && !File.Exists(context.TokenFile))
                throw new UsageException($"There is no file {context.TokenFile}.");
            // Nothing is connected: addresses and files are looked at.
            await using (EQueueClient unused = options.CreateIdleClient(parsed))
            {
                ContextFile file = options.Contexts;
                ContextBook book = file.Read();
                if (book.Contexts.ContainsKey(added) && !parsed.GetValue(replace))
                    throw new UsageException($"There is a context '{added}': add --replace, or choose another name.");
                book.Contexts[added] = context;
                file.Write(book with { Current = book.Current ?? added });
            }

            return await TellAsync(options, parsed, streams, "added", added);
        });
        return command;
    }

    private static Command CreateList(GlobalOptions options, CliStreams streams)
    {
        var command = new Command(
            "list", "Lists the contexts; * is in use. Example: equeue context list --json");
        command.SetAction(parsed =>
        {
            ContextBook book = options.Contexts.Read();
            string? current = options.ContextName(parsed, book);
            if (!options.IsJson(parsed))
            {
                TableWriter.Write(
                    streams,
                    ["name", "server", "TLS", "in use", "as"],
                    [
                        .. book.Contexts.Select(one => new[]
                        {
                            one.Key, one.Value.Server, one.Value.Tls ? "yes" : "no", one.Key == current ? "*" : "",
                            AsWhom(one.Value),
                        }),
                    ]);
                return ExitCode.Done;
            }

            foreach ((string name, NamedContext context) in book.Contexts)
            {
                JsonLine.Write(streams.Output, json =>
                {
                    json.WriteString("name", name);
                    json.WriteString("server", context.Server);
                    json.WriteBoolean("tls", context.Tls);
                    json.WriteString("tlsCa", context.TlsCa);
                    json.WriteString("tlsCert", context.TlsCert);
                    json.WriteString("tlsKey", context.TlsKey);
                    json.WriteBoolean("inUse", name == current);
                    json.WriteString("user", context.User);
                    json.WriteString("passwordFile", context.PasswordFile);
                    json.WriteString("tokenFile", context.TokenFile);
                });
            }

            return ExitCode.Done;
        });
        return command;
    }

    private static Command CreateUse(GlobalOptions options, CliStreams streams)
    {
        Argument<string> name = NameArgument();
        var command = new Command(
            "use", "Has commands without --server go to a context. Example: equeue context use production") { name };
        command.SetAction((parsed, _) =>
        {
            string used = parsed.GetRequiredValue(name);
            ContextBook book = options.Contexts.Read();
            book.Demand(used);
            options.Contexts.Write(book with { Current = used });
            return TellAsync(options, parsed, streams, "using", used);
        });
        return command;
    }

    private static Command CreateRemove(GlobalOptions options, CliStreams streams)
    {
        Argument<string> name = NameArgument();
        var command = new Command(
            "remove", "Forgets a context; nothing at the servers changes. Example: equeue context remove test")
        {
            name,
        };
        command.SetAction((parsed, _) =>
        {
            string removed = parsed.GetRequiredValue(name);
            ContextBook book = options.Contexts.Read();
            book.Demand(removed);
            book.Contexts.Remove(removed);
            options.Contexts.Write(book.Current == removed ? book with { Current = null } : book);
            return TellAsync(options, parsed, streams, "removed", removed);
        });
        return command;
    }

    private static string AsWhom(NamedContext context) => context switch
    {
        { User: { } user } => PrincipalText.OfUser(user),
        { TokenFile: not null } => "a token",
        { TlsCert: not null } => "a certificate",
        _ => "",
    };

    private static async Task<int> TellAsync(
        GlobalOptions options, ParseResult parsed, CliStreams streams, string done, string name)
    {
        if (options.IsJson(parsed))
            JsonLine.Write(streams.Output, json => json.WriteString(done, name));
        else
            await streams.Error.WriteLineAsync($"{done} context {name}");
        return ExitCode.Done;
    }
}
