using EQueue.Cli.Output;

namespace EQueue.Cli.Consuming;

/// <summary>Prints messages as they come, and commits only what the output has taken.</summary>
internal sealed class MessagePrinter(Stream output, ConsumeRequest request, TimeProvider time)
{
    private static readonly TimeSpan CommitInterval = TimeSpan.FromSeconds(1);

    /// <summary>How long the last commit may take once the command was interrupted.</summary>
    private static readonly TimeSpan CommitPatience = TimeSpan.FromSeconds(2);

    private long _committedAt = time.GetTimestamp();
    private long _printed;
    private bool _hasUncommitted;

    /// <summary>Commits every message whose step is over; without it nothing is committed.</summary>
    public Func<CancellationToken, ValueTask>? CommitAsync { get; set; }

    /// <summary>Commits up to the current message.</summary>
    public Func<ReceivedMessage, CancellationToken, ValueTask>? CommitLastAsync { get; set; }

    /// <summary>Whether anybody would read what is printed; asked while nothing is to be printed.</summary>
    public Func<bool> IsReaderGone { get; init; } = static () => false;

    /// <summary>Says on standard error what was not done.</summary>
    public Action<string> Remark { get; init; } = static _ => { };

    /// <returns>The exit code.</returns>
    /// <exception cref="OutputClosedException">The reader has gone; what was written since the last commit is not
    /// committed, because nothing tells how much of it was read.</exception>
    public async Task<int> RunAsync(
        Func<CancellationToken, IAsyncEnumerable<ReceivedMessage>> read, CancellationToken cancellationToken)
    {
        using var writer = new MessageWriter(output, request.Format);
        using var ending = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        await using IAsyncEnumerator<ReceivedMessage> messages = read(ending.Token).GetAsyncEnumerator(ending.Token);
        try
        {
            while (await MoveNextAsync(messages, ending))
            {
                writer.Write(messages.Current);
                _hasUncommitted = true;
                if (++_printed == request.Count)
                {
                    await FinishAtAsync(messages.Current);
                    return ExitCode.Done;
                }
            }
        }
        catch (Exception exception) when (ending.IsCancellationRequested && IsCancellation(exception))
        {
            // Ended by a signal, by --idle-exit, or without a reader: what was printed is still committed below.
        }
        finally
        {
            await output.FlushAsync(CancellationToken.None);
        }

        if (cancellationToken.IsCancellationRequested)
            await CommitHurriedlyAsync();
        else
            await CommitPrintedAsync(CancellationToken.None);
        return cancellationToken.IsCancellationRequested ? ExitCode.Interrupted : ExitCode.Done;
    }

    /// <summary>
    /// Goes to the next message; while there is none, shows what was printed, commits it, and watches the clock.
    /// </summary>
    private async ValueTask<bool> MoveNextAsync(
        IAsyncEnumerator<ReceivedMessage> messages, CancellationTokenSource ending)
    {
        if (IsCommitDue())
        {
            await output.FlushAsync(CancellationToken.None);
            await TryCommitAsync(ending.Token);
            // The step of the message printed last is not over: it is not among them.
            _hasUncommitted = true;
        }

        ValueTask<bool> next = messages.MoveNextAsync();
        if (next.IsCompleted)
            return await next;

        await output.FlushAsync(CancellationToken.None);
        Task<bool> waiting = next.AsTask();
        long idleSince = time.GetTimestamp();
        while (true)
        {
            try
            {
                return await waiting.WaitAsync(WaitFor(idleSince), time);
            }
            catch (TimeoutException) when (!waiting.IsCompleted)
            {
                await TryCommitAsync(ending.Token);
                if (IsReaderGone() || (request.IdleExit is { } idle && time.GetElapsedTime(idleSince) >= idle))
                    await ending.CancelAsync();
            }
        }
    }

    private TimeSpan WaitFor(long idleSince)
    {
        if (request.IdleExit is not { } idle)
            return CommitInterval;
        TimeSpan left = idle - time.GetElapsedTime(idleSince);
        var least = TimeSpan.FromMilliseconds(1);
        return left < least ? least : left < CommitInterval ? left : CommitInterval;
    }

    private bool IsCommitDue() => _hasUncommitted && time.GetElapsedTime(_committedAt) >= CommitInterval;

    /// <summary>Commits on the way; a broker that is away for now is asked again a moment later.</summary>
    private async ValueTask TryCommitAsync(CancellationToken cancellationToken)
    {
        if (CommitAsync is null || !_hasUncommitted)
            return;
        try
        {
            await CommitAsync(cancellationToken);
            _hasUncommitted = false;
        }
        catch (Exception exception) when (cancellationToken.IsCancellationRequested && IsCancellation(exception))
        {
            // The last commit has a time of its own.
        }
        catch (EQueueException exception) when (exception.IsRetriable)
        {
            // The next round, or the last commit, which reports it, tries again.
        }

        _committedAt = time.GetTimestamp();
    }

    private static bool IsCancellation(Exception exception) =>
        exception is OperationCanceledException or EQueueException { Code: ErrorCode.Cancelled };

    private async ValueTask FinishAtAsync(ReceivedMessage last)
    {
        await output.FlushAsync(CancellationToken.None);
        if (CommitLastAsync is not null)
            await CommitLastAsync(last, CancellationToken.None);
        await CommitPrintedAsync(CancellationToken.None);
    }

    private async ValueTask CommitPrintedAsync(CancellationToken cancellationToken)
    {
        if (CommitAsync is not null && _hasUncommitted)
            await CommitAsync(cancellationToken);
    }

    /// <summary>A person or a service manager waits for the end: a broker that is away is not waited for.</summary>
    private async ValueTask CommitHurriedlyAsync()
    {
        using var patience = new CancellationTokenSource(CommitPatience, time);
        try
        {
            await CommitPrintedAsync(patience.Token);
        }
        catch (Exception exception) when (IsCancellation(exception) || exception is EQueueException)
        {
            string reason = IsCancellation(exception) ? "the broker did not answer" : Words.Of(exception).TrimEnd('.');
            Remark($"what was printed last is not committed ({reason}), so {request.Group} gets it again");
        }
    }
}
