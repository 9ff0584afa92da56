using System.Text;
using System.Text.Json;
using System.Text.Json.Serialization.Metadata;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Cluster.Etcd;

/// <summary>etcd over the JSON gateway of its members (3.4 and later): each call asks one member after the other, each
/// once at most and for 500 ms at most, until one answers.</summary>
/// <remarks>Thread-safe.</remarks>
public sealed class EtcdClient : IEtcd
{
    private const string RangePath = "v3/kv/range";
    private const string TransactionPath = "v3/kv/txn";

    private static readonly TimeSpan Patience = TimeSpan.FromMilliseconds(500);

    private readonly EtcdGateway _gateway;
    private readonly EtcdLogin _login;
    private readonly EtcdMembers _members;

    /// <summary>Opens no connection yet.</summary>
    /// <param name="options">The members, the user, the certificates.</param>
    /// <param name="logger">Told once when a member fails and once when it answers again.</param>
    /// <param name="time">For how long a member that failed is asked last; null for the system's.</param>
    /// <exception cref="ArgumentException">The file of certificates cannot be used.</exception>
    public EtcdClient(ClusterOptions options, ILogger? logger = null, TimeProvider? time = null)
        : this(options, Patience, logger, time)
    {
    }

    /// <summary>The same with another time for each member.</summary>
    internal EtcdClient(
        ClusterOptions options, TimeSpan patience, ILogger? logger = null, TimeProvider? time = null)
    {
        _gateway = new EtcdGateway(options.EtcdCertificateAuthority, patience);
        _login = new EtcdLogin(_gateway, options.EtcdUser, options.EtcdPassword);
        _members = new EtcdMembers(options.Etcd, time ?? TimeProvider.System, logger ?? NullLogger.Instance);
    }

    /// <summary>The member that is asked first now.</summary>
    internal Uri First => _members.InOrder()[0].Address;

    /// <inheritdoc/>
    public async Task<EtcdRange> RangeAsync(EtcdKeys keys, CancellationToken cancellationToken)
    {
        RangeAnswer answer = await AskAsync(
            RangePath, BodyOf(keys), GatewayJson.Default.RangeBody, GatewayJson.Default.RangeAnswer,
            read => read.Header, cancellationToken);
        return RangeOf(answer);
    }

    /// <inheritdoc/>
    public async Task<EtcdTransactionResult> TransactAsync(
        IReadOnlyList<EtcdCompare> compares,
        IReadOnlyList<EtcdOperation> success,
        IReadOnlyList<EtcdOperation> failure,
        CancellationToken cancellationToken)
    {
        var body = new TransactionBody(
            [.. compares.Select(BodyOf)], [.. success.Select(BodyOf)], [.. failure.Select(BodyOf)]);
        TransactionAnswer answer = await AskAsync(
            TransactionPath, body, GatewayJson.Default.TransactionBody, GatewayJson.Default.TransactionAnswer,
            done => done.Header, cancellationToken);
        IEnumerable<RangeAnswer> ranges = (answer.Responses ?? [])
            .Select(response => response.ResponseRange).OfType<RangeAnswer>();
        return new EtcdTransactionResult(
            answer.Succeeded, answer.Header!.Revision, [.. ranges.Select(range => RangeOf(range))]);
    }

    /// <inheritdoc/>
    public ValueTask DisposeAsync()
    {
        _gateway.Dispose();
        return ValueTask.CompletedTask;
    }

    private async Task<TAnswer> AskAsync<TBody, TAnswer>(
        string path,
        TBody body,
        JsonTypeInfo<TBody> bodyType,
        JsonTypeInfo<TAnswer> answerType,
        Func<TAnswer, HeaderAnswer?> headerOf,
        CancellationToken cancellationToken)
        where TAnswer : class
    {
        byte[] bytes = JsonSerializer.SerializeToUtf8Bytes(body, bodyType);
        var failures = new List<(EtcdMember Member, EtcdException Why)>();
        foreach (EtcdMember member in _members.InOrder())
        {
            try
            {
                TAnswer answer = await AskAsync(member, path, bytes, answerType, cancellationToken);
                // Each answer of etcd has a header: without one, something else has answered.
                if (headerOf(answer) is not { Revision: > 0 })
                    throw new EtcdException(EtcdTrouble.Malformed, "an answer without etcd's header");
                _members.NoteAnswer(member);
                return answer;
            }
            catch (EtcdException why)
            {
                // What refuses has answered; it is no better and no worse than the others.
                if (why.Kind is EtcdTrouble.Unavailable or EtcdTrouble.Malformed)
                    _members.NoteFailure(member, why);
                failures.Add((member, why));
            }
        }

        throw Summary(failures);
    }

    /// <summary>Asks one member; a second time, with a new token, when it refuses the one that was used.</summary>
    private async Task<TAnswer> AskAsync<TAnswer>(
        EtcdMember member,
        string path,
        byte[] body,
        JsonTypeInfo<TAnswer> type,
        CancellationToken cancellationToken)
        where TAnswer : class
    {
        string? token = await _login.TokenAsync(member, cancellationToken);
        try
        {
            return await _gateway.AskAsync(member, path, body, token, type, cancellationToken);
        }
        catch (EtcdException refusal) when (refusal.IsTokenRefused && _login.HasUser)
        {
            _login.Forget(token);
        }

        token = await _login.TokenAsync(member, cancellationToken);
        return await _gateway.AskAsync(member, path, body, token, type, cancellationToken);
    }

    /// <summary>One failure for all members' failures: its kind is the one that tells most.</summary>
    private static EtcdException Summary(List<(EtcdMember Member, EtcdException Why)> failures)
    {
        EtcdException telling = failures.MaxBy(failure => Weight(failure.Why.Kind)).Why;
        string reasons = string.Join(
            "; ", failures.Select(failure => $"{failure.Member.Address} {failure.Why.Message}"));
        string advice = telling.Kind == EtcdTrouble.NoSpace
            ? "etcd has no space left (alarm NOSPACE) and takes no writes until it was compacted, defragmented and "
            + "the alarm disarmed: "
            : "";
        return new EtcdException(telling.Kind, $"{advice}{reasons}", telling);
    }

    private static int Weight(EtcdTrouble kind) => kind switch
    {
        EtcdTrouble.NoSpace => 3,
        EtcdTrouble.Refused => 2,
        EtcdTrouble.Malformed => 1,
        _ => 0,
    };

    private static RangeBody BodyOf(EtcdKeys keys)
        => new(Encoding.UTF8.GetBytes(keys.From), keys.To is null ? null : Encoding.UTF8.GetBytes(keys.To));

    private static CompareBody BodyOf(EtcdCompare compare)
    {
        RangeBody keys = BodyOf(compare.Keys);
        return compare.Target switch
        {
            EtcdTarget.ModRevision
                => new CompareBody(keys.Key, keys.RangeEnd, "MOD", "EQUAL", ModRevision: compare.Revision),
            EtcdTarget.Value => new CompareBody(keys.Key, keys.RangeEnd, "VALUE", "EQUAL", Value: compare.Content),
            EtcdTarget.Absent => new CompareBody(keys.Key, keys.RangeEnd, "CREATE", "EQUAL", CreateRevision: 0),
            _ => new CompareBody(keys.Key, keys.RangeEnd, "CREATE", "GREATER", CreateRevision: 0),
        };
    }

    private static OperationBody BodyOf(EtcdOperation operation)
    {
        RangeBody keys = BodyOf(operation.Keys);
        return operation.Act switch
        {
            EtcdAct.Put => new OperationBody(RequestPut: new PutBody(keys.Key, operation.Content!)),
            EtcdAct.Delete => new OperationBody(RequestDeleteRange: keys),
            _ => new OperationBody(RequestRange: keys),
        };
    }

    private static EtcdRange RangeOf(RangeAnswer answer)
        => new(
            answer.Header?.Revision ?? 0,
            [.. (answer.Kvs ?? []).Select(
                found => new EtcdValue(
                    Encoding.UTF8.GetString(found.Key ?? []), found.Value ?? [], found.ModRevision))]);
}
