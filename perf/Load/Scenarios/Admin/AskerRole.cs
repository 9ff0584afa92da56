using System.Text.Json;
using EQueue.Load.Measuring;
using EQueue.Load.Roles;
using EQueue.Load.Sending;

namespace EQueue.Load.Scenarios;

/// <summary>
/// One who administers: <c>prepare</c> with an <see cref="AskerOrder"/>, then <c>ask</c> with an <see cref="AskOrder"/> as
/// often as wanted. Requests of all kinds take turns and leave when they are due, whatever has become of those before.
/// </summary>
internal sealed class AskerRole : IRole
{
    /// <summary>Requests to the admin port under way; those beyond wait here, which counts.</summary>
    private const int MostConnections = 16;

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    private AdminQuestions? _questions;

    public async Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken)
    {
        if (command == "ask")
            return await AskAsync(RoleJson.Read<AskOrder>(argument), cancellationToken);
        _questions = new AdminQuestions(RoleJson.Read<AskerOrder>(argument), MostConnections, Patience);
        return null;
    }

    public async ValueTask DisposeAsync()
    {
        if (_questions is not null)
            await _questions.DisposeAsync();
    }

    private async Task<AskResult> AskAsync(AskOrder order, CancellationToken cancellationToken)
    {
        IReadOnlyList<AdminQuestion> kinds = _questions!.Kinds;
        LatencyHistogram[] histograms = kinds.Select(_ => new LatencyHistogram()).ToArray();
        var asked = new List<Task>();
        await Task.Factory.StartNew(
            () =>
            {
                var pacer = new Pacer(order.RatePerSecond, order.Seconds);
                for (int number = 0; pacer.WaitForNext(out long dueNs); number++)
                {
                    int place = number % kinds.Count;
                    asked.Add(Task.Run(() => AskOneAsync(place, dueNs), cancellationToken));
                }
            },
            cancellationToken,
            TaskCreationOptions.LongRunning,
            TaskScheduler.Default);
        await Task.WhenAll(asked);
        return new AskResult([.. kinds.Select(
            (kind, place) => new AskedKind(kind.Name, histograms[place].ToCounts()))]);

        async Task AskOneAsync(int place, long dueNs)
        {
            await kinds[place].AskAsync(cancellationToken);
            histograms[place].Record(Clock.NowNs - dueNs);
        }
    }
}

/// <summary>Whom to ask about what.</summary>
/// <param name="Server">Where clients connect.</param>
/// <param name="Admin">Where the admin port is.</param>
/// <param name="Topics">All that the broker has; answers must name the last one, or all.</param>
/// <param name="Group">Of the consumers.</param>
internal sealed record AskerOrder(string Server, string Admin, IReadOnlyList<string> Topics, string Group);

/// <summary>How long and how often, all kinds together.</summary>
internal sealed record AskOrder(double Seconds, double RatePerSecond);

/// <summary>How long the answers took.</summary>
internal sealed record AskResult(IReadOnlyList<AskedKind> Kinds);

/// <summary>How long those of one kind took, from when each request was due.</summary>
internal sealed record AskedKind(string Kind, LatencyCounts Latency);
