using EQueue.Cli.Output;

namespace EQueue.Cli.Topics;

/// <summary>
/// Asks for many topics, many requests under way at once, and shows the answers in the order of the names.
/// </summary>
/// <remarks>
/// A failure that is one topic's own is reported with its name, and the others go on. Any other one would be every
/// topic's: what is under way is awaited, and no more is asked.
/// </remarks>
internal sealed class TopicWindow<T>(Func<string, ValueTask<T>> request, Func<T, Task> write)
{
    private const int Size = 256;

    private readonly Queue<(string Name, Task<T> Answer)> _underWay = new();
    private EQueueException? _failure;
    private long _failed;
    private bool _hasStopped;

    /// <summary>Where each failure is told with its topic; null: nowhere.</summary>
    public ErrorReport? Errors { get; init; }

    /// <summary>Has shown what was written, when nothing is under way and the next name is not there yet.</summary>
    public required Func<Task> Show { get; init; }

    /// <summary>Topics for which it is done.</summary>
    public long Done { get; private set; }

    /// <exception cref="OperationCanceledException">The token ended it; what was under way may be done.</exception>
    public async Task RunAsync(IAsyncEnumerable<string> names, CancellationToken cancellationToken)
    {
        using var reading = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        await using IAsyncEnumerator<string> source = names.GetAsyncEnumerator(reading.Token);
        try
        {
            Task<bool> next = source.MoveNextAsync().AsTask();
            while (true)
            {
                await TakeReadyAsync(next);
                if (_hasStopped)
                    await reading.CancelAsync();
                if (!await next || _hasStopped)
                    break;
                _underWay.Enqueue((source.Current, request(source.Current).AsTask()));
                next = source.MoveNextAsync().AsTask();
            }
        }
        catch (OperationCanceledException) when (_hasStopped)
        {
            // No further name is wanted.
        }
        finally
        {
            while (_underWay.Count > 0)
                await TakeAsync();
        }

        cancellationToken.ThrowIfCancellationRequested();
    }

    /// <summary>Throws unless it is done for every topic.</summary>
    /// <param name="verb">In the past: created, described.</param>
    /// <param name="areMany">Whether the message must say more than why the only one failed.</param>
    /// <exception cref="EQueueException">It is done for none; the code is that of the first failure.</exception>
    /// <exception cref="PartlyDoneException">It is done for some.</exception>
    public void Demand(string verb, bool areMany)
    {
        if (_failure is null)
            return;
        if (!areMany)
            throw _failure;
        string rest = _hasStopped ? "; the rest was not tried" : "";
        string message = $"{verb} {Done} topics, {_failed} failed{rest}: {_failure.Message}";
        throw Done == 0
            ? new EQueueException(_failure.Code, message)
            : new PartlyDoneException(message, _failure);
    }

    /// <summary>Takes answers while the window is full or the next name is not there yet.</summary>
    private async Task TakeReadyAsync(Task<bool> next)
    {
        while (_underWay.Count >= Size && !_hasStopped)
            await TakeAsync();
        while (_underWay.Count > 0 && !next.IsCompleted && !_hasStopped)
        {
            if (await Task.WhenAny(next, _underWay.Peek().Answer) == next)
                return;
            await TakeAsync();
        }

        if (!next.IsCompleted)
            await Show();
    }

    private async Task TakeAsync()
    {
        (string name, Task<T> task) = _underWay.Dequeue();
        T answer;
        try
        {
            answer = await task;
        }
        catch (OperationCanceledException)
        {
            _hasStopped = true;
            return;
        }
        catch (EQueueException failure)
        {
            _failed++;
            _failure ??= failure;
            _hasStopped |= !IsOfOneTopic(failure.Code);
            Errors?.Write(failure, name);
            return;
        }

        Done++;
        await write(answer);
    }

    private static bool IsOfOneTopic(ErrorCode code) =>
        code is ErrorCode.TopicExists or ErrorCode.UnknownTopic or ErrorCode.InvalidName;
}
