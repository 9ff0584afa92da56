using System.Diagnostics;

namespace EQueue.Cluster.Tests;

/// <summary>Programs that do nothing but use the machine's processors. They end with the tests, however they
/// end.</summary>
internal sealed class BusyProcesses : IDisposable
{
    // A shell waits beside the loop: when its input closes, it kills it.
    private const string Loop = "while :; do :; done & read _; kill -9 $!; wait";

    private readonly Process[] _shells;

    /// <param name="perProcessor">So many for each processor.</param>
    public BusyProcesses(int perProcessor) => _shells =
    [
        .. Enumerable.Range(0, perProcessor * Environment.ProcessorCount).Select(_ => Process.Start(
            new ProcessStartInfo("sh", ["-c", Loop]) { UseShellExecute = false, RedirectStandardInput = true })!),
    ];

    /// <summary>Whether all of them run.</summary>
    public bool AreRunning => _shells.All(shell => !shell.HasExited);

    public void Dispose()
    {
        foreach (Process shell in _shells)
        {
            shell.StandardInput.Close();
            shell.WaitForExit();
            shell.Dispose();
        }
    }
}
