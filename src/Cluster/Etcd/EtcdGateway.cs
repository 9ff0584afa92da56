using System.Net;
using System.Net.Http.Headers;
using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text.Json;
using System.Text.Json.Serialization.Metadata;

namespace EQueue.Cluster.Etcd;

/// <summary>One question to one member over etcd's JSON gateway: bounded in time and in bytes.</summary>
/// <remarks>Thread-safe. A question that was given up closes its connection, so none that hangs is used
/// again.</remarks>
internal sealed class EtcdGateway : IDisposable
{
    /// <summary>The longest answer that is read: some 10,000 times what a shard keeps there.</summary>
    public const int MostAnswerBytes = 4 << 20;

    private static readonly MediaTypeHeaderValue Json = new("application/json");

    private readonly HttpMessageInvoker _http;
    private readonly TimeSpan _patience;

    /// <summary>Opens no connection yet.</summary>
    /// <param name="authorityFile">A PEM file with the certificates by which etcd's is checked; null for the
    /// system's.</param>
    /// <param name="patience">What a member has to answer in.</param>
    /// <exception cref="ArgumentException">The file cannot be read or holds no certificate.</exception>
    public EtcdGateway(string? authorityFile, TimeSpan patience)
    {
        _patience = patience;
        var handler = new SocketsHttpHandler
        {
            UseProxy = false,
            UseCookies = false,
            AllowAutoRedirect = false,
            ConnectTimeout = patience,
            PooledConnectionIdleTimeout = TimeSpan.FromSeconds(30),
            MaxResponseHeadersLength = 16,
            ActivityHeadersPropagator = null,
        };
        if (authorityFile is not null)
        {
            handler.SslOptions = new SslClientAuthenticationOptions
            {
                CertificateChainPolicy = PolicyOf(authorityFile),
            };
        }

        _http = new HttpMessageInvoker(handler);
    }

    /// <summary>Asks.</summary>
    /// <param name="member">Whom.</param>
    /// <param name="path">Below the address: <c>v3/kv/range</c>.</param>
    /// <param name="body">JSON.</param>
    /// <param name="token">Of a login; null without users.</param>
    /// <param name="type">What is expected.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="EtcdException">No answer, or not that.</exception>
    public async Task<T> AskAsync<T>(
        EtcdMember member,
        string path,
        byte[] body,
        string? token,
        JsonTypeInfo<T> type,
        CancellationToken cancellationToken)
        where T : class
    {
        using var limit = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        limit.CancelAfter(_patience);
        try
        {
            using var request = new HttpRequestMessage(HttpMethod.Post, new Uri(member.Address, path));
            request.Content = new ByteArrayContent(body);
            request.Content.Headers.ContentType = Json;
            if (token is not null)
                request.Headers.TryAddWithoutValidation("Authorization", token);
            using HttpResponseMessage response = await _http.SendAsync(request, limit.Token);
            byte[] answer = await ReadAsync(response.Content, limit.Token);
            if (response.StatusCode != HttpStatusCode.OK)
                throw GatewayFailure.Of(response.StatusCode, answer);
            return Read(answer, type);
        }
        catch (OperationCanceledException exception) when (!cancellationToken.IsCancellationRequested)
        {
            throw new EtcdException(
                EtcdTrouble.Unavailable, $"no answer within {_patience.TotalMilliseconds} ms", exception);
        }
        catch (Exception exception) when (exception is HttpRequestException or IOException)
        {
            throw new EtcdException(
                EtcdTrouble.Unavailable, exception.InnerException?.Message ?? exception.Message, exception);
        }
    }

    /// <inheritdoc/>
    public void Dispose() => _http.Dispose();

    private static async Task<byte[]> ReadAsync(HttpContent content, CancellationToken cancellationToken)
    {
        await using Stream stream = await content.ReadAsStreamAsync(cancellationToken);
        var answer = new MemoryStream();
        byte[] piece = new byte[16 << 10];
        while (true)
        {
            int size = await stream.ReadAsync(piece, cancellationToken);
            if (size == 0)
                return answer.ToArray();
            if (answer.Length + size > MostAnswerBytes)
                throw new EtcdException(EtcdTrouble.Malformed, $"an answer of more than {MostAnswerBytes} bytes");
            answer.Write(piece.AsSpan(0, size));
        }
    }

    private static T Read<T>(byte[] answer, JsonTypeInfo<T> type)
        where T : class
    {
        try
        {
            return JsonSerializer.Deserialize(answer, type) ?? throw new JsonException("null");
        }
        catch (JsonException exception)
        {
            throw new EtcdException(
                EtcdTrouble.Malformed, $"an answer that is not etcd's: {exception.Message}", exception);
        }
    }

    private static X509ChainPolicy PolicyOf(string authorityFile)
    {
        var policy = new X509ChainPolicy
        {
            TrustMode = X509ChainTrustMode.CustomRootTrust,
            RevocationMode = X509RevocationMode.NoCheck,
        };
        try
        {
            policy.CustomTrustStore.ImportFromPemFile(authorityFile);
        }
        catch (Exception exception)
            when (exception is IOException or UnauthorizedAccessException or CryptographicException)
        {
            throw Unreadable(authorityFile, exception.Message, exception);
        }

        return policy.CustomTrustStore.Count > 0
            ? policy
            : throw Unreadable(authorityFile, "it holds no certificate", null);
    }

    private static ArgumentException Unreadable(string authorityFile, string why, Exception? inner)
        => new(
            $"The file of certificates for etcd, {authorityFile}, cannot be used: {why}", nameof(authorityFile), inner);
}
