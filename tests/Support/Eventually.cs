using System.Diagnostics;

namespace EQueue.Support;

/// <summary>Waits for something that nobody signals, with a deadline.</summary>
public static class Eventually
{
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    /// <summary>Completes when the condition holds.</summary>
    /// <exception cref="TimeoutException">It did not within a minute.</exception>
    public static Task TrueAsync(Func<bool> condition) => TrueAsync(() => Task.FromResult(condition()));

    /// <summary>Completes when the condition holds.</summary>
    /// <exception cref="TimeoutException">It did not within a minute.</exception>
    public static async Task TrueAsync(Func<Task<bool>> condition)
    {
        long started = Stopwatch.GetTimestamp();
        while (!await condition())
        {
            if (Stopwatch.GetElapsedTime(started) > Deadline)
                throw new TimeoutException($"Not true within {Deadline}.");
            await Task.Delay(10);
        }
    }
}
