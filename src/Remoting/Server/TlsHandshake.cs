using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Text;

namespace EQueue.Remoting;

/// <summary>The server's side of one TLS handshake, before anything else goes over the connection.</summary>
/// <param name="wire">The socket; over TLS when the handshake has succeeded.</param>
/// <param name="peer">Told of what TLS found.</param>
/// <param name="tls">The server's settings.</param>
internal sealed class TlsHandshake(Wire wire, ConnectionPeer peer, TlsAcceptor tls)
{
    private const string NotLookedAt = "it was not looked at";

    /// <summary>Makes the handshake.</summary>
    /// <returns>Why it failed; empty when the peer went away before it said anything; null when it did not
    /// fail.</returns>
    public async ValueTask<string?> TryRunAsync(CancellationToken cancellationToken)
    {
        string? distrust = tls.AsksClients ? NotLookedAt : null;
        ClientProof? proof = null;
        SslStream? stream = null;
        try
        {
            byte[] first = new byte[1];
            int count = await wire.Socket.ReceiveAsync(first, SocketFlags.Peek, cancellationToken)
                .ConfigureAwait(false);
            if (count == 0)
                return "";
            if (!TlsRecord.IsHandshake(first[0]))
            {
                await wire.Socket.SendAsync(TlsRecord.PlainRefused, cancellationToken).ConfigureAwait(false);
                return $"it does not speak TLS; its first byte is {first[0]}";
            }

            stream = new SslStream(new NetworkStream(wire.Socket, ownsSocket: false), leaveInnerStreamOpen: false);
            await stream.AuthenticateAsServerAsync(
                tls.OptionsFor((found, reason) => (proof, distrust) = (found, reason)), cancellationToken)
                .ConfigureAwait(false);
            if (distrust is null)
            {
                wire.Secure(stream);
                peer.Secure(proof);
                return null;
            }

            await TellRefusalAsync(stream, distrust, cancellationToken).ConfigureAwait(false);
            await stream.DisposeAsync().ConfigureAwait(false);
            return NotTrusted(distrust);
        }
        catch (Exception exception) when (exception is AuthenticationException or IOException or SocketException
            or OperationCanceledException or ObjectDisposedException)
        {
            if (stream is not null)
                await stream.DisposeAsync().ConfigureAwait(false);

            // A client that is not trusted may be gone before it was told all.
            if (distrust is not null and not NotLookedAt)
                return NotTrusted(distrust);
            return exception is SocketException ? "" : (exception.InnerException ?? exception).Message.TrimEnd('.');
        }
    }

    /// <summary>Waits until the peer has gone, so that what it was told last is not lost in a reset.</summary>
    public async ValueTask LingerAsync(CancellationToken cancellationToken)
    {
        try
        {
            wire.Socket.Shutdown(SocketShutdown.Send);
            byte[] ignored = new byte[1024];
            while (await wire.Socket.ReceiveAsync(ignored, SocketFlags.None, cancellationToken)
                .ConfigureAwait(false) > 0)
            {
                // What it still sends is of no use.
            }
        }
        catch (Exception exception) when (exception is SocketException or OperationCanceledException
            or ObjectDisposedException)
        {
            // It has gone, or its time is over.
        }
    }

    private static string NotTrusted(string reason) => $"its certificate is not trusted: {reason}";

    private static async ValueTask TellRefusalAsync(
        SslStream stream, string reason, CancellationToken cancellationToken)
    {
        using var refusal = FrameBuffer.Rent();
        Encoding.UTF8.GetBytes($"the certificate is not trusted: {reason}", refusal);
        refusal.Seal(FrameHeader.PingOpcode, 0, FrameFlags.Oneway, 0, FrameHeader.RefusedError);
        await stream.WriteAsync(refusal.Frame, cancellationToken).ConfigureAwait(false);
        await stream.ShutdownAsync().ConfigureAwait(false);
    }
}
