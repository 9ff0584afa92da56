using EQueue.MessageStore;
using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.Broker;

/// <summary>The users, tokens and rules of the broker; docs/security.md is the design.</summary>
/// <remarks>Thread-safe. A change is in the log before it holds; each decision reads one book.</remarks>
internal sealed class SecurityTable(
    QueueStore store,
    StoredSecurity state,
    SecurityOptions options,
    MemoryPool memory,
    TokenClock clock,
    ILogger logger) : IDisposable
{
    public const int MaxUsers = 1_000;
    public const int MaxTokens = 10_000;
    public const int MaxRules = 10_000;
    private const int MaxGroups = 16;

    private readonly SemaphoreSlim _changes = new(1, 1);
    private readonly HashSet<string> _superusers = new(options.Superusers, StringComparer.Ordinal);
    private volatile SecurityBook _book = SecurityBook.Empty;
    private MockSecrets _mocks = MockSecrets.WithNewKey();
    private volatile byte[]? _producerKey;

    /// <summary>What holds now. Another object after each change.</summary>
    public SecurityBook Book => _book;

    /// <summary>Takes over what the log holds; before the broker serves.</summary>
    public void Load()
    {
        SecurityBook book = SecurityBook.Empty;
        foreach (UserRecord user in state.Users)
            book = book.With(user);
        foreach (TokenRecord token in state.Tokens)
            book = book.With(token);
        foreach (AccessRule rule in state.Rules)
            book = book.With(rule);
        _book = book;
        memory.Count(book.Bytes);
        if (state.MockKey is { } key)
        {
            _mocks = new MockSecrets(key);
            _producerKey = ProducerNames.KeyOf(key);
        }

        if (book.Users.Count + book.Tokens.Count + book.Rules.Count > 0)
            logger.SecurityLoaded(book.Users.Count, book.Tokens.Count, book.Rules.Count);
    }

    /// <summary>The key of <see cref="ProducerNames"/>; null: the broker's key is not kept, for there were no users and
    /// rules yet, and ids are anybody's.</summary>
    public byte[]? ProducerKey => _producerKey;

    /// <summary>Keeps the broker's key when there are users or rules and it is not kept yet: a build before this one
    /// made them.</summary>
    public async Task KeepMockKeyAsync(CancellationToken cancellationToken)
    {
        if (_producerKey is not null || (_book.Users.IsEmpty && _book.Rules.IsEmpty))
            return;
        try
        {
            await ChangeAsync(static book => (book, []), cancellationToken, keepsKey: true);
        }
        catch (EQueueException exception) when (exception.Code == ErrorCode.StorageFull)
        {
            // The next change of a user or rule keeps it; until then unknown users are asked with another salt after a
            // start.
        }
    }

    /// <summary>What a user who does not exist or has no password is asked with.</summary>
    public ScramSecret MockSecretOf(string user) => _mocks.Of(user, _book.Iterations);

    /// <summary>Whether no rule binds the principal.</summary>
    public bool IsUnbound(string principal) => principal == Principal.Owner || _superusers.Contains(principal);

    /// <summary>Whether it may be done.</summary>
    public bool May(string principal, Permission permission, ResourceKind resource, string name) =>
        _book.Rules.IsEmpty || IsUnbound(principal) || _book.Decide(principal, permission, resource, name).IsAllowed;

    /// <summary>What is answered to those who may not.</summary>
    public static EQueueException Refusal(
        string principal, Permission permission, ResourceKind resource, string name)
    {
        string what = resource == ResourceKind.Broker
            ? "the broker"
            : $"{resource.ToString().ToLowerInvariant()} '{name}'";
        return new EQueueException(
            ErrorCode.NotAuthorized,
            $"'{principal}' may not {permission.ToString().ToLowerInvariant()} {what}: no rule allows it, or one "
            + "denies it (equeue acl test).");
    }

    /// <summary>Says what would be decided and why.</summary>
    public TestRuleResponse Explain(string principal, TestRuleRequest request)
    {
        SecurityBook book = _book;
        if (principal == Principal.Owner)
            return new TestRuleResponse(principal, true, "the owner is bound by no rule");
        if (IsUnbound(principal))
            return new TestRuleResponse(principal, true, "a superuser (Security:Superusers) is bound by no rule");
        AccessVerdict verdict = book.Decide(principal, request.Permission, request.Resource, request.Name);
        string reason = book.Rules.IsEmpty
            ? "there is no rule, so everybody who is admitted may"
            : verdict.Rule?.ToString() ?? "no rule allows it";
        return new TestRuleResponse(principal, verdict.IsAllowed, reason);
    }

    /// <summary>Makes a user or changes what is given; it holds when the task completes.</summary>
    /// <exception cref="EQueueException">InvalidName, InvalidArgument, LimitReached; or the store's.</exception>
    public async Task SetUserAsync(SetUserRequest request, CancellationToken cancellationToken)
    {
        SecurityRules.CheckUserName(request.Name);
        SecurityRules.CheckSecret(request.Secret);
        if (request.Groups is { } groups)
        {
            if (groups.Count > MaxGroups)
                throw RequestRules.Invalid($"A user is in at most {MaxGroups} groups; {groups.Count} came.");
            RequestRules.CheckNamedOnce(groups, "Group");
            foreach (string group in groups)
                SecurityRules.CheckUserName(group);
        }

        await ChangeAsync(
            book =>
            {
                bool isKnown = book.Users.TryGetValue(request.Name, out UserRecord? before);
                if (isKnown && request.MustBeNew)
                    throw RequestRules.Invalid($"There is a user '{request.Name}' already.");
                if (!isKnown && request.MustExist)
                    throw RequestRules.Invalid($"There is no user '{request.Name}'.");
                if (!isKnown && book.Users.Count >= MaxUsers)
                    throw Full("users", MaxUsers);
                var user = new UserRecord(
                    request.Name,
                    request.IsDisabled ?? before?.IsDisabled ?? false,
                    request.Secret ?? before?.Secret,
                    request.Groups is { } wanted
                        ? [.. wanted.Order(StringComparer.Ordinal)]
                        : before?.Groups ?? []);
                return (book.With(user), [user.ToEntry()]);
            },
            cancellationToken,
            keepsKey: true);
        logger.UserSet(request.Name);
    }

    /// <exception cref="EQueueException">InvalidName; what the store answers.</exception>
    public async Task DeleteUserAsync(string name, CancellationToken cancellationToken)
    {
        SecurityRules.CheckUserName(name);
        await ChangeAsync(
            book =>
            {
                if (!book.Users.ContainsKey(name))
                    return (book, []);
                StateEntry[] entries =
                [
                    .. book.Tokens.Values.Where(token => token.User == name)
                        .Select(token => TokenRecord.Removal(token.Id)),
                    UserRecord.Removal(name),
                ];
                return (book.WithoutUser(name), entries);
            },
            cancellationToken);
        logger.UserDeleted(name);
    }

    /// <exception cref="EQueueException">InvalidArgument, LimitReached; what the store answers.</exception>
    public async Task<CreateTokenResponse> CreateTokenAsync(
        CreateTokenRequest request, CancellationToken cancellationToken)
    {
        SecurityRules.CheckUserName(request.User);
        long nowMs = clock.NowMs;
        if (request.ExpiresMs < 0 || (request.ExpiresMs != 0 && request.ExpiresMs <= nowMs))
            throw RequestRules.Invalid($"A token ends in the future; {request.ExpiresMs} is not.");
        RequestRules.CheckText(request.Note, "token's note");
        if (request.Note.Length > NameRules.MaxLength)
            throw RequestRules.Invalid($"A token's note has at most {NameRules.MaxLength} characters.");
        (TokenRecord record, string token) = TokenRecord.Create(request.User, nowMs, request.ExpiresMs, request.Note);
        await ChangeAsync(
            book =>
            {
                if (!book.Users.ContainsKey(request.User))
                    throw RequestRules.Invalid($"There is no user '{request.User}'.");
                if (book.Tokens.Count >= MaxTokens)
                    throw Full("tokens", MaxTokens);
                return (book.With(record), [record.ToEntry()]);
            },
            cancellationToken);
        logger.TokenMade(record.Id, record.User);
        return new CreateTokenResponse(record.Id, token);
    }

    /// <exception cref="EQueueException">InvalidArgument; what the store answers.</exception>
    public async Task RevokeTokenAsync(string id, CancellationToken cancellationToken)
    {
        RequestRules.CheckText(id, "token's id");
        await ChangeAsync(
            book => book.Tokens.ContainsKey(id) ? (book.WithoutToken(id), [TokenRecord.Removal(id)]) : (book, []),
            cancellationToken);
        logger.TokenRevoked(id);
    }

    /// <exception cref="EQueueException">InvalidArgument, LimitReached; what the store answers.</exception>
    public async Task SetRuleAsync(SetRuleRequest request, CancellationToken cancellationToken)
    {
        SecurityRules.Check(request.Rule);
        await ChangeAsync(
            book =>
            {
                bool isKnown = book.Rules.ContainsKey(request.Rule.ToString());
                if (isKnown != request.IsRemoved)
                    return (book, []);
                if (request.IsRemoved)
                    return (book.Without(request.Rule), [RuleRecord.Removal(request.Rule)]);
                if (book.Rules.Count >= MaxRules)
                    throw Full("rules", MaxRules);
                return (book.With(request.Rule), [RuleRecord.ToEntry(request.Rule)]);
            },
            cancellationToken,
            keepsKey: !request.IsRemoved);
        logger.RuleSet(request.Rule, request.IsRemoved);
    }

    public void Dispose() => _changes.Dispose();

    private static EQueueException Full(string what, int limit) =>
        new(ErrorCode.LimitReached, $"The broker has {limit} {what}, the most that one may have: a fixed limit.");

    /// <param name="change">What changes.</param>
    /// <param name="cancellationToken">Ends the wait for the change before.</param>
    /// <param name="keepsKey">Whether there are users or rules then: unknown users must stay like those that there are,
    /// and producers whose they are.</param>
    private async Task ChangeAsync(
        Func<SecurityBook, (SecurityBook Book, StateEntry[] Entries)> change,
        CancellationToken cancellationToken,
        bool keepsKey = false)
    {
        await _changes.WaitAsync(cancellationToken);
        try
        {
            (SecurityBook book, StateEntry[] entries) = change(_book);
            bool isFirst = keepsKey && _producerKey is null;
            if (isFirst)
                entries = [MockKeyRecord.ToEntry(_mocks.Key.Span), .. entries];
            if (entries.Length == 0)
                return;
            if (!memory.HasRoom(book.Bytes - _book.Bytes))
                throw memory.Full("Users, tokens and rules do not get more or longer");
            await store.AppendStateAsync(entries, CancellationToken.None);
            if (isFirst)
                _producerKey = ProducerNames.KeyOf(_mocks.Key.Span);
            memory.Count(book.Bytes - _book.Bytes);
            _book = book;
        }
        finally
        {
            _changes.Release();
        }
    }
}
