using System.Net;
using System.Net.Sockets;

namespace EQueue.Cluster.Tests.Etcd;

/// <summary>Stands between a client and etcd; it can keep answers back, as a network does that breaks after a request
/// has passed.</summary>
internal sealed class AnswerProxy : IAsyncDisposable
{
    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly CancellationTokenSource _end = new();
    private readonly Uri _etcd;
    private readonly Task _accepting;
    private readonly List<Task> _links = [];
    private volatile TaskCompletionSource? _swallowed;
    private volatile bool _isSilent;

    public AnswerProxy(Uri etcd)
    {
        _etcd = etcd;
        _listener.Start();
        Address = new Uri($"http://127.0.0.1:{((IPEndPoint)_listener.LocalEndpoint).Port}");
        _accepting = AcceptAsync();
    }

    public Uri Address { get; }

    /// <summary>Keeps all answers back from now on, and breaks the connection when one has come.</summary>
    /// <param name="isSilent">The connection stays and carries nothing more.</param>
    /// <returns>Completes with the first one: etcd has done what it was asked.</returns>
    public Task Swallow(bool isSilent = false)
    {
        _isSilent = isSilent;
        _swallowed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        return _swallowed.Task;
    }

    /// <summary>Lets answers pass again.</summary>
    public void Pass() => _swallowed = null;

    public async ValueTask DisposeAsync()
    {
        await _end.CancelAsync();
        await _accepting;
        _listener.Dispose();
        await Task.WhenAll(_links);
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
        {
            await far.ConnectAsync(_etcd.Host, _etcd.Port);
            using var end = CancellationTokenSource.CreateLinkedTokenSource(_end.Token);
            Task[] flows =
            [
                FlowAsync(near.GetStream(), far.GetStream(), canSwallow: false, end.Token),
                FlowAsync(far.GetStream(), near.GetStream(), canSwallow: true, end.Token),
            ];
            await Task.WhenAny(flows);
            await end.CancelAsync();
            await Task.WhenAll(flows);
        }
    }

    private async Task FlowAsync(NetworkStream from, NetworkStream to, bool canSwallow, CancellationToken cancellationToken)
    {
        byte[] bytes = new byte[64 << 10];
        bool isDead = false;
        try
        {
            while (await from.ReadAsync(bytes, cancellationToken) is var size and > 0)
            {
                if (canSwallow && _swallowed is { } swallowed)
                {
                    isDead = _isSilent;
                    swallowed.TrySetResult();
                    if (!isDead) return;
                }

                if (!isDead) await to.WriteAsync(bytes.AsMemory(0, size), cancellationToken);
            }
        }
        catch (Exception exception) when (exception is IOException or OperationCanceledException)
        {
            // One end has gone.
        }
    }
}
