using System.CommandLine;
using EQueue.Cli.Connecting;
using EQueue.Cli.Input;
using EQueue.Cli.Output;

namespace EQueue.Cli.Commands;

/// <summary><c>quota set | remove | list</c>.</summary>
internal static class QuotaCommands
{
    private const string Client = "client";
    private const string Topic = "topic";

    public static Command Create(GlobalOptions options, CliStreams streams)
    {
        var quota = new Command(
            "quota",
            "Sets, removes and lists how fast clients and topics may go. "
            + "Example: equeue quota set client billing --produce-rate 10MiB");
        quota.Subcommands.Add(CreateSet(options, streams));
        quota.Subcommands.Add(CreateRemove(options, streams));
        quota.Subcommands.Add(CreateList(options, streams));
        return quota;
    }

    private static Argument<QuotaKind> KindArgument()
    {
        var argument = new Argument<QuotaKind>("kind")
        {
            Description = "client (by the name that it says) or topic.",
            HelpName = "client|topic",
            CustomParser = result =>
            {
                string word = result.Tokens[0].Value;
                if (word == Client)
                    return QuotaKind.Client;
                if (word != Topic)
                    result.AddError($"'{word}' has no quota: client or topic.");
                return QuotaKind.Topic;
            },
        };
        // Those of the type are spelled as the code does.
        argument.CompletionSources.Clear();
        argument.CompletionSources.Add(Client, Topic);
        return argument;
    }

    private static Argument<string> NameArgument() =>
        new("name") { Description = "Its name; '*' = each that has no quota of its own." };

    private static Command CreateSet(GlobalOptions options, CliStreams streams)
    {
        Argument<QuotaKind> kind = KindArgument();
        Argument<string> name = NameArgument();
        Option<long?> produce = Rate("--produce-rate", "Bytes that may be sent per second: 512KiB, 10MiB.");
        Option<long?> fetch = Rate("--fetch-rate", "Bytes of messages that may be read per second.");
        var requests = new Option<long?>("--request-rate")
        {
            Description = "Requests per second.",
            HelpName = "N",
            CustomParser = CountText.Parse,
        };
        var command = new Command(
            "set",
            "Sets a quota in place of the one before. A client that is faster waits; nothing is refused. "
            + "Example: equeue quota set topic '*' --request-rate 5000")
        {
            kind, name, produce, fetch, requests,
        };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            var quota = new Quota(
                parsed.GetRequiredValue(kind),
                parsed.GetRequiredValue(name),
                parsed.GetValue(produce) ?? 0,
                parsed.GetValue(fetch) ?? 0,
                parsed.GetValue(requests) ?? 0);
            if (quota.IsEmpty)
            {
                throw new UsageException(
                    "A quota needs a rate above 0: --produce-rate, --fetch-rate or --request-rate. "
                    + "'quota remove' takes one away.");
            }

            await using EQueueClient client = options.CreateClient(parsed);
            await client.Admin.SetQuotaAsync(quota, cancellationToken);
            if (options.IsJson(parsed))
                JsonLine.WriteBody(streams.Output, QuotaBody.Of(quota));
            else
                await streams.Error.WriteLineAsync($"set the quota of {Text(quota.Kind)} {quota.Name}");
            return ExitCode.Done;
        });
        return command;
    }

    private static Command CreateRemove(GlobalOptions options, CliStreams streams)
    {
        Argument<QuotaKind> kind = KindArgument();
        Argument<string> name = NameArgument();
        Option<bool> preview = DryRunOption.Create();
        var command = new Command("remove", "Removes a quota. Example: equeue quota remove client billing")
        {
            kind, name, preview,
        };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            var quota = new Quota(parsed.GetRequiredValue(kind), parsed.GetRequiredValue(name), 0, 0, 0);
            await using EQueueClient client = options.CreateClient(parsed);
            IReadOnlyList<Quota> known = await client.Admin.ListQuotasAsync(cancellationToken);
            Quota found = known.FirstOrDefault(one => one.Kind == quota.Kind && one.Name == quota.Name)
                ?? throw new NothingFoundException($"There is no quota of {Text(quota.Kind)} '{quota.Name}'.");
            if (parsed.GetValue(preview))
            {
                if (options.IsJson(parsed))
                    JsonLine.WriteBody(streams.Output, QuotaBody.Of(found));
                await streams.Error.WriteLineAsync(
                    $"the quota of {Text(quota.Kind)} {quota.Name} would be removed; nothing was changed");
                return ExitCode.Done;
            }

            await client.Admin.SetQuotaAsync(quota, cancellationToken);
            if (options.IsJson(parsed))
                JsonLine.WriteBody(streams.Output, QuotaBody.Of(quota));
            else
                await streams.Error.WriteLineAsync($"removed the quota of {Text(quota.Kind)} {quota.Name}");
            return ExitCode.Done;
        });
        return command;
    }

    private static Command CreateList(GlobalOptions options, CliStreams streams)
    {
        var command = new Command("list", "Lists the quotas; 0 is no bound. Example: equeue quota list --json");
        command.SetAction(async (parsed, cancellationToken) =>
        {
            await using EQueueClient client = options.CreateClient(parsed);
            IReadOnlyList<Quota> quotas = await client.Admin.ListQuotasAsync(cancellationToken);
            if (options.IsJson(parsed))
            {
                foreach (Quota quota in quotas)
                    JsonLine.WriteBody(streams.Output, QuotaBody.Of(quota));
                return ExitCode.Done;
            }

            TableWriter.Write(
                streams,
                ["kind", "name", "produce/s", "fetch/s", "requests/s"],
                [
                    .. quotas.Select(quota => new[]
                    {
                        Text(quota.Kind), quota.Name, Size(quota.ProduceBytes, streams),
                        Size(quota.FetchBytes, streams), TableWriter.Cell(quota.Requests),
                    }),
                ]);
            return ExitCode.Done;
        });
        return command;
    }

    private static string Size(long bytes, CliStreams streams) =>
        streams.IsTerminal && bytes > 0 ? HumanText.Size(bytes) : TableWriter.Cell(bytes);

    private static Option<long?> Rate(string name, string description) =>
        new(name) { Description = description, HelpName = "SIZE", CustomParser = SizeText.Parse };

    private static string Text(QuotaKind kind) => kind == QuotaKind.Client ? Client : Topic;
}
