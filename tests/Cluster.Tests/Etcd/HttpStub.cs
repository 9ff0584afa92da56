using System.Net;
using System.Net.Sockets;
using System.Text;

namespace EQueue.Cluster.Tests.Etcd;

/// <summary>Listens, and answers each request with the same bytes: something that is not etcd, or an etcd that says what
/// a real one says at bad times only.</summary>
internal sealed class HttpStub : IAsyncDisposable
{
    private readonly TcpListener _listener;
    private readonly CancellationTokenSource _end = new();
    private readonly string _answer;
    private readonly Task _serving;
    private int _requests;

    /// <param name="answer">Status line, headers, body; empty for silence.</param>
    /// <param name="port">0 for a free one.</param>
    public HttpStub(string answer, int port = 0)
    {
        _answer = answer;
        _listener = new TcpListener(IPAddress.Loopback, port);
        _listener.Start();
        Address = new Uri($"http://127.0.0.1:{((IPEndPoint)_listener.LocalEndpoint).Port}");
        _serving = ServeAsync();
    }

    public Uri Address { get; }

    public int Requests => Volatile.Read(ref _requests);

    /// <summary>An answer with a length.</summary>
    public static string Answer(string status, string body, string type = "application/json") =>
        $"HTTP/1.1 {status}\r\nContent-Type: {type}\r\nContent-Length: {Encoding.UTF8.GetByteCount(body)}\r\n"
        + $"Connection: close\r\n\r\n{body}";

    public async ValueTask DisposeAsync()
    {
        await _end.CancelAsync();
        await _serving;
        _listener.Dispose();
        _end.Dispose();
    }

    private async Task ServeAsync()
    {
        var served = new List<Task>();
        try
        {
            while (true)
                served.Add(ServeAsync(await _listener.AcceptTcpClientAsync(_end.Token)));
        }
        catch (OperationCanceledException)
        {
            // Disposed.
        }

        await Task.WhenAll(served);
    }

    private async Task ServeAsync(TcpClient client)
    {
        using (client)
        {
            try
            {
                NetworkStream stream = client.GetStream();
                if (await stream.ReadAsync(new byte[64 << 10], _end.Token) == 0)
                    return;
                Interlocked.Increment(ref _requests);
                await stream.WriteAsync(Encoding.UTF8.GetBytes(_answer), _end.Token);
                if (_answer.Length > 0)
                    client.Client.Shutdown(SocketShutdown.Send);
                // Until the client hangs up: closing with unread bytes would take the answer back.
                while (await stream.ReadAsync(new byte[64 << 10], _end.Token) > 0)
                    continue;
            }
            catch (Exception exception) when (exception is IOException or OperationCanceledException)
            {
                // The client has gone, or the test is over.
            }
        }
    }
}
