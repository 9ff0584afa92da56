using System.CommandLine;
using System.Globalization;
using EQueue.Cli.Connecting;
using EQueue.Cli.Output;
using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Cli.Commands;

/// <summary><c>log verify | inspect</c>: looks at a data directory without a broker and writes nothing.</summary>
internal static class LogCommands
{
    public static Command Create(GlobalOptions options, CliStreams streams)
    {
        var log = new Command(
            "log",
            "Checks and shows a data directory, without a broker; nothing is written. "
            + "Example: equeue log verify /var/lib/equeue");
        log.Subcommands.Add(CreateVerify(options, streams));
        log.Subcommands.Add(CreateInspect(options, streams));
        return log;
    }

    /// <summary>The full path of a broker's data directory.</summary>
    /// <exception cref="DirectoryNotFoundException">There is no such directory, or no store in it.</exception>
    public static string DataDirectory(string directory)
    {
        string path = Path.GetFullPath(directory);
        return Directory.Exists(Path.Combine(path, "logs"))
            ? path
            : throw new DirectoryNotFoundException($"{path} is no data directory of a broker.");
    }

    private static Argument<string> DirectoryArgument() => new("dir") { Description = "The broker's data directory." };

    private static Command CreateVerify(GlobalOptions options, CliStreams streams)
    {
        Argument<string> directory = DirectoryArgument();
        var command = new Command(
            "verify",
            "Checks every byte of the log; ends with 6 when something is damaged. "
            + "Example: equeue log verify /var/lib/equeue")
        {
            directory,
        };
        command.SetAction((parsed, cancellationToken) =>
        {
            string path = DataDirectory(parsed.GetRequiredValue(directory));
            bool isJson = options.IsJson(parsed);
            LogVerification found = ProgressBar.Run(
                streams, isJson, "verify", progress => LogVerifier.Verify(path, progress, cancellationToken));
            var output = new BufferedStream(streams.Output);
            if (isJson)
                WriteJson(output, found);
            else
                WriteText(output, found);
            output.Flush();
            return Task.FromResult(found.BadRanges.Count == 0 ? ExitCode.Done : ExitCode.Damaged);
        });
        return command;
    }

    private static Command CreateInspect(GlobalOptions options, CliStreams streams)
    {
        Argument<string> directory = DirectoryArgument();
        var entries = new Option<bool>("--entries") { Description = "Lists the entries too." };
        var from = new Option<long>("--from") { Description = "The first entry's position.", HelpName = "POSITION" };
        var count = new Option<long?>("--count") { Description = "Ends after so many entries.", HelpName = "N" };
        var command = new Command(
            "inspect",
            "Lists segments and snapshots, and with --entries what they hold. "
            + "Example: equeue log inspect /var/lib/equeue --entries --count 100")
        {
            directory, entries, from, count,
        };
        command.SetAction((parsed, cancellationToken) =>
        {
            if (parsed.GetValue(from) < 0)
                throw new UsageException("--from must be 0 or more.");
            if (parsed.GetValue(count) is < 1)
                throw new UsageException("--count must be 1 or more.");
            var log = LogInspector.Open(DataDirectory(parsed.GetRequiredValue(directory)));
            var output = new BufferedStream(streams.Output);
            var writer = new LogWriter(output, options.IsJson(parsed));
            writer.WriteStore(log);
            foreach (SegmentSummary segment in log.Segments)
                writer.Write(segment);
            foreach ((LogPosition start, LogPosition end, bool isWhole) in log.Snapshots)
                writer.WriteSnapshot(start, end, isWhole);
            if (parsed.GetValue(entries))
            {
                long left = parsed.GetValue(count) ?? long.MaxValue;
                log.ReadEntries(
                    new LogPosition(parsed.GetValue(from)),
                    entry =>
                    {
                        writer.Write(entry);
                        return --left > 0;
                    },
                    cancellationToken);
            }

            output.Flush();
            return Task.FromResult(ExitCode.Done);
        });
        return command;
    }

    private static void WriteText(Stream output, LogVerification found)
    {
        using var writer = new StreamWriter(output, leaveOpen: true) { NewLine = "\n" };
        writer.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"{found.Segments} segments, {found.Entries} entries, {found.Messages} messages, "
            + $"positions {found.FirstPosition.Value} to {found.EndPosition.Value}"));
        foreach (BadRange range in found.BadRanges)
            writer.WriteLine($"damaged: {range.Size} bytes at position {range.Position.Value} in {range.Segment}");
        if (found.BadRanges.Count == 0)
            writer.WriteLine("no damage");
    }

    private static void WriteJson(Stream output, LogVerification found) => JsonLine.Write(output, json =>
    {
        json.WriteNumber("segments", found.Segments);
        json.WriteNumber("entries", found.Entries);
        json.WriteNumber("messages", found.Messages);
        json.WriteStartArray("badRanges");
        foreach (BadRange range in found.BadRanges)
        {
            json.WriteStartObject();
            json.WriteString("segment", range.Segment);
            json.WriteNumber("position", range.Position.Value);
            json.WriteNumber("size", range.Size);
            json.WriteEndObject();
        }

        json.WriteEndArray();
        json.WriteNumber("firstPosition", found.FirstPosition.Value);
        json.WriteNumber("endPosition", found.EndPosition.Value);
    });
}
