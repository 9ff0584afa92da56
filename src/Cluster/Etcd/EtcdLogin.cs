using System.Text.Json;

namespace EQueue.Cluster.Etcd;

/// <summary>The token by which etcd knows its user: fetched when first needed, again when etcd refuses it.</summary>
/// <remarks>Thread-safe. Two calls at once may both log in; either token is good.</remarks>
internal sealed class EtcdLogin(EtcdGateway gateway, string? user, string? password)
{
    private const string Path = "v3/auth/authenticate";

    private volatile string? _token;
    private volatile bool _hasNoUsers;

    /// <summary>Whether a refused token can be replaced.</summary>
    public bool HasUser => user is not null;

    /// <summary>The token; null when no user is set, or when etcd knows none.</summary>
    /// <exception cref="EtcdException">The member gave no token.</exception>
    public async ValueTask<string?> TokenAsync(EtcdMember member, CancellationToken cancellationToken)
    {
        if (user is null || _hasNoUsers)
            return null;
        return _token ?? await LogInAsync(member, cancellationToken);
    }

    /// <summary>A token was refused: the next question fetches another one.</summary>
    public void Forget(string? token)
    {
        _hasNoUsers = false;
        // One that was fetched meanwhile stays.
        if (ReferenceEquals(_token, token))
            _token = null;
    }

    private async Task<string?> LogInAsync(EtcdMember member, CancellationToken cancellationToken)
    {
        byte[] body = JsonSerializer.SerializeToUtf8Bytes(
            new LoginBody(user!, password!), GatewayJson.Default.LoginBody);
        try
        {
            LoginAnswer answer = await gateway.AskAsync(
                member, Path, body, null, GatewayJson.Default.LoginAnswer, cancellationToken);
            return _token = answer.Token
                ?? throw new EtcdException(EtcdTrouble.Malformed, "an answer to a login without a token");
        }
        catch (EtcdException exception) when (exception.HasNoUsers)
        {
            // As etcd's own client does: a user is set and not needed.
            _hasNoUsers = true;
            return null;
        }
    }
}
