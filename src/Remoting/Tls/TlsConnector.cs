using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;

namespace EQueue.Remoting;

/// <summary>A client's side of TLS: encrypts a fresh connection, or says why it will not.</summary>
internal sealed class TlsConnector(TlsOptions options)
{
    /// <summary>Shakes hands; from then on the wire goes through TLS.</summary>
    /// <param name="wire">Connected, and not used yet.</param>
    /// <param name="endPoint">As the client was given it: its host must stand in the certificate.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="TlsRefusedException">Either end does not trust the other, or does not speak TLS.</exception>
    /// <exception cref="IOException">The connection was lost.</exception>
    public async Task SecureAsync(Wire wire, EndPoint endPoint, CancellationToken cancellationToken)
    {
        string host = options.TargetHost ?? HostOf(endPoint);
        string? distrust = null;
        var socketStream = new FirstByteStream(wire.Socket);
        var stream = new SslStream(socketStream, leaveInnerStreamOpen: false);
        try
        {
            SslClientAuthenticationOptions offer = MakeOffer(host, reason => distrust = reason);
            await stream.AuthenticateAsClientAsync(offer, cancellationToken).ConfigureAwait(false);
            wire.Secure(stream);
        }
        catch (Exception exception)
        {
            await stream.DisposeAsync().ConfigureAwait(false);
            if (Refusal(exception, endPoint, distrust, socketStream.FirstByte) is { } refusal)
                throw refusal;
            throw;
        }
    }

    private static TlsRefusedException? Refusal(
        Exception exception, EndPoint endPoint, string? distrust, int firstByte)
    {
        if (exception is ArgumentException or TlsRefusedException)
            return new TlsRefusedException(exception.Message, exception);
        string address = HostPort.Format(endPoint);
        if (distrust is not null)
            return new TlsRefusedException($"{address}: the certificate is not trusted: {distrust}.", exception);
        if (firstByte >= 0 && !TlsRecord.IsType(firstByte))
            return new TlsRefusedException($"{address} does not speak TLS.", exception);
        if (exception is not AuthenticationException)
            return null;
        string reason = (exception.InnerException ?? exception).Message;
        return new TlsRefusedException($"There is no TLS with {address}: {reason}", exception);
    }

    private static string HostOf(EndPoint endPoint) => endPoint switch
    {
        DnsEndPoint name => name.Host,
        IPEndPoint address => address.Address.ToString(),
        _ => endPoint.ToString() ?? "",
    };

    private SslClientAuthenticationOptions MakeOffer(string host, Action<string> onDistrust)
    {
        bool acceptsAny = options.AcceptsAnyCertificate;
        return new SslClientAuthenticationOptions
        {
            TargetHost = host,
            EnabledSslProtocols = SslProtocols.Tls12 | SslProtocols.Tls13,
            CertificateRevocationCheckMode = X509RevocationMode.NoCheck,
            AllowRenegotiation = false,
            ClientCertificateContext = options.ReadIdentity()?.Context,
            CertificateChainPolicy = options.AuthorityFile is null
                ? null
                : TlsTrust.OnlyFrom(TlsFiles.ReadAuthorities("Tls.AuthorityFile", options.AuthorityFile)),
            RemoteCertificateValidationCallback = (_, certificate, chain, errors) =>
            {
                if (acceptsAny || errors == SslPolicyErrors.None)
                    return true;
                onDistrust(TlsTrust.Explain(errors, certificate, chain, host));
                return false;
            },
        };
    }

    /// <summary>The socket below TLS; remembers the first byte that came, which tells TLS from anything else.</summary>
    private sealed class FirstByteStream(Socket socket) : NetworkStream(socket, ownsSocket: false)
    {
        public int FirstByte { get; private set; } = -1;

        public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default) =>
            FirstByte >= 0 || buffer.IsEmpty
                ? base.ReadAsync(buffer, cancellationToken)
                : ReadFirstAsync(buffer, cancellationToken);

        private async ValueTask<int> ReadFirstAsync(Memory<byte> buffer, CancellationToken cancellationToken)
        {
            int count = await base.ReadAsync(buffer, cancellationToken).ConfigureAwait(false);
            if (count > 0)
                FirstByte = buffer.Span[0];
            return count;
        }
    }
}
