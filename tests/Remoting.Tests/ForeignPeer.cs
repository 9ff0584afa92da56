using System.Diagnostics;

namespace EQueue.Remoting.Tests;

/// <summary>A process of another user that connects and stays, or goes again.</summary>
internal sealed class ForeignPeer : IDisposable
{
    public const uint User = 65534;

    private const string Script = """
        import socket, sys
        address, port, manner = sys.argv[1], int(sys.argv[2]), sys.argv[3]
        family = socket.AF_UNIX if port == 0 else socket.AF_INET6 if ':' in address else socket.AF_INET
        peer = socket.socket(family, socket.SOCK_STREAM)
        peer.connect(address if port == 0 else (address, port))
        if manner == 'go': peer.close()
        if manner == 'end': peer.shutdown(socket.SHUT_WR)
        print('done', flush=True)
        sys.stdin.read()
        """;

    private readonly Process _process;

    private ForeignPeer(Process process) => _process = process;

    /// <summary>Starts it; it has connected when this returns.</summary>
    /// <param name="address">Numbers, or a path when the port is 0.</param>
    /// <param name="port">Of the server.</param>
    /// <param name="manner">"stay", "go": it closes at once; "end": it ends its direction and stays.</param>
    public static async Task<ForeignPeer> ConnectAsync(string address, int port, string manner = "stay")
    {
        Assert.SkipUnless(
            OperatingSystem.IsLinux() && Environment.IsPrivilegedProcess,
            "Only root starts a process of another user, and only Linux tells users of sockets.");
        string python = File.Exists("/usr/bin/python3") ? "/usr/bin/python3" : "python3";
        var start = new ProcessStartInfo(
            "setpriv",
            [$"--reuid={User}", $"--regid={User}", "--clear-groups", python, "-c", Script, address, $"{port}", manner])
        {
            UseShellExecute = false,
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            WorkingDirectory = "/",
        };
        var peer = new ForeignPeer(Process.Start(start)!);
        string? line = await peer._process.StandardOutput.ReadLineAsync().WaitAsync(TimeSpan.FromSeconds(60));
        Assert.Equal("done", line);
        return peer;
    }

    public void Dispose()
    {
        if (!_process.HasExited)
            _process.Kill();
        _process.Dispose();
    }
}
