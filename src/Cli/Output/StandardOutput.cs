using System.Runtime.InteropServices;

namespace EQueue.Cli.Output;

/// <summary>The process's standard output, on Unix, as the system has it.</summary>
/// <remarks>
/// The stream of <see cref="Console"/> drops what is written once the reader of a pipe has gone, and says nothing.
/// This one says it, so that nothing counts as printed that was not. It has no buffer.
/// </remarks>
internal sealed partial class StandardOutput : OutputStream
{
    private const int Descriptor = 1;
    private const int Interrupted = 4;
    private const int BrokenPipe = 32;

    private const short PollOut = 4;
    private const short PollErrorOrHangUp = 8 | 16;

    /// <summary>EAGAIN is 11 on Linux and 35 on macOS and the BSDs.</summary>
    private static readonly int WouldBlock = OperatingSystem.IsLinux() ? 11 : 35;

    /// <summary>Opens it.</summary>
    public static Stream Open() => OperatingSystem.IsWindows() ? Console.OpenStandardOutput() : new StandardOutput();

    /// <summary>Whether the reader of the pipe has closed its end. Never waits, and writes nothing.</summary>
    public static bool IsReaderGone()
    {
        if (OperatingSystem.IsWindows())
            return false;
        var entry = new PollEntry { Descriptor = Descriptor };
        return Poll(ref entry, 1, 0) > 0 && (entry.Found & PollErrorOrHangUp) != 0;
    }

    public override void Flush()
    {
        // Nothing is kept here.
    }

    /// <exception cref="OutputClosedException">The reader has gone.</exception>
    /// <exception cref="IOException">The system did not take the bytes: a full disk, for example.</exception>
    public override void Write(ReadOnlySpan<byte> buffer)
    {
        while (!buffer.IsEmpty)
        {
            nint written = Write(Descriptor, ref MemoryMarshal.GetReference(buffer), (nuint)buffer.Length);
            if (written >= 0)
            {
                buffer = buffer[(int)written..];
                continue;
            }

            int error = Marshal.GetLastPInvokeError();
            if (error == BrokenPipe)
                throw new OutputClosedException();
            if (error == WouldBlock)
                WaitForRoom();
            else if (error != Interrupted)
                throw Failure(error);
        }
    }

    /// <summary>A parent may have left the pipe non-blocking.</summary>
    private static void WaitForRoom()
    {
        var entry = new PollEntry { Descriptor = Descriptor, Asked = PollOut };
        if (Poll(ref entry, 1, -1) < 0 && Marshal.GetLastPInvokeError() is var error and not Interrupted)
            throw Failure(error);
    }

    private static IOException Failure(int error) =>
        new($"Standard output takes nothing: {Marshal.GetPInvokeErrorMessage(error)}.");

    [LibraryImport("libc", EntryPoint = "write", SetLastError = true)]
    private static partial nint Write(int descriptor, ref byte bytes, nuint count);

    [LibraryImport("libc", EntryPoint = "poll", SetLastError = true)]
    private static partial int Poll(ref PollEntry entries, nuint count, int timeoutMs);

    /// <summary>The system's pollfd.</summary>
    [StructLayout(LayoutKind.Sequential)]
    private struct PollEntry
    {
        public int Descriptor;
        public short Asked;
        public short Found;
    }
}
