using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>A heartbeat that is to be answered.</summary>
/// <param name="Peer">Who asked.</param>
/// <param name="Header">Its frame.</param>
/// <param name="IsHeld">Whether it counts as a request under way of its connection.</param>
internal sealed record HeartbeatCall(BrokerConnection Peer, FrameHeader Header, bool IsHeld);

/// <summary>An answer that leaves when the group's gate is left.</summary>
internal readonly record struct HeartbeatReply(
    HeartbeatCall Call, GroupHeartbeatResponse? Response, ErrorCode Error = ErrorCode.None, string? Message = null)
{
    public void Send()
    {
        if (Response is not null)
            Call.Peer.Answer(Call.Header, Response);
        else
            Call.Peer.Refuse(Call.Header, Error, Message);
        if (Call.IsHeld)
            Call.Peer.EndRequest();
    }
}
