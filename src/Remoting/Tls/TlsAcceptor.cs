using System.Diagnostics.CodeAnalysis;
using System.Net.Security;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using Microsoft.Extensions.Logging;

namespace EQueue.Remoting;

/// <summary>A server's side of TLS: its certificate, as the files have it, and what clients must show.</summary>
/// <remarks>Thread-safe. Owned by the server; each accepted connection asks for what holds at that moment.</remarks>
internal sealed class TlsAcceptor
{
    private static readonly TimeSpan LookInterval = TimeSpan.FromSeconds(1);

    private readonly ServerTlsOptions _options;
    private readonly ILogger _logger;
    private readonly TimeProvider _time;
    private readonly Lock _lock = new();
    private Offer _current;
    private FileStamps _stamps;
    private long _lastLook;

    /// <exception cref="ArgumentException">A file cannot be used.</exception>
    public TlsAcceptor(ServerTlsOptions options, ILogger logger, TimeProvider time)
    {
        _options = options;
        _logger = logger;
        _time = time;
        _stamps = Look();
        _current = Read();
        _lastLook = time.GetTimestamp();
    }

    /// <summary>How long a handshake may take.</summary>
    public TimeSpan HandshakeTimeout => _options.HandshakeTimeout;

    /// <summary>Whether clients are asked for certificates.</summary>
    public bool AsksClients => _options.ClientCertificates != ClientCertificates.None;

    /// <summary>What a new connection is offered. A client's certificate that is not trusted does not end the
    /// handshake: <paramref name="onJudged"/> is given the proof or why it is none, or neither when no certificate was
    /// shown and it may be missing, and must see to it that nothing is read of a client that is not trusted.</summary>
    [SuppressMessage("Security", "CA5359", Justification = "Who is not trusted is told so and then cut off.")]
    public SslServerAuthenticationOptions OptionsFor(Action<ClientProof?, string?> onJudged)
    {
        (SslStreamCertificateContext context, ClientTrust? trust) = LookForChange();
        return new SslServerAuthenticationOptions
        {
            ServerCertificateContext = context,
            EnabledSslProtocols = SslProtocols.Tls12 | SslProtocols.Tls13,
            CertificateRevocationCheckMode = X509RevocationMode.NoCheck,
            ClientCertificateRequired = AsksClients,
            CertificateChainPolicy = trust?.NewPolicy(),
            AllowRenegotiation = false,

            // What was decided about a client holds for one connection.
            AllowTlsResume = !AsksClients,
            RemoteCertificateValidationCallback = (_, certificate, chain, errors) =>
            {
                bool mayBeMissing = certificate is null && _options.ClientCertificates != ClientCertificates.Require;
                bool isTrusted = errors == SslPolicyErrors.None || mayBeMissing;

                // The peer learns why over the connection that comes about, and it is closed before anything is read:
                // an alert in place of that is not sent by every system, and says less.
                if (!isTrusted)
                    onJudged(null, TlsTrust.Explain(errors, certificate, chain, null));
                else if (certificate is null || chain is null || trust is null)
                    onJudged(null, null);
                else
                    JudgeAgain(certificate, chain, trust, onJudged);
                return true;
            },
        };
    }

    /// <summary>Judges what a client showed when its connection began, as the files are now.</summary>
    /// <returns>Why it is not trusted any more; null = it is.</returns>
    /// <remarks>Costs little unless the files have changed.</remarks>
    public string? FindDistrust(ClientProof proof)
    {
        ClientTrust? trust = LookForChange().Trust;
        DateTimeOffset now = _time.GetUtcNow();
        if (now > proof.EndsAt)
            return $"{proof.Certificate.Subject}: it, or an authority, expired on {proof.EndsAt:u}";
        return trust is null || ReferenceEquals(trust, proof.JudgedBy) ? null : trust.Judge(proof, now);
    }

    private static void JudgeAgain(
        X509Certificate shown, X509Chain chain, ClientTrust trust, Action<ClientProof?, string?> onJudged)
    {
        string? revoked = trust.FindRevoked(chain);
        onJudged(revoked is null ? ClientProof.Of(shown, chain, trust) : null, revoked);
    }

    private FileStamps Look() => FileStamps.Of(
        _options.Certificate, _options.Key, _options.PasswordFile, _options.ClientAuthority,
        _options.ClientRevocations);

    private Offer LookForChange()
    {
        lock (_lock)
        {
            if (_time.GetElapsedTime(_lastLook) < LookInterval)
                return _current;
            _lastLook = _time.GetTimestamp();
            FileStamps stamps = Look();
            if (stamps.Equals(_stamps))
                return _current;
            _stamps = stamps;
            try
            {
                // Connections that begin may still use the former certificate: the garbage collector takes it.
                Offer read = Read();
                bool isSame = _current.Trust is { } former && read.Trust?.IsSame(former) == true;
                _current = isSame ? read with { Trust = _current.Trust } : read;
            }
            catch (ArgumentException exception)
            {
                Log.CertificateKept(_logger, exception.Message);
            }

            return _current;
        }
    }

    private Offer Read()
    {
        var identity = TlsIdentity.Read(
            new TlsIdentityFiles(
                "Tls:Certificate", _options.Certificate,
                "Tls:Key", _options.Key,
                "Tls:PasswordFile", _options.PasswordFile),
            _time);
        ClientTrust? trust = _options.ClientAuthority is null ? null : ClientTrust.Read(_options);
        Log.CertificateRead(_logger, identity.Subject, identity.ExpiresAt);
        return new Offer(identity.Context, trust);
    }

    /// <summary>What the files had.</summary>
    private sealed record Offer(SslStreamCertificateContext Context, ClientTrust? Trust);
}
