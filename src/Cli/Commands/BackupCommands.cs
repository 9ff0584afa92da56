using System.CommandLine;
using EQueue.Cli.Connecting;
using EQueue.Cli.Input;
using EQueue.Cli.Output;
using EQueue.MessageStore;

namespace EQueue.Cli.Commands;

/// <summary><c>backup</c> and <c>restore</c>: work on directories of this machine, beside a running broker.</summary>
internal static class BackupCommands
{
    public static Command CreateBackup(GlobalOptions options, CliStreams streams)
    {
        Argument<string> directory = DirectoryArgument("The backup's directory: new, empty, or with an older backup.");
        Option<string> data = DataOption("The broker's data directory; the broker may be running.");
        var rate = new Option<long?>("--rate")
        {
            Description = "Copies no faster than so many bytes per second: 512KiB, 20MiB.",
            HelpName = "SIZE",
            CustomParser = SizeText.Parse,
        };
        var verify = new Option<bool>("--verify")
        {
            Description = "Makes no backup: checks every byte of the one that is there.",
        };
        var command = new Command(
            "backup",
            "Copies a broker's data directory as of now, beside the running broker: all that was acknowledged. "
            + "What the directory has already is not copied again. "
            + "Example: equeue backup /mnt/backup/equeue --data /var/lib/equeue")
        {
            directory, data, rate, verify,
        };
        command.SetAction((parsed, cancellationToken) =>
        {
            string backup = Path.GetFullPath(parsed.GetRequiredValue(directory));
            bool isJson = options.IsJson(parsed);
            if (parsed.GetValue(rate) is < 1)
                throw new UsageException("--rate must be 1 or more.");
            if (!parsed.GetValue(verify))
            {
                string source = LogCommands.DataDirectory(parsed.GetRequiredValue(data));
                Write(streams, isJson, backup, source, parsed.GetValue(rate), cancellationToken);
                return Task.FromResult(ExitCode.Done);
            }

            if (parsed.GetResult(data) is { Implicit: false } || parsed.GetValue(rate) is not null)
                throw new UsageException("--verify looks at the backup alone: without --data and --rate.");
            return Task.FromResult(Verify(streams, isJson, backup, cancellationToken));
        });
        return command;
    }

    public static Command CreateRestore(GlobalOptions options, CliStreams streams)
    {
        Argument<string> directory = DirectoryArgument("The backup's directory.");
        Option<string> data = DataOption("The data directory to make: new or empty.");
        var command = new Command(
            "restore",
            "Makes a data directory of a backup, checking every byte; a broker started on it continues from there. "
            + "Example: equeue restore /mnt/backup/equeue --data /var/lib/equeue")
        {
            directory, data,
        };
        command.SetAction((parsed, cancellationToken) =>
        {
            string backup = Path.GetFullPath(parsed.GetRequiredValue(directory));
            string target = Path.GetFullPath(parsed.GetRequiredValue(data));
            bool isJson = options.IsJson(parsed);
            BackupResult result = ProgressBar.Run(
                streams, isJson, "restore",
                progress => StoreBackup.Restore(backup, target, progress, cancellationToken));
            new BackupWriter(streams, isJson, backup).WriteRestore(result, target);
            return Task.FromResult(ExitCode.Done);
        });
        return command;
    }

    private static Argument<string> DirectoryArgument(string description) =>
        new("dir") { Description = description };

    private static Option<string> DataOption(string description) => new("--data")
    {
        Description = description,
        HelpName = "DIR",
        DefaultValueFactory = _ => "data",
    };

    private static void Write(
        CliStreams streams, bool isJson, string backup, string data, long? rate, CancellationToken cancellationToken)
    {
        BackupResult result = ProgressBar.Run(streams, isJson, "backup", progress => StoreBackup.Write(
            new BackupOptions
            {
                DataDirectory = data,
                BackupDirectory = backup,
                BytesPerSecond = rate,
                Progress = progress,
            },
            cancellationToken));
        new BackupWriter(streams, isJson, backup).WriteBackup(result, data);
    }

    private static int Verify(CliStreams streams, bool isJson, string backup, CancellationToken cancellationToken)
    {
        var damaged = new List<string>();
        BackupResult result = ProgressBar.Run(
            streams, isJson, "verify",
            progress => StoreBackup.Verify(backup, progress, damaged.Add, cancellationToken));
        new BackupWriter(streams, isJson, backup).WriteVerification(result, damaged);
        if (damaged.Count == 0)
            return ExitCode.Done;
        if (!isJson)
        {
            streams.Error.WriteLine(
                "next: remove the damaged files; another backup gets them anew if the broker still has them: "
                + "equeue backup --help");
        }

        return ExitCode.Damaged;
    }
}
