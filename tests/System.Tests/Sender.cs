using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary><c>equeue send --receipts</c> under way: counts what the broker has acknowledged.</summary>
internal sealed class Sender : IAsyncDisposable
{
    private readonly ProgramRun _run;
    private readonly Task _reader;
    private readonly List<(long Count, TaskCompletionSource Reached)> _marks;
    private long _acknowledged;

    private Sender(ProgramRun run, IEnumerable<long> marks)
    {
        _run = run;
        _marks = [.. marks.Select(count => (count, new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously)))];
        _reader = ReadAsync();
    }

    public long Acknowledged => Interlocked.Read(ref _acknowledged);

    public bool HasExited => _run.HasExited;

    public string Error => _run.Error;

    /// <summary>Starts it with time enough for a machine on which much else runs.</summary>
    public static Sender Start(string server, string topic, IEnumerable<long> marks, params string[] arguments)
        => new(
            ProgramRun.Start(
                "Cli", ["send", topic, "--server", server, "--timeout", "2m", "--receipts", .. arguments]),
            marks);

    /// <summary>Completes when so many messages, one of the marks, are acknowledged; fails when the sender ends before.</summary>
    public Task WhenAcknowledgedAsync(long count) => _marks.Single(mark => mark.Count == count).Reached.Task;

    /// <summary>Writes lines to a sender that was started with <c>--lines -</c>.</summary>
    public async Task FeedAsync(IEnumerable<byte[]> lines)
    {
        await using var buffered = new MemoryStream();
        foreach (byte[] line in lines)
        {
            buffered.Write(line);
            buffered.WriteByte((byte)'\n');
        }

        await _run.Input.WriteAsync(buffered.ToArray());
        await _run.Input.FlushAsync();
    }

    public void EndFeed() => _run.Input.Close();

    public async Task<int> WaitForExitAsync()
    {
        await _reader;
        return await _run.WaitForExitAsync();
    }

    public ValueTask DisposeAsync() => _run.DisposeAsync();

    private async Task ReadAsync()
    {
        while (await _run.OutputReader.ReadLineAsync() is not null)
        {
            long count = Interlocked.Increment(ref _acknowledged);
            foreach ((long mark, TaskCompletionSource reached) in _marks)
            {
                if (mark == count)
                    reached.TrySetResult();
            }
        }

        foreach ((long mark, TaskCompletionSource reached) in _marks)
        {
            reached.TrySetException(new InvalidOperationException(
                $"The sender ended with {Acknowledged} of {mark} acknowledged: {Error}"));
        }
    }
}
