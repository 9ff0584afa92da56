using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;

namespace EQueue.Remoting;

/// <summary>A socket whose waits are the <see cref="SocketPoller"/>'s.</summary>
/// <remarks>One receive and one send may be under way at a time. Nothing asynchronous of the socket itself may ever be
/// used: from then on the runtime's engine would be woken by it too.</remarks>
internal sealed class PolledSocket : IDisposable
{
    private const int QuietBytes = 4096;
    private const int MostLookCredit = 16;
    private const int FoundCredit = 2;
    private const uint TriedOnceIn = 16;

    private static readonly TimeSpan BacklogBackOff = TimeSpan.FromMilliseconds(5);

    private readonly Lock _lock = new();
    private readonly SocketPoller _poller;
    private readonly Socket _socket;
    private readonly ReceiveWait _receive;
    private readonly SendWait _send;
    private uint _asked;
    private int _lastReceived;
    private int _lookCredit = MostLookCredit;
    private uint _untried;
    private bool _isKnown;
    private bool _hasEnded;
    private bool _isClosed;

    /// <param name="socket">Connected or not; it is owned from here on.</param>
    /// <param name="poller">Waits for it.</param>
    public PolledSocket(Socket socket, SocketPoller poller)
    {
        _socket = socket;
        _poller = poller;
        _receive = new ReceiveWait(this);
        _send = new SendWait(this);
        socket.Blocking = false;
    }

    /// <summary>What the poller calls it, once a caller has waited.</summary>
    public ulong Name { get; private set; }

    /// <summary>Whether what came last was little. Of the thread that is at the socket.</summary>
    public bool IsQuiet => _lastReceived < QuietBytes;

    /// <summary>Whether what is awaited next may be there soon: it was, one time in three. Now and then that is tried
    /// anew. Of the thread that is at the socket.</summary>
    public bool IsPrompt() => _lookCredit > 0 || ++_untried % TriedOnceIn == 0;

    /// <summary>Notes whether it was.</summary>
    public void NoteLook(bool found) =>
        _lookCredit = found ? Math.Min(_lookCredit + FoundCredit, MostLookCredit) : Math.Max(_lookCredit - 1, 0);

    /// <summary>The system's.</summary>
    public SafeHandle Handle => _socket.SafeHandle;

    /// <summary>Connects; once only. A cancelled socket is closed.</summary>
    /// <exception cref="SocketException">Refused, or out of reach.</exception>
    public async ValueTask ConnectAsync(EndPoint address, CancellationToken cancellationToken)
    {
        while (!TryConnect(address, out bool isUnderWay))
        {
            cancellationToken.ThrowIfCancellationRequested();
            if (!isUnderWay)
            {
                await Task.Delay(BacklogBackOff, cancellationToken).ConfigureAwait(false);
                continue;
            }

            await using (cancellationToken.UnsafeRegister(static socket => ((PolledSocket)socket!).Dispose(), this))
            {
                await WaitUntilWritableAsync().ConfigureAwait(false);
            }

            cancellationToken.ThrowIfCancellationRequested();
            var error = (SocketError)(int)_socket.GetSocketOption(SocketOptionLevel.Socket, SocketOptionName.Error)!;
            if (error != SocketError.Success)
                throw new SocketException((int)error);
            if (!_socket.Connected)
                throw new SocketException((int)SocketError.NotConnected);
            return;
        }
    }

    /// <summary>Receives what is there.</summary>
    /// <returns>0 at the end of the stream; less when nothing is there yet, or others have their turn.</returns>
    public int TryReceive(Span<byte> room)
    {
        if (PollerThread.MustGiveWay)
            return -1;
        int received = _socket.Receive(room, SocketFlags.None, out SocketError error);
        if (error == SocketError.WouldBlock)
            return -1;
        if (error != SocketError.Success)
            throw new SocketException((int)error);
        PollerThread.PassOn();
        _lastReceived = received;
        return received;
    }

    /// <summary>Receives what is there, or waits; into no bytes it waits until something may be there, or the
    /// end.</summary>
    /// <returns>0 at the end of the stream.</returns>
    public ValueTask<int> ReceiveAsync(Memory<byte> room)
    {
        int received = room.IsEmpty ? -1 : TryReceive(room.Span);
        return received >= 0 ? new(received) : _receive.BeginAsync(room);
    }

    /// <summary>Sends some or all of the bytes, at least one.</summary>
    public ValueTask<int> SendAsync(ReadOnlyMemory<byte> bytes)
    {
        int sent = TrySend(bytes.Span);
        return sent >= 0 ? new(sent) : _send.BeginAsync(bytes);
    }

    /// <summary>Ends the stream behind what was sent; the peer's bytes still come.</summary>
    public void EndSending()
    {
        _hasEnded = true;
        _socket.Shutdown(SocketShutdown.Send);
    }

    /// <summary>Closes the socket; what is under way ends with an exception, on the thread pool or where it is being
    /// looked for. Then, unless sending has ended, the peer is told of a reset and nothing that it has not taken stays
    /// with the system. Thread-safe.</summary>
    public void Dispose()
    {
        uint pending;
        lock (_lock)
        {
            if (_isClosed)
                return;
            _isClosed = true;
            (pending, _asked) = (_asked, 0);
            if (_isKnown)
                _poller.Remove(this);
        }

        if (!_hasEnded && (_receive.IsUnderWay || _send.IsUnderWay))
            _socket.Close(0);
        else
            _socket.Dispose();
        if (PollerThread.TryTakeBack(_receive))
            pending |= EpollCalls.In;
        if ((pending & EpollCalls.In) != 0)
            ThreadPool.UnsafeQueueUserWorkItem(_receive, preferLocal: false);
        if ((pending & EpollCalls.Out) != 0)
            ThreadPool.UnsafeQueueUserWorkItem(_send, preferLocal: false);
    }

    /// <summary>Continues what waits for these events.</summary>
    public void GoOn(uint events)
    {
        if ((events & EpollCalls.Broken) != 0)
            events |= EpollCalls.In | EpollCalls.Out;
        uint come;
        lock (_lock)
        {
            come = events & _asked;
            _asked &= ~come;
            if (_asked != 0)
                _ = _poller.Ask(this, _asked, isFirst: false);
        }

        // Either may keep this thread for long; the other one must not wait for it.
        if (come == (EpollCalls.In | EpollCalls.Out))
            ThreadPool.UnsafeQueueUserWorkItem(_send, preferLocal: false);
        else if (come == EpollCalls.Out)
            _send.GoOn();
        if ((come & EpollCalls.In) != 0)
            _receive.GoOn();
    }

    /// <returns>False when it is under way, or when the backlog of a Unix socket has no room.</returns>
    private bool TryConnect(EndPoint address, out bool isUnderWay)
    {
        isUnderWay = _socket.AddressFamily != AddressFamily.Unix;
        try
        {
            _socket.Connect(address);
            return true;
        }
        catch (SocketException exception) when (
            exception.SocketErrorCode is SocketError.WouldBlock or SocketError.InProgress)
        {
            return false;
        }
    }

    /// <summary>Until it may be connected, or is closed.</summary>
    private async ValueTask WaitUntilWritableAsync()
    {
        try
        {
            await _send.BeginAsync(default).ConfigureAwait(false);
        }
        catch (ObjectDisposedException)
        {
            // Cancelled; or closed by its owner, which its next use tells.
        }
    }

    /// <summary>By the system's own call: the runtime's tells nothing of a part that was sent.</summary>
    private int TrySend(ReadOnlySpan<byte> bytes)
    {
        while (true)
        {
            int sent = EpollCalls.TrySend(_socket.SafeHandle, bytes);
            if (sent >= 0)
                return sent;
            if (sent == -EpollCalls.WouldBlock)
                return -1;
            if (sent != -EpollCalls.Interrupted)
                throw EpollCalls.Failure(-sent);
        }
    }

    private void Ask(uint events)
    {
        lock (_lock)
        {
            ObjectDisposedException.ThrowIf(_isClosed, _socket);
            bool isFirst = !_isKnown;
            if (isFirst)
                Name = _poller.Add(this);
            _isKnown = true;
            int error = _poller.Ask(this, _asked | events, isFirst);
            if (error != 0)
                throw EpollCalls.Failure(error);
            _asked |= events;
        }
    }

    private sealed class ReceiveWait(PolledSocket socket) : SocketWait
    {
        private Memory<byte> _room;

        public ValueTask<int> BeginAsync(Memory<byte> room)
        {
            _room = room;
            return BeginAsync();
        }

        protected override bool TryDefer() => PollerThread.TryDefer(socket, this);

        protected override void Ask() => socket.Ask(EpollCalls.In);

        protected override int Try(bool isTold)
        {
            if (!_room.IsEmpty)
                return socket.TryReceive(_room.Span);
            return isTold || socket._socket.Poll(0, SelectMode.SelectRead) ? 0 : -1;
        }

        protected override void Clear() => _room = default;
    }

    private sealed class SendWait(PolledSocket socket) : SocketWait
    {
        private ReadOnlyMemory<byte> _bytes;

        public ValueTask<int> BeginAsync(ReadOnlyMemory<byte> bytes)
        {
            _bytes = bytes;
            return BeginAsync();
        }

        protected override bool TryDefer() => false;

        protected override void Ask() => socket.Ask(EpollCalls.Out);

        protected override int Try(bool isTold) => _bytes.IsEmpty ? 0 : socket.TrySend(_bytes.Span);

        protected override void Clear() => _bytes = default;
    }
}
