using System.Buffers;
using System.Buffers.Binary;
using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client.Tests.Clusters;

/// <summary>What a node does.</summary>
internal enum NodeRole
{
    /// <summary>Passes everything to the broker behind the cluster.</summary>
    Leads,

    /// <summary>Says that it does not lead; what still waits at it is answered so, and the connection closed.</summary>
    Refuses,

    /// <summary>A stopped process: the system accepts, and nothing is read or answered any more.</summary>
    Hangs,

    /// <summary>Nothing listens.</summary>
    Down,
}

/// <summary>A node of a <see cref="SwitchCluster"/>: an address with a role.</summary>
internal sealed class SwitchNode : IAsyncDisposable
{
    private readonly SwitchCluster _cluster;
    private readonly ConcurrentDictionary<Passage, Task> _passages = new();
    private readonly IPEndPoint _endPoint;
    private int _watchCount;
    private Socket? _listener;
    private Task _accepting = Task.CompletedTask;

    public SwitchNode(SwitchCluster cluster)
    {
        _cluster = cluster;
        _endPoint = new IPEndPoint(IPAddress.Loopback, 0);
        Listen();
        _endPoint = (IPEndPoint)_listener!.LocalEndPoint!;
    }

    public string Address => _endPoint.ToString();

    public NodeRole Role { get; private set; } = NodeRole.Refuses;

    /// <summary>The epoch that it says it leads; null = that of the broker.</summary>
    public ulong? ClaimedEpoch { get; set; }

    /// <summary>Answers a request in the broker's place; null = the broker does.</summary>
    public Func<byte[], byte[]?> Intercept { get; set; } = static _ => null;

    /// <summary>Keeps the broker's answers to Produce back.</summary>
    public bool HoldsProduced { get; set; }

    public int ConnectionCount => _passages.Count;

    /// <summary>How many answers to Produce were kept back.</summary>
    public int HeldCount { get; private set; }

    /// <summary>How many watches wait here.</summary>
    public int WatchCount => Volatile.Read(ref _watchCount);

    /// <summary>How many Hellos came.</summary>
    public int HelloCount { get; private set; }

    public void Become(NodeRole role)
    {
        NodeRole was = Role;
        Role = role;
        if (role == NodeRole.Down)
        {
            _listener?.Dispose();
            _listener = null;
            CloseAll();
        }
        else if (was == NodeRole.Down)
        {
            Listen();
        }
        else if (role == NodeRole.Refuses)
        {
            foreach (Passage passage in _passages.Keys)
                passage.Depose();
        }
    }

    public void CloseAll()
    {
        foreach (Passage passage in _passages.Keys)
            passage.Dispose();
    }

    public async ValueTask DisposeAsync()
    {
        _listener?.Dispose();
        CloseAll();
        await _accepting;
        await Task.WhenAll(_passages.Values);
    }

    /// <summary>A frame that answers another.</summary>
    public static byte[] Answer<T>(byte[] request, T body, ErrorCode error = ErrorCode.None)
        where T : IPayload<T>
    {
        var output = new ArrayBufferWriter<byte>();
        body.Write(new PayloadWriter(output));
        return Answer(request, output.WrittenSpan, error);
    }

    public static byte[] Answer(byte[] request, ReadOnlySpan<byte> body, ErrorCode error = ErrorCode.None)
    {
        byte[] frame = new byte[FrameHeader.Size + body.Length];
        BinaryPrimitives.WriteInt32LittleEndian(frame, frame.Length);
        request.AsSpan(4, 2).CopyTo(frame.AsSpan(4));
        frame[6] = 1;
        request.AsSpan(8, 4).CopyTo(frame.AsSpan(8));
        BinaryPrimitives.WriteUInt16LittleEndian(frame.AsSpan(12), (ushort)error);
        body.CopyTo(frame.AsSpan(FrameHeader.Size));
        return frame;
    }

    private void Listen()
    {
        _listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        _listener.Bind(_endPoint);
        _listener.Listen(100);
        Socket listener = _listener;
        _accepting = Task.Run(() => AcceptAsync(listener));
    }

    private async Task AcceptAsync(Socket listener)
    {
        try
        {
            while (true)
            {
                var passage = new Passage(this, await listener.AcceptAsync());
                _passages[passage] = Task.CompletedTask;
                _passages[passage] = Task.Run(() => RunAsync(passage));
            }
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            // It listens no longer.
        }
    }

    private async Task RunAsync(Passage passage)
    {
        try
        {
            await passage.RunAsync();
        }
        catch (Exception exception) when (exception is IOException or SocketException or ObjectDisposedException
            or OperationCanceledException or InvalidOperationException)
        {
            // One of the ends is gone.
        }
        finally
        {
            passage.Dispose();
            _passages.TryRemove(passage, out _);
        }
    }

    /// <summary>One connection of a client.</summary>
    private sealed class Passage(SwitchNode node, Socket near) : IDisposable
    {
        private readonly NetworkStream _near = new(near, ownsSocket: true);
        private readonly SemaphoreSlim _writing = new(1, 1);
        private readonly CancellationTokenSource _ending = new();
        private readonly ConcurrentDictionary<uint, byte[]> _waiting = new();
        private NetworkStream? _far;

        public async Task RunAsync()
        {
            Task back = Task.CompletedTask;
            while (await ReadAsync(_near) is { } frame)
            {
                await HangAsync();
                var opcode = (Opcode)frame[4];
                if (opcode == Opcode.Hello)
                    node.HelloCount++;
                if (opcode == Opcode.WatchLeader)
                {
                    _ = TellAsync(frame);
                }
                else if (frame[4] == 0 && (frame[6] & 1) == 0)
                {
                    await WriteAsync([16, 0, 0, 0, 0, 0, 1, 0, .. frame[8..12], 0, 0, 0, 0]);
                }
                else if (node.Role == NodeRole.Refuses)
                {
                    await WriteAsync(Answer(frame, node._cluster.NotLeader(), ErrorCode.NotLeader));
                    near.Shutdown(SocketShutdown.Send);
                    return;
                }
                else if (node.Intercept(frame) is { } answer)
                {
                    await WriteAsync(answer);
                }
                else
                {
                    if (_far is null)
                    {
                        _far = await node._cluster.ConnectAsync();
                        back = Task.Run(BackAsync);
                    }

                    _waiting[BitConverter.ToUInt32(frame, 8)] = frame;
                    await _far.WriteAsync(frame, _ending.Token);
                }
            }

            Dispose();
            await back;
        }

        /// <summary>Answers what waits as a node does that leads no longer, and closes.</summary>
        public void Depose() => _ = Task.Run(async () =>
        {
            try
            {
                foreach (byte[] frame in _waiting.Values)
                    await WriteAsync(Answer(frame, node._cluster.NotLeader(), ErrorCode.NotLeader));
                if (_far is not null)
                    near.Shutdown(SocketShutdown.Send);
            }
            catch (Exception exception) when (exception is IOException or SocketException or ObjectDisposedException
                or OperationCanceledException)
            {
                // The client is gone.
            }
        });

        public void Dispose()
        {
            _ending.Cancel();
            near.Close(0);
            _far?.Dispose();
        }

        private async Task BackAsync()
        {
            try
            {
                while (await ReadAsync(_far!) is { } frame)
                {
                    await HangAsync();
                    if (node.Role != NodeRole.Leads)
                        return;
                    if ((Opcode)frame[4] == Opcode.Produce && node.HoldsProduced)
                    {
                        node.HeldCount++;
                        continue;
                    }

                    _waiting.TryRemove(BitConverter.ToUInt32(frame, 8), out _);
                    if ((Opcode)frame[4] == Opcode.Hello && frame[12] == 0 && node._cluster.HasFeature)
                        MarkHello(frame);
                    await WriteAsync(frame);
                }

                await HangAsync();
                if (node.Role == NodeRole.Leads)
                    Dispose();
            }
            catch (Exception exception) when (exception is IOException or SocketException or ObjectDisposedException
                or OperationCanceledException)
            {
                await HangAsync();
                if (node.Role == NodeRole.Leads)
                    Dispose();
            }
        }

        /// <summary>Says that the broker is a node of a cluster.</summary>
        private void MarkHello(byte[] frame)
        {
            frame[FrameHeader.Size + 2] |= (byte)HelloFeatures.Cluster;
            int operations = BitConverter.ToInt32(frame, FrameHeader.Size + 10);
            if (node.ClaimedEpoch is { } epoch)
            {
                BinaryPrimitives.WriteUInt64LittleEndian(
                    frame.AsSpan(FrameHeader.Size + 14 + (3 * operations) + 32), epoch);
            }
        }

        private async Task TellAsync(byte[] frame)
        {
            try
            {
                Assert.True(Payload.TryRead(frame.AsSpan(FrameHeader.Size), out WatchLeaderRequest request));
                Interlocked.Increment(ref node._watchCount);
                WatchLeaderResponse told;
                try
                {
                    told = await node._cluster.WatchAsync(request, _ending.Token);
                }
                finally
                {
                    Interlocked.Decrement(ref node._watchCount);
                }

                await HangAsync();
                await WriteAsync(Answer(frame, told));
            }
            catch (Exception exception) when (exception is IOException or SocketException or ObjectDisposedException
                or OperationCanceledException)
            {
                // The client is gone.
            }
        }

        private Task HangAsync() =>
            node.Role == NodeRole.Hangs ? new TaskCompletionSource().Task.WaitAsync(_ending.Token) : Task.CompletedTask;

        private async Task WriteAsync(byte[] frame)
        {
            await _writing.WaitAsync(_ending.Token);
            try
            {
                await _near.WriteAsync(frame, _ending.Token);
            }
            finally
            {
                _writing.Release();
            }
        }

        private async Task<byte[]?> ReadAsync(NetworkStream from)
        {
            byte[] length = new byte[4];
            if (await from.ReadAtLeastAsync(length, 4, throwOnEndOfStream: false, _ending.Token) < 4)
                return null;
            byte[] frame = new byte[BinaryPrimitives.ReadInt32LittleEndian(length)];
            length.CopyTo(frame, 0);
            await from.ReadExactlyAsync(frame.AsMemory(4), _ending.Token);
            return frame;
        }
    }
}
