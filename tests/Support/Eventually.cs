using System.Diagnostics;
using System.Net.Sockets;
using System.Runtime.CompilerServices;

namespace EQueue.Support;

/// <summary>Waits for something that nobody signals, with a deadline.</summary>
public static class Eventually
{
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    /// <inheritdoc cref="TrueAsync(Func{Task{bool}}, string?)"/>
    public static Task TrueAsync(
        Func<bool> condition, [CallerArgumentExpression(nameof(condition))] string? what = null) =>
        TrueAsync(() => Task.FromResult(condition()), what);

    /// <summary>Completes when the condition holds.</summary>
    /// <exception cref="TimeoutException">It did not within a minute; the message says what was waited for.</exception>
    public static async Task TrueAsync(
        Func<Task<bool>> condition, [CallerArgumentExpression(nameof(condition))] string? what = null)
    {
        long started = Stopwatch.GetTimestamp();
        while (!await condition())
        {
            if (Stopwatch.GetElapsedTime(started) > Deadline)
                throw new TimeoutException($"Not true within {Deadline}: {what}.");
            await Task.Delay(10);
        }
    }

    /// <summary>Completes when so much time has passed: for what ends by itself and tells nobody.</summary>
    public static Task PassedAsync(TimeSpan time)
    {
        long began = Stopwatch.GetTimestamp();
        return TrueAsync(() => Stopwatch.GetElapsedTime(began) > time);
    }

    /// <summary>Starts what listens where it listened before: meanwhile somebody else may have the port for a
    /// moment, be it the client that knocks there, whose own end of a connection may get it.</summary>
    /// <param name="start">Starts it, or tells AddressAlreadyInUse.</param>
    public static async Task<T> StartedAsync<T>(Func<Task<T>> start)
    {
        T? started = default;
        await TrueAsync(
            async () =>
            {
                try
                {
                    started = await start();
                    return true;
                }
                catch (SocketException exception)
                    when (exception.SocketErrorCode == SocketError.AddressAlreadyInUse)
                {
                    return false;
                }
            },
            "the port is free");
        return started!;
    }
}
