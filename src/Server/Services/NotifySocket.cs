using System.Net.Sockets;

namespace EQueue.Server.Services;

/// <summary>The socket on which systemd hears how a service of <c>Type=notify</c> does: sd_notify(3).</summary>
/// <remarks>Thread-safe. What cannot be told is logged once, and the server serves all the same.</remarks>
internal sealed class NotifySocket : IDisposable
{
    private const string AddressVariable = "NOTIFY_SOCKET";
    private const string WatchdogVariable = "WATCHDOG_USEC";
    private const string WatchdogProcessVariable = "WATCHDOG_PID";
    private const int PatienceMs = 1000;

    private readonly Socket _socket;
    private readonly UnixDomainSocketEndPoint _endPoint;
    private readonly ILogger _logger;
    private readonly Lock _gate = new();
    private bool _hasFailed;
    private bool _isClosed;

    /// <param name="address">A path, or @ and a name without a file (an abstract socket).</param>
    /// <param name="watchdog">Within what time systemd wants to hear from the process again and again.</param>
    /// <param name="logger">Told when the address has no listener.</param>
    public NotifySocket(string address, TimeSpan? watchdog, ILogger logger)
    {
        _endPoint = new UnixDomainSocketEndPoint(address[0] == '@' ? '\0' + address[1..] : address);
        _logger = logger;
        Watchdog = watchdog;
        _socket = new Socket(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified)
        {
            SendTimeout = PatienceMs,
        };
    }

    /// <summary>Within what time systemd wants to hear from the process again and again; null: never.</summary>
    public TimeSpan? Watchdog { get; }

    /// <summary>The socket that the environment names, or null when the process is not systemd's.</summary>
    /// <param name="variable">Reads a variable of the environment.</param>
    /// <param name="processId">This process; the watchdog may be meant for another.</param>
    /// <param name="logger">Told when the address cannot be used.</param>
    public static NotifySocket? Find(Func<string, string?> variable, int processId, ILogger logger)
    {
        if (variable(AddressVariable) is not { Length: > 1 } address)
            return null;
        bool isForOther = variable(WatchdogProcessVariable) is { Length: > 0 } meant && meant != $"{processId}";
        TimeSpan? watchdog = !isForOther && long.TryParse(variable(WatchdogVariable), out long us) && us > 0
            ? TimeSpan.FromMicroseconds(us) : null;
        if (address[0] is not ('/' or '@'))
        {
            Log.NotNotified(logger, address, "it is neither a path nor an abstract name");
            return null;
        }

        try
        {
            return new NotifySocket(address, watchdog, logger);
        }
        catch (Exception exception) when (exception is ArgumentException or SocketException)
        {
            Log.NotNotified(logger, address, exception.Message);
            return null;
        }
    }

    /// <summary>Tells systemd some assignments, such as <c>READY=1</c>, one a line.</summary>
    public void Send(string state)
    {
        lock (_gate)
        {
            if (_isClosed)
                return;
            try
            {
                _socket.SendTo(System.Text.Encoding.UTF8.GetBytes(state), _endPoint);
            }
            catch (SocketException exception)
            {
                if (!_hasFailed)
                    Log.NotNotified(_logger, _endPoint.ToString(), exception.Message);
                _hasFailed = true;
            }
        }
    }

    public void Dispose()
    {
        lock (_gate)
        {
            _isClosed = true;
            _socket.Dispose();
        }
    }
}
