using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>Tells shortages of descriptors and memory from faults of the disk, and logs when one begins and ends.
/// Thread-safe.</summary>
/// <remarks>A shortage passes, and the call that met it has done nothing: the log's threads wait and call
/// again.</remarks>
internal sealed class ShortageWatch(string directory, ILogger logger)
{
    private int _isShort;

    /// <summary>Whether a failure passes by itself.</summary>
    public static bool IsShortage(Exception exception) =>
        exception is DiskException { Fault: DiskFault.Shortage } or OutOfMemoryException;

    /// <summary>A call met a shortage.</summary>
    public void Note(Exception exception)
    {
        if (Interlocked.Exchange(ref _isShort, 1) != 0)
            return;
        try
        {
            Log.ShortageBegan(logger, exception, directory);
        }
        catch (OutOfMemoryException)
        {
            // Not even for the line: the next call that fails writes it.
            Volatile.Write(ref _isShort, 0);
        }
    }

    /// <summary>A call that waits for such things was served.</summary>
    public void NoteEnd()
    {
        if (Volatile.Read(ref _isShort) != 0 && Interlocked.Exchange(ref _isShort, 0) != 0)
            Log.ShortageEnded(logger, directory);
    }
}
