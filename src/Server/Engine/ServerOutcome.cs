namespace EQueue.Server.Engine;

/// <summary>The exit code that the process ends with; the first failure stands.</summary>
internal sealed class ServerOutcome
{
    private int _exitCode = Server.ExitCode.Clean;

    public int ExitCode => Volatile.Read(ref _exitCode);

    public void Fail(int exitCode) => Interlocked.CompareExchange(ref _exitCode, exitCode, Server.ExitCode.Clean);
}
