namespace EQueue.Remoting;

/// <summary>What a server does with its connections. One handler serves all of them, from many threads at
/// once.</summary>
public interface IConnectionHandler
{
    /// <summary>A connection was accepted; no frame of it is read before this returns.</summary>
    void OnConnected(FrameConnection connection);

    /// <summary>A frame arrived. Called on the connection's receive loop, frames in order, never two at a
    /// time.</summary>
    /// <param name="connection">Where to answer.</param>
    /// <param name="header">The frame's header, checked.</param>
    /// <param name="payload">Lent until the returned task completes.</param>
    /// <returns>A task; while it is not complete this connection, and no other, is not read.</returns>
    /// <remarks>An exception is logged and closes this connection.</remarks>
    ValueTask OnFrameAsync(FrameConnection connection, FrameHeader header, ReadOnlyMemory<byte> payload);

    /// <summary>The connection ended; called once, after the last frame was handled.</summary>
    /// <param name="connection">The connection, closed.</param>
    /// <param name="cause">Why; <see langword="null"/> when the peer or the server ended it in an orderly
    /// way.</param>
    void OnDisconnected(FrameConnection connection, Exception? cause);
}
