using System.Text.Json;
using EQueue.Load.Consuming;
using EQueue.Load.Measuring;
using EQueue.Load.Roles;

namespace EQueue.Load.Scenarios;

/// <summary>
/// Consumers that are far behind: <c>prepare</c> with a <see cref="ReplayOrder"/>, <c>start</c>, and <c>stop</c> with a
/// <see cref="JudgeOrder"/> once they may end, which they do when each has been through everything once; as often as
/// wanted.
/// </summary>
internal sealed class ReplayRole : IRole
{
    private CancellationTokenSource _stop = new();
    private ReplayLane[] _lanes = [];
    private Task _reading = Task.CompletedTask;
    private ProcessFigures? _start;

    public async Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken)
    {
        switch (command)
        {
            case "start":
                _start = ProcessFigures.Take();
                _reading = Task.WhenAll(_lanes.Select(
                    lane => Task.Run(() => lane.RunAsync(_stop.Token), CancellationToken.None)));
                return null;
            case "stop":
                return await StopAsync(RoleJson.Read<JudgeOrder>(argument), cancellationToken);
            default:
                ReplayOrder order = RoleJson.Read<ReplayOrder>(argument);
                await DisposeAsync();
                _stop = new CancellationTokenSource();
                _lanes = [.. Enumerable.Range(0, order.Consumers).Select(number => new ReplayLane(order, number))];
                foreach (ReplayLane lane in _lanes)
                    await lane.AssignAsync(cancellationToken);
                return null;
        }
    }

    public async ValueTask DisposeAsync()
    {
        foreach (ReplayLane lane in _lanes)
            await lane.DisposeAsync();
        _stop.Dispose();
    }

    private async Task<ReplayResult> StopAsync(JudgeOrder order, CancellationToken cancellationToken)
    {
        // What is still read after this is not read beside producers.
        long count = _lanes.Sum(lane => lane.Count);
        var end = ProcessFigures.Take();
        await _stop.CancelAsync();
        await _reading.WaitAsync(cancellationToken);
        long missing = 0, duplicated = 0, reordered = 0, damaged = 0;
        foreach (ReplayLane lane in _lanes)
        {
            foreach (CheckResult? check in new[] { SequenceChecker.Judge([lane.First], order.Sent), lane.Later })
            {
                missing += check.Missing;
                duplicated += check.Duplicated;
                reordered += check.Reordered;
                damaged += check.Damaged;
            }
        }

        double seconds = (end.TakenNs - _start!.TakenNs) / 1e9;
        var verdict = new CheckResult(missing, duplicated, reordered, damaged);
        return new ReplayResult(count, seconds, verdict, _start, end);
    }
}

/// <summary>What consumers that read from the beginning are to be.</summary>
/// <param name="Directory">Of the broker's data, whose page cache is let go of before each further time.</param>
/// <param name="SlotCount">As the producers have it.</param>
internal sealed record ReplayOrder(
    string Server,
    string Directory,
    int Consumers,
    IReadOnlyList<string> Topics,
    int Queues,
    int Producers,
    int Size,
    int Seed,
    uint Run,
    int SlotCount,
    Faults Faults);

/// <summary>What they read until they were told that they may end.</summary>
internal sealed record ReplayResult(
    long Messages, double Seconds, CheckResult Check, ProcessFigures Start, ProcessFigures End);
