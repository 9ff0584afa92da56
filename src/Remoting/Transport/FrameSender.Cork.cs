using System.Diagnostics;

namespace EQueue.Remoting;

/// <content>Frames that a receive loop holds back while it handles what came together, to leave together.</content>
internal sealed partial class FrameSender
{
    private const int GatheringSpins = 40;

    private static readonly TimeSpan LongestGathering = TimeSpan.FromMicroseconds(30);

    private readonly FrameQueue _held = new();
    private List<FrameBuffer> _uncorked = [];
    private long _heldBytes;
    private int _corkedBy;

    /// <summary>Whether the calling thread has corked it: then it may <see cref="Hold"/>.</summary>
    public bool IsCorkedHere => Volatile.Read(ref _corkedBy) == Environment.CurrentManagedThreadId;

    /// <summary>Holds inline frames back until <see cref="Uncork"/>. Only the receive loop corks.</summary>
    public void Cork()
    {
        using (_gate.Enter())
            _corkedBy = Environment.CurrentManagedThreadId;
    }

    /// <summary>Copies a small frame behind those that the thread which has corked holds back, outside the gate; what
    /// it queues otherwise leaves behind them.</summary>
    public void Hold(in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        Debug.Assert(IsCorkedHere, "Only the thread that has corked holds back.");
        _held.Append(header, payload);
        _heldBytes += header.Length;
    }

    /// <summary>Sends what was held back, on this thread.</summary>
    public void Uncork()
    {
        using (_gate.Enter())
        {
            QueueHeld();
            _corkedBy = 0;
            if (_isClosed)
                DropQueued();
            if (_queue.IsEmpty || !MustStart(inline: true))
                return;
        }

        Start(inline: true);
    }

    /// <summary>Puts what the calling thread holds back behind what is queued. Under the gate.</summary>
    private void QueueHeld()
    {
        if (_heldBytes == 0 || !IsCorkedHere)
            return;
        _uncorked = _held.Take(_uncorked);
        foreach (FrameBuffer frame in _uncorked)
            _queue.Add(frame);
        _uncorked.Clear();
        _queuedBytes += _heldBytes;
        _account.Count(_queuedBytes);
        Volatile.Write(ref _heldBytes, 0);
    }

    /// <summary>While frames stream in, lets some more come, so that they leave together: a system call for every few
    /// would cost both ends more than everything else. Ends as soon as nothing comes, or so much is there.</summary>
    private void Gather(int enoughBytes)
    {
        long began = Stopwatch.GetTimestamp();
        long bytes = Volatile.Read(ref _queuedBytes);
        while (bytes > 0 && bytes < enoughBytes && Stopwatch.GetElapsedTime(began) < LongestGathering)
        {
            Thread.SpinWait(GatheringSpins);
            long before = bytes;
            bytes = Volatile.Read(ref _queuedBytes);
            if (bytes == before)
                return;
        }
    }
}
