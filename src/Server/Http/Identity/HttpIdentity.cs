using EQueue.Broker;
using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Server.Engine;
using Microsoft.Extensions.Primitives;

namespace EQueue.Server.Http;

/// <summary>Finds out who asks over HTTP: by a token, else by the user who made the peer's socket.</summary>
/// <remarks>Thread-safe. The broker decides; while there is none that serves, the owner and those who need no
/// credentials are known, and no other can be looked at.</remarks>
internal sealed class HttpIdentity(BrokerService broker, UnauthenticatedAccess unauthenticated)
{
    /// <summary>As the broker calls the user who runs it.</summary>
    public const string Owner = "owner";

    private const string Anonymous = "anonymous";
    private const string Scheme = "Bearer";

    /// <summary>What a proxy puts into a request that it carries for another: then its own socket says nothing of who
    /// asks.</summary>
    private static readonly string[] Forwarding =
        ["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Via"];

    /// <summary>Whether a request shows that it was sent by someone who knows a token, not by a browser for a
    /// page of another site.</summary>
    public static bool ShowsCredentials(HttpRequest request) => request.Headers.Authorization.Count > 0;

    /// <summary>Finds out who asks.</summary>
    /// <returns>The asker; the caller disposes it when the request is over.</returns>
    /// <exception cref="EQueueException">Unauthenticated, AuthenticationFailed; Unreachable, ShuttingDown,
    /// StoreFaulted: credentials cannot be looked at now.</exception>
    public HttpAsker Admit(HttpContext context)
    {
        IHeaderDictionary headers = context.Request.Headers;
        string? token = ReadToken(headers.Authorization);
        HttpPeer peer = AdminPlace.Of(context).Peer;
        if (Forwarding.Any(headers.ContainsKey))
            peer = peer with { User = null, Place = token is null ? PeerPlace.Remote : peer.Place };
        if (broker.Serving is not { } serving)
            return new HttpAsker(AdmitWithoutBroker(peer, token), peer.Address);
        string client = headers.UserAgent.ToString();
        return new HttpAsker(serving.AdmitHttp(peer.Place, peer.User, token, peer.Address, client), peer.Address);
    }

    /// <summary>Throws unless the peer may see the broker's figures, now and until the request is over.</summary>
    /// <exception cref="EQueueException">NotAuthorized; as for <see cref="Admit"/>.</exception>
    public void CheckFigures(HttpAsker asker)
    {
        if (asker.Admission is { } admission)
            admission.Check(Opcode.Stats, Permission.Describe, ResourceKind.Broker, "");
        else if (asker.Principal != Owner)
            throw NotNow();
    }

    /// <summary>Whether the connection comes from this machine's own loopback.</summary>
    public static bool IsFromLoopback(HttpContext context) => AdminPlace.Of(context).Peer.Place == PeerPlace.Loopback;

    private static string? ReadToken(StringValues authorization)
    {
        if (authorization.Count == 0)
            return null;
        string[] parts = authorization.ToString().Split(' ', StringSplitOptions.RemoveEmptyEntries);
        if (authorization.Count == 1 && parts is [var scheme, var token]
            && scheme.Equals(Scheme, StringComparison.OrdinalIgnoreCase))
        {
            return token;
        }

        throw new EQueueException(
            ErrorCode.AuthenticationFailed, "Authorization is to be one header, Bearer and a token of the broker.");
    }

    private string AdmitWithoutBroker(HttpPeer peer, string? token)
    {
        if (token is null && peer.IsOwner)
            return Owner;
        bool isOpen = unauthenticated == UnauthenticatedAccess.Anywhere
            || (unauthenticated == UnauthenticatedAccess.Local && peer.Place == PeerPlace.Loopback);
        return token is null && isOpen ? Anonymous : throw NotNow();
    }

    private EQueueException NotNow()
    {
        try
        {
            broker.CheckServing();
        }
        catch (EQueueException reason)
        {
            return reason;
        }

        // It has begun to serve meanwhile.
        return new EQueueException(ErrorCode.Unreachable) { RetryAfter = TimeSpan.FromSeconds(1) };
    }
}
