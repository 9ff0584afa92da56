using System.Diagnostics;
using EQueue.Remoting;

namespace EQueue.Support;

/// <summary>A process of another user of the machine.</summary>
public static class Stranger
{
    public const uint User = 65534;

    /// <summary>Why tests with a stranger are skipped.</summary>
    public const string Needs = "Only root starts a process of another user, and only Linux tells users of sockets.";

    /// <summary>For each line sends its first bytes over a connection of its own, waits for an answer, sends the others,
    /// and prints all that comes.</summary>
    private const string TryPorts = """
        import socket, sys
        for line in sys.stdin:
            first, then = (bytes.fromhex(half) for half in line.split())
            port = sys.argv[1]
            peer = socket.socket(socket.AF_UNIX if port.startswith('/') else socket.AF_INET)
            peer.settimeout(30)
            answer = b''
            try:
                peer.connect(port if port.startswith('/') else tuple([port.split(':')[0], int(port.split(':')[1])]))
                peer.sendall(first)
                answer = peer.recv(65536)
                peer.sendall(then)
                while more := peer.recv(65536): answer += more
            except ConnectionError:
                pass
            except PermissionError:
                answer = b'no'
            print('got', answer.hex())
        """;

    /// <summary>Whether there can be one.</summary>
    public static bool CanRun => OperatingSystem.IsLinux() && Environment.IsPrivilegedProcess;

    /// <summary>Sends to a port as that user, over a connection for each line.</summary>
    /// <param name="lines">In hexadecimal, the first bytes, and, behind a blank, those that follow their answer.</param>
    /// <param name="port">HOST:PORT, or the path of a socket.</param>
    /// <returns>For each line "got", and what came, in hexadecimal.</returns>
    public static Task<string[]> TryPortAsync(IEnumerable<string> lines, string port) =>
        RunAsync(TryPorts, lines, port);

    /// <summary>The answers in such a line, keep-alives left out.</summary>
    public static IReadOnlyList<(FrameHeader Header, byte[] Body)> FramesIn(string line)
    {
        ArgumentNullException.ThrowIfNull(line);
        List<(FrameHeader, byte[])> frames = [];
        ReadOnlySpan<byte> rest = Convert.FromHexString(line["got ".Length..]);
        while (!rest.IsEmpty)
        {
            if (!FrameHeader.TryRead(rest, 1 << 20, out FrameHeader header, out _))
                throw new InvalidDataException($"No frames came: {line}");
            if (header.Opcode != FrameHeader.PingOpcode)
                frames.Add((header, rest[FrameHeader.Size..(int)header.Length].ToArray()));
            rest = rest[(int)header.Length..];
        }

        return frames;
    }

    /// <summary>Runs a Python script as that user.</summary>
    /// <returns>The lines that it printed.</returns>
    public static async Task<string[]> RunAsync(string script, IEnumerable<string> lines, params string[] arguments)
    {
        if (!CanRun)
            throw new InvalidOperationException(Needs);
        string python = File.Exists("/usr/bin/python3") ? "/usr/bin/python3" : "python3";
        var start = new ProcessStartInfo(
            "setpriv", [$"--reuid={User}", $"--regid={User}", "--clear-groups", python, "-c", script, .. arguments])
        {
            UseShellExecute = false,
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            WorkingDirectory = "/",
        };
        using Process process = Process.Start(start)!;
        Task<string> output = process.StandardOutput.ReadToEndAsync();
        foreach (string line in lines)
            await process.StandardInput.WriteLineAsync(line);
        process.StandardInput.Close();
        return (await output.WaitAsync(TimeSpan.FromSeconds(60))).Split('\n', StringSplitOptions.RemoveEmptyEntries);
    }
}
