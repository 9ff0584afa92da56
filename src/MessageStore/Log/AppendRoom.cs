namespace EQueue.MessageStore;

/// <summary>Whether an append that found no room would find some now, and those that wait for it.</summary>
/// <remarks>Any thread. Waiters are told without the lock, by the thread that made the room.</remarks>
/// <param name="gate">The log's lock.</param>
/// <param name="arena">What is staged and not visible is in it.</param>
/// <param name="marks">How far the log has come.</param>
/// <param name="segments">The files that appends wait for.</param>
/// <param name="readOnly">Whether the disk is full.</param>
/// <param name="waiters">Those that wait.</param>
/// <param name="fault">A log that takes no more has room: the next try is told why.</param>
internal sealed class AppendRoom(
    Lock gate,
    Arena arena,
    Watermarks marks,
    SegmentChain segments,
    ReadOnlyMode readOnly,
    RoomWaiters waiters,
    LogFault fault)
{
    /// <inheritdoc cref="QueueStore.WaitForRoomAsync"/>
    public Task WaitAsync(CancellationToken cancellationToken)
    {
        Task room;
        lock (gate)
        {
            if (HasRoom())
                return Task.CompletedTask;
            room = waiters.Add();
        }
        // The watermark may have moved between the look and the flag.
        Note();
        return room.WaitAsync(cancellationToken);
    }

    /// <summary>Something became visible, or a file was made: tells those that wait if there is room. Costs one look
    /// while none wait.</summary>
    public void Note()
    {
        if (!waiters.IsAwaited)
            return;
        TaskCompletionSource[] told;
        lock (gate)
        {
            if (!HasRoom())
                return;
            told = waiters.Take();
        }
        RoomWaiters.Tell(told);
    }

    private bool HasRoom()
    {
        if (fault.IsEnding)
            return true;
        if (readOnly is { IsOn: true, HasMessagesWait: true })
            return false;
        return marks.Staged - marks.Visible <= arena.UnseenSize / 2 && segments.HasWantedFiles;
    }
}
