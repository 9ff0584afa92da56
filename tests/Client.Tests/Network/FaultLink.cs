using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Net.Sockets;

namespace EQueue.Client.Tests.Network;

/// <summary>One connection through the proxy: a socket to the client, one to the broker, a flow each way.</summary>
[SuppressMessage("Design", "CA1001", Justification = "RunAsync closes both sockets.")]
internal sealed class FaultLink(Socket near, FaultProxy proxy)
{
    private readonly Socket _far = new(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };

    public async Task RunAsync(EndPoint broker, FlowFaults there, FlowFaults back)
    {
        try
        {
            near.NoDelay = true;
            await _far.ConnectAsync(broker);
            await Task.WhenAll(
                new FaultFlow(near, _far, "there", there, proxy, this).RunAsync(),
                new FaultFlow(_far, near, "back", back, proxy, this).RunAsync());
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            // The proxy is disposed while it connects.
        }
        finally
        {
            near.Dispose();
            _far.Dispose();
        }
    }

    /// <summary>Ends both sides at once; what is under way is lost.</summary>
    public void Reset()
    {
        foreach (Socket socket in (Socket[])[near, _far])
        {
            try
            {
                socket.LingerState = new LingerOption(true, 0);
            }
            catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
            {
                // It is gone already.
            }

            socket.Dispose();
        }
    }
}
