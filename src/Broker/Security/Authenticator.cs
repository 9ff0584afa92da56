using System.Text;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>Finds out who a peer is; docs/security.md says in which order it looks.</summary>
/// <remarks>Thread-safe; the exchange of one connection is its receive loop's own.</remarks>
internal sealed class Authenticator(
    SecurityTable table, SecurityOptions options, AuditLog audit, LoginGuard guard, TokenClock clock)
{
    private const string Failed = "The user, the password or the token is not right, or not any more.";

    private readonly LoginPlaces _places = new(options.MaxLoginsAtOnce);
    private readonly CertificateMapping _mapping = CertificateMapping.Parse(options.CertificateMapping);

    /// <summary>Takes a step of a login.</summary>
    /// <returns>Done with the credential, or what the peer is to answer.</returns>
    /// <exception cref="EQueueException">AuthenticationFailed, Unauthenticated, LimitReached.</exception>
    public LoginStep Step(BrokerConnection peer, HelloRequest request)
    {
        if (peer.FindFeature<PeerLogin>()?.Exchange is { } login)
            return Finish(peer, login, request);
        var facts = PeerFacts.Of(peer.Transport, _mapping);
        try
        {
            return request.Mechanism switch
            {
                "" => new LoginStep(AdmitByPlace(facts), default),
                Mechanisms.InProcess when facts.Place == PeerPlace.InProcess
                    && InProcessWord.Parse(request.Credentials.Span) is var word && Principal.IsValid(word.Principal) =>
                    new LoginStep(new Credential(word.Principal, Address: word.Address), default),
                Mechanisms.Token => new LoginStep(
                    AdmitByToken(facts, Encoding.UTF8.GetString(request.Credentials.Span)), default),
                Mechanisms.ScramSha256 => Begin(peer, facts, request),
                _ => throw new EQueueException(
                    ErrorCode.AuthenticationFailed,
                    $"This broker does not know the mechanism '{Shorten(request.Mechanism)}': it knows "
                    + $"{Mechanisms.ScramSha256} and {Mechanisms.Token}."),
            };
        }
        catch (EQueueException exception)
        {
            audit.LoginRefused(facts.Address, request.ClientName, "", exception);
            throw;
        }
    }

    /// <summary>Finds out who asks over HTTP.</summary>
    /// <exception cref="EQueueException">AuthenticationFailed, Unauthenticated.</exception>
    public Credential Admit(in PeerFacts facts, string? token, string client)
    {
        try
        {
            return token is null ? AdmitByPlace(facts) : AdmitByToken(facts, token);
        }
        catch (EQueueException exception)
        {
            audit.LoginRefused(facts.Address, client, "", exception);
            throw;
        }
    }

    /// <summary>The connection is gone in the middle of its login.</summary>
    public void End(BrokerConnection peer)
    {
        if (peer.FindFeature<PeerLogin>() is not { Exchange: { } login } held)
            return;
        held.Exchange = null;
        _places.Give(login.Facts.Source);
    }

    private static string Shorten(string text) => text.Length <= 64 ? text : text[..64];

    private Credential AdmitByPlace(in PeerFacts facts)
    {
        if (facts.Certificate?.Principal is { } principal)
            return AdmitByCertificate(principal);
        if (facts.IsOwner)
            return new Credential(Principal.Owner);
        if (!facts.IsLocal)
        {
            return options.Unauthenticated == UnauthenticatedAccess.Anywhere
                ? new Credential(Principal.Anonymous)
                : throw Unknown(facts.Certificate is null
                    ? "a peer from another machine"
                    : "a peer whose certificate stands for nobody (Security:CertificateMapping)");
        }

        if (facts.UserId is { } id && table.IsUnbound(Principal.OfLocal(id)))
            return new Credential(Principal.OfLocal(id));
        if (facts.UserId is { } named && table.Book.Names(Principal.OfLocal(named)))
            return new Credential(Principal.OfLocal(named), IsByRule: true);
        return options.Unauthenticated != UnauthenticatedAccess.Owner
            ? new Credential(Principal.Anonymous)
            : throw Unknown(facts.UserId is { } other ? $"user {other} of this machine" : "a user of this machine");
    }

    private Credential AdmitByCertificate(string principal)
    {
        if (!principal.StartsWith(Principal.UserPrefix, StringComparison.Ordinal))
            return new Credential(principal);
        var credential = new Credential(principal, principal[Principal.UserPrefix.Length..]);
        return credential.Holds(table.Book, clock.NowMs)
            ? credential
            : throw new EQueueException(
                ErrorCode.AuthenticationFailed,
                $"The certificate stands for '{principal}', who does not exist or is disabled (equeue user list).");
    }

    private static EQueueException Unknown(string who) => new(
        ErrorCode.Unauthenticated,
        $"The broker serves the user who runs it, and those who prove who they are; this is {who}. Log in with a user "
        + "or a token of the broker (equeue user add, equeue token create; --user, --token-file), have the broker's "
        + "owner add a rule for this user (equeue acl allow local:UID ...), or have it open to all users of this "
        + "machine (Server:AllowUnauthenticatedLocalAccess).");

    private Credential AdmitByToken(in PeerFacts facts, string text)
    {
        // A token has 256 random bits: it cannot be guessed, so no client has to wait for others' failures.
        CheckPrivate(facts);
        if (TokenText.TryParse(text, out string id, out string secret)
            && table.Book.Tokens.TryGetValue(id, out TokenRecord? token)
            && token.Fits(secret))
        {
            var credential = new Credential(Principal.OfUser(token.User), token.User, TokenId: id);
            if (credential.Holds(table.Book, clock.NowMs))
                return credential;
        }

        throw new EQueueException(ErrorCode.AuthenticationFailed, Failed);
    }

    private LoginStep Begin(BrokerConnection peer, in PeerFacts facts, HelloRequest request)
    {
        CheckPrivate(facts);
        var server = new ScramServer();
        if (server.ReadFirst(request.Credentials.Span) != ScramError.None)
            throw new EQueueException(ErrorCode.AuthenticationFailed, "This is no first message of SCRAM-SHA-256.");
        guard.Check(facts.Source, server.User);
        if (!_places.TryTake(facts.Source))
        {
            throw new EQueueException(
                ErrorCode.LimitReached,
                $"{options.MaxLoginsAtOnce} logins are under way, or a quarter of that from here "
                + "(Security:MaxLoginsAtOnce).")
            {
                RetryAfter = TimeSpan.FromMilliseconds(200),
            };
        }

        // A user who was disabled is asked as before, and refused at the end. The work is the same for each name.
        ScramSecret mock = table.MockSecretOf(server.User);
        ScramSecret secret = table.Book.Users.GetValueOrDefault(server.User)?.Secret ?? mock;
        byte[] challenge = server.Challenge(secret);
        peer.Feature<PeerLogin>().Exchange = new LoginExchange(server, facts, secret);
        return new LoginStep(null, challenge);
    }

    private LoginStep Finish(BrokerConnection peer, LoginExchange login, HelloRequest request)
    {
        End(peer);
        PeerFacts facts = login.Facts;
        string name = login.Server.User;
        if (request.Mechanism == Mechanisms.ScramSha256
            && login.Server.ReadFinal(request.Credentials.Span, out byte[] proof) == ScramError.None)
        {
            var credential = new Credential(Principal.OfUser(name), name, login.Secret.StoredKey);
            if (credential.Holds(table.Book, clock.NowMs))
            {
                guard.Succeeded(name);
                return new LoginStep(credential, proof);
            }
        }

        guard.Failed(facts.Source, name);
        var failure = new EQueueException(ErrorCode.AuthenticationFailed, Failed);
        audit.LoginRefused(facts.Address, request.ClientName, Principal.OfUser(name), failure);
        throw failure;
    }

    private static void CheckPrivate(in PeerFacts facts)
    {
        if (!facts.IsPrivate)
        {
            throw new EQueueException(
                ErrorCode.AuthenticationFailed,
                "Passwords and tokens are taken over TLS, a Unix socket or loopback alone: others read what is sent "
                + "here.");
        }
    }
}

/// <summary>What a step of a login led to.</summary>
/// <param name="Credential">The peer is admitted by it; null = it has to answer first.</param>
/// <param name="Challenge">What the peer is told: a question, or the broker's own proof.</param>
internal readonly record struct LoginStep(Credential? Credential, ReadOnlyMemory<byte> Challenge);

/// <summary>A login that waits for the peer's answer.</summary>
/// <param name="Server">The broker's side.</param>
/// <param name="Facts">Of the peer.</param>
/// <param name="Secret">What the password is compared with.</param>
internal sealed record LoginExchange(ScramServer Server, PeerFacts Facts, ScramSecret Secret);

/// <summary>What a connection keeps while its login is under way. Its receive loop's own.</summary>
internal sealed class PeerLogin
{
    /// <summary>The login that waits for the peer's answer; null = none.</summary>
    public LoginExchange? Exchange { get; set; }
}
