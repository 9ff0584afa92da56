using System.CommandLine;
using EQueue.Cli.Connecting;
using EQueue.Cli.Output;

namespace EQueue.Cli.Commands;

/// <summary><c>explain</c>: says why a group did or did not consume a message.</summary>
internal static class ExplainCommand
{
    public static Command Create(GlobalOptions options, CliStreams streams)
    {
        var topic = new Argument<string>("topic") { Description = "The topic's name." };
        var queue = new Option<int>("--queue")
        {
            Description = "The queue, by number.",
            HelpName = "N",
            Required = true,
        };
        var offset = new Option<long>("--offset")
        {
            Description = "The message's offset in the queue.",
            HelpName = "M",
            Required = true,
        };
        var group = new Option<string>("--group")
        {
            Description = "The group that should have consumed it.",
            HelpName = "G",
            Required = true,
        };
        var command = new Command(
            "explain",
            "Tells why a group did or did not consume a message, and changes nothing. "
            + "Example: equeue explain orders --queue 2 --offset 4711 --group billing")
        {
            topic, queue, offset, group,
        };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            if (parsed.GetValue(queue) < 0)
                throw new UsageException("--queue must be 0 or more.");
            if (parsed.GetValue(offset) < 0)
                throw new UsageException("--offset must be 0 or more.");
            await using EQueueClient client = options.CreateClient(parsed);
            IReadOnlyList<Explanation> explanations = await new Explainer(client.Admin, TimeProvider.System)
                .ExplainAsync(
                    parsed.GetRequiredValue(topic),
                    parsed.GetValue(queue),
                    parsed.GetValue(offset),
                    parsed.GetRequiredValue(group),
                    cancellationToken);
            foreach (Explanation explanation in explanations)
                ExplanationWriter.Write(streams.Output, explanation, options.IsJson(parsed));
            await streams.Output.FlushAsync(CancellationToken.None);
            return ExitCode.Done;
        });
        return command;
    }
}
