using System.Net;
using System.Net.Sockets;
using EQueue.Cluster.Etcd;
using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Replication;

namespace EQueue.Cluster.Tests;

/// <summary>A connection to a node's port that sends what a test wants.</summary>
internal sealed class RawPeer : IDisposable
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    private readonly TcpClient _client = new();
    private Stream _stream = Stream.Null;
    private uint _correlation;

    private RawPeer()
    {
    }

    public static async Task<RawPeer> ConnectAsync(string address)
    {
        var peer = new RawPeer();
        await peer._client.ConnectAsync(IPEndPoint.Parse(address), TestContext.Current.CancellationToken);
        peer._stream = peer._client.GetStream();
        return peer;
    }

    /// <summary>Connects and proves to be a node.</summary>
    public static async Task<RawPeer> ConnectAsAsync(string address, PeerHello hello, string secret)
    {
        RawPeer peer = await ConnectAsync(address);
        PeerChallenge challenge = await peer.GreetAsync(hello);
        (ErrorCode error, _) = await peer.ProveAsync(new PeerSecret(secret).SignCall(hello, challenge.Nonce));
        Assert.Equal(ErrorCode.None, error);
        return peer;
    }

    /// <summary>How a node of a cluster greets another one.</summary>
    public static PeerHello HelloOf(ClusterView view, string from, string to) =>
        new(view.Cluster.ClusterId, 0, from, to, Guid.NewGuid());

    public async Task<PeerChallenge> GreetAsync(PeerHello hello)
    {
        (ErrorCode error, byte[] body) = await AskAsync(PeerOpcode.Hello, Encode(hello));
        Assert.Equal(ErrorCode.None, error);
        Assert.True(Payload.TryRead(body, out PeerChallenge challenge));
        return challenge;
    }

    public Task<(ErrorCode Error, byte[] Body)> ProveAsync(byte[] proof) =>
        AskAsync(PeerOpcode.Prove, Encode(new PeerProof(proof)));

    /// <summary>Sends a request and waits for its answer.</summary>
    public async Task<(ErrorCode Error, byte[] Body)> AskAsync(PeerOpcode opcode, byte[] body)
    {
        await SendAsync((byte)opcode, body, FrameFlags.None);
        return await ReadAsync() ?? throw new EndOfStreamException($"{opcode} was not answered.");
    }

    /// <summary>Sends a message of the rules, to which there is no answer.</summary>
    public async Task TellAsync(PeerMessage message, FrameFlags flags = FrameFlags.Oneway)
    {
        using var frame = FrameBuffer.Rent();
        PeerCodec.Write(new PayloadWriter(frame), message);
        await SendAsync((byte)PeerOpcode.Message, frame.WrittenSpan.ToArray(), flags);
    }

    public async Task SendAsync(byte opcode, byte[] body, FrameFlags flags)
    {
        byte[] frame = FrameOf(opcode, body, flags, ++_correlation);
        try
        {
            await _stream.WriteAsync(frame, TestContext.Current.CancellationToken);
        }
        catch (IOException)
        {
            // The node has closed it: reading tells.
        }
    }

    /// <summary>The next answer, keep-alives left out; null when the node has closed the connection.</summary>
    public async Task<(ErrorCode Error, byte[] Body)?> ReadAsync()
    {
        using var patience = new CancellationTokenSource(Patience);
        try
        {
            while (true)
            {
                byte[] header = new byte[FrameHeader.Size];
                await _stream.ReadExactlyAsync(header, patience.Token);
                Assert.True(FrameHeader.TryRead(header, int.MaxValue, out FrameHeader read, out _));
                byte[] body = new byte[read.PayloadBytes];
                await _stream.ReadExactlyAsync(body, patience.Token);
                if (read.Opcode != FrameHeader.PingOpcode)
                    return ((ErrorCode)read.Error, body);
            }
        }
        catch (Exception exception) when (exception is EndOfStreamException or IOException)
        {
            return null;
        }
    }

    public void Dispose() => _client.Dispose();

    public static byte[] FrameOf(byte opcode, byte[] body, FrameFlags flags, uint correlation)
    {
        byte[] frame = new byte[FrameHeader.Size + body.Length];
        FrameHeader.Of(body, opcode, 0, flags, correlation, 0).Write(frame);
        body.CopyTo(frame, FrameHeader.Size);
        return frame;
    }

    public static byte[] Encode<T>(T payload)
        where T : IPayload<T>
    {
        using var frame = FrameBuffer.Rent();
        payload.Write(new PayloadWriter(frame));
        return frame.WrittenSpan.ToArray();
    }
}
