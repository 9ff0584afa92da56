using System.Diagnostics;

namespace EQueue.Remoting.Tests;

/// <summary>Waits for what has no signal of its own, with a deadline.</summary>
internal static class Eventually
{
    public static readonly TimeSpan Deadline = TimeSpan.FromSeconds(30);

    public static async Task IsTrueAsync(Func<bool> condition, string what)
    {
        long started = Stopwatch.GetTimestamp();
        while (!condition())
        {
            if (Stopwatch.GetElapsedTime(started) > Deadline) throw new TimeoutException($"Never came true: {what}.");
            await Task.Delay(5);
        }
    }
}
