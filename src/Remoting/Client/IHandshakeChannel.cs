using System.Net;

namespace EQueue.Remoting;

/// <summary>A fresh connection that no other caller uses yet.</summary>
public interface IHandshakeChannel
{
    /// <summary>The address that was reached.</summary>
    EndPoint RemoteEndPoint { get; }

    /// <summary>Sends a request on this connection and waits for its answer, which the caller disposes.</summary>
    /// <param name="request">Owned by the channel from here on.</param>
    /// <param name="opcode">1..255.</param>
    /// <param name="version">The version of the opcode's payload.</param>
    /// <param name="cancellationToken">Ends the wait; the handshake's own token carries the connect timeout.</param>
    /// <exception cref="RemotingException">The connection ended, or the frame is too large.</exception>
    ValueTask<ResponseFrame> InvokeAsync(
        FrameBuffer request, byte opcode, byte version, CancellationToken cancellationToken);
}
