using System.Net;
using System.Net.Sockets;
using EQueue.Remoting;

namespace EQueue.Client.Tests;

/// <summary>Stands before a broker, and ends the connection in place of the next answer when it is told to.</summary>
internal sealed class AnswerCutter : IAsyncDisposable
{
    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly CancellationTokenSource _end = new();
    private readonly IPEndPoint _broker;
    private readonly Task _accepting;
    private readonly List<Task> _links = [];
    private int _toCut;

    public AnswerCutter(string broker)
    {
        _broker = IPEndPoint.Parse(broker);
        _listener.Start();
        _accepting = AcceptAsync();
    }

    public string Address => HostPort.Format(_listener.LocalEndpoint);

    /// <summary>Answers still to be cut.</summary>
    public int ToCut
    {
        get => Volatile.Read(ref _toCut);
        set => Volatile.Write(ref _toCut, value);
    }

    public async ValueTask DisposeAsync()
    {
        await _end.CancelAsync();
        await _accepting;
        await Task.WhenAll(_links);
        _listener.Dispose();
        _end.Dispose();
    }

    private async Task AcceptAsync()
    {
        try
        {
            while (true) _links.Add(LinkAsync(await _listener.AcceptTcpClientAsync(_end.Token)));
        }
        catch (OperationCanceledException)
        {
            // Disposed.
        }
    }

    private async Task LinkAsync(TcpClient near)
    {
        using (near)
        using (var far = new TcpClient())
        using (var end = CancellationTokenSource.CreateLinkedTokenSource(_end.Token))
        {
            await far.ConnectAsync(_broker, CancellationToken.None);
            NetworkStream client = near.GetStream(), broker = far.GetStream();
            Task[] flows = [FlowAsync(client, broker, isAnswer: false, end.Token), FlowAsync(broker, client, true, end.Token)];
            await Task.WhenAny(flows);
            await end.CancelAsync();
            await Task.WhenAll(flows);
        }
    }

    private async Task FlowAsync(NetworkStream from, NetworkStream to, bool isAnswer, CancellationToken end)
    {
        byte[] bytes = new byte[64 << 10];
        try
        {
            while (await from.ReadAsync(bytes, end) is var size and > 0)
            {
                if (isAnswer && Interlocked.Decrement(ref _toCut) >= 0) return;
                if (isAnswer) Interlocked.Increment(ref _toCut);
                await to.WriteAsync(bytes.AsMemory(0, size), end);
            }
        }
        catch (Exception exception) when (exception is IOException or OperationCanceledException)
        {
            // One end has gone.
        }
    }
}
