using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>The answer to a request whose sender was too fast, until it may leave.</summary>
internal sealed class HeldAnswer(BrokerConnection peer, FrameHeader request, FrameBuffer body) : IDeadline
{
    private FrameBuffer? _body = body;

    /// <inheritdoc/>
    public DeadlinePlace Place { get; } = new();

    /// <summary>Answers; does nothing when it has answered.</summary>
    public void Leave()
    {
        if (Interlocked.Exchange(ref _body, null) is not { } body)
            return;
        peer.Answer(request, body, maySendHere: false, FrameFlags.Throttled);
        peer.EndRequest();
    }
}
