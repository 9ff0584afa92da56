using EQueue.Load.Reporting;
using EQueue.Load.Roles;

namespace EQueue.Load;

/// <summary>
/// One run of the load program: what was asked, where it may write, the processes that it started and the report that
/// it fills. Owned by <see cref="LoadCommand"/>; used by one scenario on one flow of control.
/// </summary>
internal sealed class LoadSession(LoadOptions options, LoadReport report) : IAsyncDisposable
{
    private readonly List<RoleProcess> _processes = [];

    public LoadOptions Options { get; } = options;

    public LoadReport Report { get; } = report;

    public Workspace Workspace { get; } = new(options.DataDirectory);

    /// <summary>Starts a process of its own for a role; it is stopped with the session at the latest.</summary>
    public RoleProcess Start(string role)
    {
        var process = RoleProcess.Start(role);
        _processes.Add(process);
        return process;
    }

    /// <summary>Tells the reader what happens; results go elsewhere.</summary>
    public static void Say(string text) => Console.Error.WriteLine(text);

    /// <summary>Stops every process that is still there, then removes what was written.</summary>
    public async ValueTask DisposeAsync()
    {
        await Task.WhenAll(_processes.Select(process => process.DisposeAsync().AsTask()));
        Workspace.Dispose();
    }
}
