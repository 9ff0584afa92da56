using EQueue.Load.Measuring;
using EQueue.Load.Roles;

namespace EQueue.Load.Scenarios;

/// <summary>
/// The processes that hold a broker's idle connections: as many as that takes, each with a source address of its own.
/// </summary>
internal sealed class IdleHolders(LoadSession session) : IAsyncDisposable
{
    /// <summary>Connections of one process: well below the ports of one address, and its descriptors.</summary>
    private const int MostOfAProcess = 10_000;

    /// <summary>Opened before memory is looked at, so that what the first ones bring is not counted.</summary>
    private const int First = 100;

    /// <summary>How long the broker has to come to rest before its memory is looked at.</summary>
    private static readonly TimeSpan RestTime = TimeSpan.FromSeconds(1);

    private readonly List<RoleProcess> _processes = [];

    public int Count { get; private set; }

    /// <summary>What ended the opening before all were open; null: nothing.</summary>
    public string? EndedBy { get; private set; }

    /// <summary>By how much each made the broker's process larger, bytes; null when too few could be opened.</summary>
    public double? BytesPerConnection { get; private set; }

    /// <summary>How fast they were opened; null when there are none.</summary>
    public double? PerSecond { get; private set; }

    /// <summary>Opens connections, the first few apart from the others.</summary>
    /// <param name="server">The broker's address.</param>
    /// <param name="processId">The broker's process.</param>
    public async Task OpenAsync(string server, int processId, int wanted, CancellationToken cancellationToken)
    {
        await OpenSomeAsync(server, Math.Min(First, wanted), cancellationToken);
        await Task.Delay(RestTime, cancellationToken);
        (long? before, int first) = (OtherProcess.ReadResidentBytes(processId), Count);
        long startNs = Clock.NowNs;
        await OpenSomeAsync(server, wanted - first, cancellationToken);
        double seconds = (Clock.NowNs - startNs) / 1e9;
        if (Count == first)
            return;
        PerSecond = (Count - first) / seconds;
        await Task.Delay(RestTime, cancellationToken);
        BytesPerConnection = (OtherProcess.ReadResidentBytes(processId) - before) / (double)(Count - first);
    }

    /// <summary>Demands that all of them are still there and heard nothing but keep-alives.</summary>
    /// <exception cref="LoadException">They are not, or did.</exception>
    public async Task CheckAsync(CancellationToken cancellationToken)
    {
        foreach (RoleProcess process in _processes)
        {
            IdleState state = await process.CallAsync<IdleState>("state", null, cancellationToken);
            if (state.Lost > 0 || state.WrongFrames > 0)
                throw LoadException.Failed($"idle connections were lost, or were sent what nobody asked for: {state}");
        }
    }

    public async ValueTask DisposeAsync() =>
        await Task.WhenAll(_processes.Select(process => process.DisposeAsync().AsTask()));

    private async Task OpenSomeAsync(string server, int count, CancellationToken cancellationToken)
    {
        while (count > 0 && EndedBy is null)
        {
            int number = Count / MostOfAProcess;
            if (number == _processes.Count)
                _processes.Add(session.Start(RoleList.Idle));
            int part = Math.Min(count, ((number + 1) * MostOfAProcess) - Count);
            var order = new IdleOrder(server, $"127.0.0.{number + 2}", part);
            IdleOpened opened = await _processes[number].CallAsync<IdleOpened>("open", order, cancellationToken);
            Count += opened.Count;
            count -= opened.Count;
            EndedBy = opened.EndedBy;
        }
    }
}
