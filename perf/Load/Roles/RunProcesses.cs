namespace EQueue.Load.Roles;

/// <summary>The producers, consumers and other clients of one run, a process each. They go before its brokers.</summary>
internal sealed class RunProcesses(LoadSession session) : IAsyncDisposable
{
    private readonly List<RoleProcess> _processes = [];

    public RoleProcess Start(string role)
    {
        RoleProcess process = session.Start(role);
        _processes.Add(process);
        return process;
    }

    public async ValueTask DisposeAsync() =>
        await Task.WhenAll(_processes.Select(process => process.DisposeAsync().AsTask()));
}
