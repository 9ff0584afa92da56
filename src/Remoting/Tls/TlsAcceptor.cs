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
    private SslServerAuthenticationOptions _current;
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
    /// handshake: <paramref name="onJudged"/> is told why not, or null when it is trusted or may be missing, and must
    /// see to it that nothing is read of a client of which it was not told null.</summary>
    [SuppressMessage("Security", "CA5359", Justification = "Who is not trusted is told so and then cut off.")]
    public SslServerAuthenticationOptions OptionsFor(Action<string?> onJudged)
    {
        SslServerAuthenticationOptions current = LookForChange();
        return new SslServerAuthenticationOptions
        {
            ServerCertificateContext = current.ServerCertificateContext,
            EnabledSslProtocols = current.EnabledSslProtocols,
            CertificateRevocationCheckMode = X509RevocationMode.NoCheck,
            ClientCertificateRequired = current.ClientCertificateRequired,
            CertificateChainPolicy = current.CertificateChainPolicy?.Clone(),
            AllowRenegotiation = false,

            // What was decided about a client holds for one connection.
            AllowTlsResume = !AsksClients,
            RemoteCertificateValidationCallback = (_, certificate, chain, errors) =>
            {
                bool mayBeMissing = certificate is null && _options.ClientCertificates != ClientCertificates.Require;
                bool isTrusted = errors == SslPolicyErrors.None || mayBeMissing;

                // The peer learns why over the connection that comes about, and it is closed before anything is read:
                // an alert in place of that is not sent by every system, and says less.
                onJudged(isTrusted ? null : TlsTrust.Explain(errors, certificate, chain, null));
                return true;
            },
        };
    }

    private FileStamps Look() => FileStamps.Of(
        _options.Certificate, _options.Key, _options.PasswordFile, _options.ClientAuthority);

    private SslServerAuthenticationOptions LookForChange()
    {
        lock (_lock)
        {
            if (_time.GetElapsedTime(_lastLook) < LookInterval) return _current;
            _lastLook = _time.GetTimestamp();
            FileStamps stamps = Look();
            if (stamps.Equals(_stamps)) return _current;
            _stamps = stamps;
            try
            {
                // Connections that begin may still use the former certificate: the garbage collector takes it.
                _current = Read();
            }
            catch (ArgumentException exception)
            {
                Log.CertificateKept(_logger, exception.Message);
            }

            return _current;
        }
    }

    private SslServerAuthenticationOptions Read()
    {
        TlsIdentity identity = TlsIdentity.Read(
            new TlsIdentityFiles(
                "Tls:Certificate", _options.Certificate,
                "Tls:Key", _options.Key,
                "Tls:PasswordFile", _options.PasswordFile),
            _time);
        X509ChainPolicy? trust = _options.ClientAuthority is null
            ? null
            : TlsTrust.OnlyFrom(TlsFiles.ReadAuthorities("Tls:ClientAuthority", _options.ClientAuthority));
        Log.CertificateRead(_logger, identity.Subject, identity.ExpiresAt);
        return new SslServerAuthenticationOptions
        {
            ServerCertificateContext = identity.Context,
            EnabledSslProtocols = SslProtocols.Tls12 | SslProtocols.Tls13,
            ClientCertificateRequired = AsksClients,
            CertificateChainPolicy = trust,
        };
    }
}
