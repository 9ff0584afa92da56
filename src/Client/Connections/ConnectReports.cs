using EQueue.Remoting;
using Microsoft.Extensions.Logging;

namespace EQueue.Client;

/// <summary>Says why brokers cannot be reached: at once, when the reason changes, and every so often.</summary>
/// <remarks>
/// Thread-safe. One for all connections of a client: a broker that is away is away for each of them, and is told of
/// once.
/// </remarks>
internal sealed class ConnectReports(ClientOptions options)
{
    /// <summary>So often is one reason of one broker repeated.</summary>
    private static readonly TimeSpan Interval = TimeSpan.FromSeconds(10);

    private readonly Dictionary<ServerAddress, Trouble> _troubles = [];

    /// <summary>An attempt failed.</summary>
    public void Failed(ServerAddress address, ConnectFault fault)
    {
        long now = options.TimeProvider.GetTimestamp();
        string reason = ReasonOf(fault);
        ConnectFailure failure;
        lock (_troubles)
        {
            if (!_troubles.TryGetValue(address, out Trouble? trouble))
                _troubles[address] = trouble = new Trouble(now);
            trouble.Attempts++;
            if (trouble.Reason == reason && options.TimeProvider.GetElapsedTime(trouble.ToldAt, now) < Interval)
                return;
            trouble.Reason = reason;
            trouble.ToldAt = now;
            failure = new ConnectFailure(
                address.ToString(),
                reason,
                trouble.Attempts,
                options.TimeProvider.GetElapsedTime(trouble.Since, now));
        }

        Tell(failure);
    }

    /// <summary>The broker is there: the next failure is told at once.</summary>
    public void Connected(ServerAddress address)
    {
        lock (_troubles)
            _troubles.Remove(address);
    }

    /// <summary>The reason as the client tells it.</summary>
    public static string ReasonOf(ConnectFault fault) =>
        HttpPeerException.FindIn(fault.Cause) is null ? fault.Reason : ServerAddress.HttpReason;

    private void Tell(ConnectFailure failure)
    {
        ILogger logger = options.LoggerFactory.CreateLogger("EQueue.Client");
        Log.CannotConnect(logger, failure.Address, failure.Reason, failure.Attempts);
        try
        {
            options.ConnectFailed?.Invoke(failure);
        }
        catch (Exception exception)
        {
            Log.ConnectCallbackThrew(logger, exception);
        }
    }

    private sealed class Trouble(long since)
    {
        public long Since { get; } = since;

        public long ToldAt { get; set; }

        public string? Reason { get; set; }

        public int Attempts { get; set; }
    }
}
