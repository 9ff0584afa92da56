using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>A directory that is opened: locked, with everything back that was acknowledged.</summary>
/// <param name="Options">As they are for this volume, with the whole path.</param>
/// <param name="Disk">Where.</param>
/// <param name="Lock">Keeps other processes out until it is disposed.</param>
/// <param name="State">Queues, producers and the caller's state machine, up to the end of the log.</param>
/// <param name="Recovered">Where the log ends, and its files.</param>
internal sealed record StoreOpening(
    StoreOptions Options, IDisk Disk, IDisposable Lock, LogState State, RecoveredLog Recovered)
{
    /// <summary>Locks a directory, or makes it, and recovers it. Blocks.</summary>
    public static StoreOpening Run(
        StoreOptions options,
        IStateMachine machine,
        ILogger logger,
        TimeProvider time,
        Lead? lead,
        CancellationToken cancellationToken)
    {
        IDisk disk = options.Disk ?? PortableDisk.ForThisSystem();
        options = options with { DataDirectory = Path.GetFullPath(options.DataDirectory) };
        disk.CreateDirectory(options.DataDirectory);
        options = VolumeFit.Fit(options, disk);
        IDisposable directoryLock = disk.Lock(LogFiles.LockFile(options.DataDirectory));
        try
        {
            var producers = new ProducerTable(options.ProducerIds) { MaxBytes = options.MaxProducerBytes };
            var state = new LogState(new QueueTable(), producers, machine);
            RecoveredLog recovered = Recovery.Run(options, disk, state, logger, time, lead, cancellationToken);
            return new StoreOpening(options, disk, directoryLock, state, recovered);
        }
        catch
        {
            directoryLock.Dispose();
            throw;
        }
    }
}
