using EQueue.Protocol;

namespace EQueue.Client;

/// <content>Users and tokens: who may log in (docs/security.md).</content>
public sealed partial class EQueueAdmin
{
    /// <summary>Makes a user at each broker, or changes what is given and leaves the rest. It holds when the task
    /// completes.</summary>
    /// <param name="name">1 to 249 of <c>A-Z a-z 0-9 . _ -</c>.</param>
    /// <param name="password">1 to 1,024 characters, see <see cref="SaslPrep"/>; null = it stays, and a new user has
    /// none. Brokers are sent what proves it, and it cannot be had from that.</param>
    /// <param name="isDisabled">Whether the user may not log in; null = it stays, and a new user may.</param>
    /// <param name="groups">The groups that rules may name, in place of the ones before; null = they stay, and a new
    /// user has none.</param>
    /// <param name="mustBeNew">Whether it is a mistake if there is a user of that name.</param>
    /// <param name="mustExist">Whether it is a mistake if there is none: then none is made.</param>
    /// <param name="cancellationToken">Gives up waiting, not what a broker has begun.</param>
    /// <exception cref="ArgumentException">The password cannot be used; the message does not quote it. Or the user is
    /// to be new and to exist.</exception>
    /// <exception cref="EQueueException">InvalidName, InvalidArgument, LimitReached, NotAuthorized,
    /// StorageFull.</exception>
    /// <remarks>Making the secret takes this thread about 10 ms.</remarks>
    public async ValueTask SetUserAsync(
        string name,
        string? password = null,
        bool? isDisabled = null,
        IReadOnlyList<string>? groups = null,
        bool mustBeNew = false,
        bool mustExist = false,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(name);
        if (mustBeNew && mustExist)
            throw new ArgumentException("A user is new or exists, not both.", nameof(mustExist));
        ScramSecret? secret = password is null ? null : ScramSecret.Create(password);
        var request = new SetUserRequest(name, secret, isDisabled, groups, mustBeNew, mustExist);
        await _calls.InvokeEachAsync<SetUserRequest, Done>(_ => request, [], cancellationToken).ConfigureAwait(false);
    }

    /// <summary>Removes a user and its tokens at each broker; one that does not exist is no mistake. Connections that
    /// the user opened are closed within seconds.</summary>
    /// <exception cref="EQueueException">NotAuthorized, StorageFull.</exception>
    public async ValueTask DeleteUserAsync(string name, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(name);
        await _calls.InvokeEachAsync<DeleteUserRequest, Done>(
            _ => new DeleteUserRequest(name), [], cancellationToken).ConfigureAwait(false);
    }

    /// <summary>All users in ordinal order of their names, a page at a time when there is one broker; of a name that
    /// several brokers have, as the first of them has it.</summary>
    /// <exception cref="EQueueException">NotAuthorized; InternalError: a broker's pages do not lead on.</exception>
    public IAsyncEnumerable<UserListing> ListUsersAsync(CancellationToken cancellationToken = default) =>
        _calls.ListEachAsync<UserListing>(
            static async (seed, last, token) =>
            {
                var request = new ListUsersRequest(last?.Name, PageSize);
                ListUsersResponse page = await seed.InvokeAsync(request, token).ConfigureAwait(false);
                return (page.Users, page.HasMore);
            },
            static user => user.Name,
            static users => Shares.UniteByName(users, static user => user.Name),
            cancellationToken);

    /// <summary>Makes a token of a user. The broker cannot tell it again: keep it.</summary>
    /// <param name="user">Whose it will be.</param>
    /// <param name="lifetime">How long it is good for from now, by this machine's clock; more than zero. Null = until
    /// it is revoked.</param>
    /// <param name="note">What it is for, to be read in lists.</param>
    /// <param name="cancellationToken">Gives up waiting; the token may be made all the same.</param>
    /// <exception cref="ArgumentOutOfRangeException">The lifetime is zero or less, or ends beyond the year
    /// 9999.</exception>
    /// <exception cref="EQueueException">InvalidArgument: no such user, a note that is too long, or the client has
    /// several addresses, each of which would make another token; LimitReached, NotAuthorized, StorageFull.</exception>
    public async ValueTask<CreatedToken> CreateTokenAsync(
        string user, TimeSpan? lifetime = null, string note = "", CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(user);
        ArgumentNullException.ThrowIfNull(note);
        DateTimeOffset now = _directory.Options.TimeProvider.GetUtcNow();
        if (lifetime is { } span)
        {
            ArgumentOutOfRangeException.ThrowIfLessThanOrEqual(span, TimeSpan.Zero, nameof(lifetime));
            ArgumentOutOfRangeException.ThrowIfGreaterThan(span, DateTimeOffset.MaxValue - now, nameof(lifetime));
        }

        // Several addresses may be those of one cluster, which is known when one of them has answered.
        if (_directory.ShareCount > 1)
            await _calls.GreetAsync(cancellationToken).ConfigureAwait(false);
        if (_directory.ShareCount > 1)
        {
            throw new EQueueException(
                ErrorCode.InvalidArgument, "A token is of one broker: make it with a client of that address alone.");
        }

        long expiresMs = lifetime is { } good ? (now + good).ToUnixTimeMilliseconds() : 0;
        CreateTokenResponse made = await _calls.InvokeAsync(
            new CreateTokenRequest(user, expiresMs, note), cancellationToken).ConfigureAwait(false);
        return new CreatedToken(made.Id, made.Token);
    }

    /// <summary>Ends a token, at the broker that has it; one that does not exist is no mistake. Connections that it
    /// opened are closed within seconds.</summary>
    /// <param name="id">Its public half, or the whole of it.</param>
    /// <param name="cancellationToken">Gives up waiting, not what a broker has begun.</param>
    /// <exception cref="EQueueException">NotAuthorized, StorageFull.</exception>
    public async ValueTask RevokeTokenAsync(string id, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(id);
        var request = new RevokeTokenRequest(Tokens.IdOf(id));
        await _calls.InvokeEachAsync<RevokeTokenRequest, Done>(_ => request, [], cancellationToken)
            .ConfigureAwait(false);
    }

    /// <summary>All tokens in ordinal order of their ids, a page at a time when there is one broker; their secret
    /// halves are known to who was given them alone.</summary>
    /// <exception cref="EQueueException">NotAuthorized; InternalError: a broker's pages do not lead on.</exception>
    public IAsyncEnumerable<TokenListing> ListTokensAsync(CancellationToken cancellationToken = default) =>
        _calls.ListEachAsync<TokenListing>(
            static async (seed, last, token) =>
            {
                var request = new ListTokensRequest(last?.Id, PageSize);
                ListTokensResponse page = await seed.InvokeAsync(request, token).ConfigureAwait(false);
                return (page.Tokens, page.HasMore);
            },
            static token => token.Id,
            static tokens => Shares.UniteByName(tokens, static token => token.Id),
            cancellationToken);
}
