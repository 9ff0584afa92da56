using System.Net.Sockets;
using System.Text;

namespace EQueue.Server.Tests.Services;

/// <summary>The other end of sd_notify: a real datagram socket, at a path or an abstract name.</summary>
internal sealed class NotifyListener : IDisposable
{
    private readonly Socket _socket = new(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified);

    public NotifyListener(string address)
    {
        Address = address;
        _socket.Bind(new UnixDomainSocketEndPoint(address.Replace('@', '\0')));
    }

    public string Address { get; }

    public bool IsSilent => _socket.Available == 0;

    public async Task<string> ReceiveAsync()
    {
        byte[] buffer = new byte[4096];
        using var late = CancellationTokenSource.CreateLinkedTokenSource(TestContext.Current.CancellationToken);
        late.CancelAfter(TimeSpan.FromSeconds(60));
        int count = await _socket.ReceiveAsync(buffer, late.Token);
        return Encoding.UTF8.GetString(buffer, 0, count);
    }

    public void Dispose() => _socket.Dispose();
}
