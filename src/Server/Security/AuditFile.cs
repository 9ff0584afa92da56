using System.Buffers;
using EQueue.Broker;

namespace EQueue.Server.Security;

/// <summary>Writes what was administered and refused as lines of JSON to a file, which rolls.</summary>
/// <remarks>
/// <para>Any thread may write; a thread of its own does the disk's work. The order of lines is that of the calls, and
/// <c>seq</c> counts the calls since the start: a number that is missing is a line that was lost.</para>
/// <para>A line is with the system as soon as the thread comes to it; it is on the disk when the file rolls and when it
/// is closed. While the disk refuses, lines wait, as many as there is room for; those beyond are lost and
/// counted.</para>
/// </remarks>
internal sealed class AuditFile : IAuditSink, IDisposable
{
    /// <summary>Characters of records that wait; with their objects about twice as many bytes.</summary>
    private const int MostWaitingChars = 4 << 20;

    private const int MostBatchBytes = 256 << 10;

    private static readonly TimeSpan BetweenTries = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan StopPatience = TimeSpan.FromSeconds(5);

    private readonly RollingFile _file;
    private readonly TimeProvider _time;
    private readonly AuditTrouble _trouble;
    private readonly Lock _lock = new();
    private readonly Queue<(long Number, AuditRecord Record)> _waiting = [];
    private readonly SemaphoreSlim _something = new(0);
    private readonly CancellationTokenSource _stopping = new();
    private readonly Thread _writer;
    private int _waitingChars;
    private long _lastNumber;
    private long _lost;
    private bool _isClosed;

    /// <summary>Begins to take records; the file is opened for the first of them, or by <see cref="Open"/>.</summary>
    /// <param name="path">Of the file that is written; older ones have <c>.1</c>, <c>.2</c>, ... behind their
    /// names.</param>
    /// <param name="files">How many files there are at most.</param>
    /// <param name="time">For the waits between tries.</param>
    /// <param name="logger">Told when lines are lost and when the disk refuses, once a minute at most.</param>
    /// <param name="rollBytes">How long a file may be.</param>
    public AuditFile(string path, int files, TimeProvider time, ILogger logger, long rollBytes = 64 << 20)
    {
        _file = new RollingFile(path, files, rollBytes);
        _time = time;
        _trouble = new AuditTrouble(path, time, logger);
        _writer = new Thread(Run) { IsBackground = true, Name = "equeue-audit" };
        _writer.Start();
    }

    /// <summary>Lines that were not written and will not be.</summary>
    public long Lost => Interlocked.Read(ref _lost);

    /// <summary>Opens the file, so that one that cannot be opened is known at once.</summary>
    /// <exception cref="IOException">It cannot be opened.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not.</exception>
    public void Open() => _file.Open();

    /// <inheritdoc/>
    public void Write(in AuditRecord record)
    {
        AuditRecord taken = AuditLine.Bound(record);
        int chars = AuditLine.CharsOf(taken);
        bool isTaken;
        lock (_lock)
        {
            long number = ++_lastNumber;
            isTaken = !_isClosed && _waitingChars + chars <= MostWaitingChars;
            if (isTaken)
            {
                _waitingChars += chars;
                _waiting.Enqueue((number, taken));
            }
        }

        if (isTaken)
            _something.Release();
        else
            CountLost(1);
    }

    /// <summary>Writes what waits, for at most 5 seconds, and closes the file.</summary>
    public void Dispose()
    {
        lock (_lock)
        {
            if (_isClosed)
                return;
            _isClosed = true;
        }

        _stopping.Cancel();
        if (!_writer.Join(StopPatience))
        {
            // The disk does not come back from a write: the thread cannot be waited for, and holds the file.
            CountLost(TakeAll());
            return;
        }

        _file.Dispose();
        _something.Dispose();
        _stopping.Dispose();
    }

    private void Run()
    {
        while (!_stopping.IsCancellationRequested)
        {
            try
            {
                _something.Wait(_stopping.Token);
            }
            catch (OperationCanceledException)
            {
                break;
            }

            while (!TryWriteWaiting() && !_stopping.IsCancellationRequested)
                _stopping.Token.WaitHandle.WaitOne(BetweenTries);
        }

        // The last lines, and a last try where the disk refused before.
        if (!TryWriteWaiting())
            CountLost(TakeAll());
        TryFlush();
    }

    /// <summary>Writes all that waits; what cannot be written waits on.</summary>
    /// <returns>Whether it could.</returns>
    private bool TryWriteWaiting()
    {
        var bytes = new ArrayBufferWriter<byte>();
        while (TakeBatch(bytes) is var count && count > 0)
        {
            try
            {
                _file.Write(bytes.WrittenSpan);
            }
            catch (Exception exception)
            {
                // Whatever it is, it must not end the process, and the lines are still there.
                _trouble.Refused(exception);
                return false;
            }

            _trouble.Written();
            Forget(count);
            bytes.ResetWrittenCount();
        }

        return true;
    }

    /// <summary>Encodes the first lines of those that wait; they wait on until they are written.</summary>
    /// <remarks>Whole lines that end before the file is full; a first one that does not is written to the next
    /// file.</remarks>
    private int TakeBatch(ArrayBufferWriter<byte> bytes)
    {
        (long Number, AuditRecord Record)[] batch;
        lock (_lock)
            batch = [.. _waiting.Take(64)];
        int count = 0;
        long room = Math.Min(MostBatchBytes, _file.RoomBytes);
        foreach ((long number, AuditRecord record) in batch)
        {
            byte[] line = AuditLine.Encode(number, record);
            if (count > 0 && bytes.WrittenCount + line.Length > room)
                break;
            bytes.Write(line);
            count++;
        }

        return count;
    }

    private void Forget(int count)
    {
        lock (_lock)
        {
            for (int i = 0; i < count; i++)
                _waitingChars -= AuditLine.CharsOf(_waiting.Dequeue().Record);
        }
    }

    private int TakeAll()
    {
        lock (_lock)
        {
            int count = _waiting.Count;
            _waiting.Clear();
            _waitingChars = 0;
            return count;
        }
    }

    private void CountLost(int count)
    {
        if (count == 0)
            return;
        _trouble.Lost(Interlocked.Add(ref _lost, count));
    }

    private void TryFlush()
    {
        try
        {
            _file.Flush();
        }
        catch (IOException exception)
        {
            _trouble.Refused(exception);
        }
    }
}
