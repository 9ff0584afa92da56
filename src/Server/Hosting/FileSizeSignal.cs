using System.Runtime.InteropServices;

namespace EQueue.Server.Hosting;

/// <summary>Has a write beyond a limit of file sizes (ulimit -f, LimitFSIZE) fail with EFBIG, which the store tells and
/// ends with, instead of ending the process without a word: setrlimit(2).</summary>
internal static class FileSizeSignal
{
    /// <summary>SIGXFSZ has this number on Linux, macOS and the BSDs.</summary>
    private const PosixSignal Number = (PosixSignal)25;

    /// <returns>To be disposed when the process may be ended by it again; null on Windows, which has no such
    /// signal.</returns>
    public static IDisposable? Ignore() => OperatingSystem.IsWindows()
        ? null
        : PosixSignalRegistration.Create(Number, static context => context.Cancel = true);
}
