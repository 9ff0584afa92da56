using System.Runtime.InteropServices;

namespace EQueue.Remoting;

/// <summary>How long a thread wants to run at a time: sched_setattr(2) of Linux, with the numbers of x64 and
/// arm64.</summary>
/// <remarks>From Linux 6.12 on <c>sched_runtime</c> of an ordinary thread is its slice, 0.1 to 100 ms. A thread with a
/// shorter one than that which runs need not wait, when it wakes up, until the other's is over (about 3 ms); its share
/// of the core is the same. Earlier systems take no notice.</remarks>
internal static unsafe partial class TimeSlice
{
    private const uint OrdinaryPolicy = 0;

    /// <summary>SCHED_FLAG_RESET_ON_FORK: threads that the thread makes do not inherit its slice.</summary>
    private const ulong NotInherited = 1;

    private static readonly bool IsX64 = RuntimeInformation.ProcessArchitecture == Architecture.X64;
    private static readonly nint SetNumber = IsX64 ? 314 : 274;
    private static readonly nint GetNumber = IsX64 ? 315 : 275;

    /// <summary>The calling thread's; zero when the system does not tell.</summary>
    public static TimeSpan Current =>
        TryGet(out Attributes attributes) ? TimeSpan.FromMicroseconds(attributes.RuntimeNs / 1e3) : TimeSpan.Zero;

    /// <summary>Asks for a slice of the calling thread. Left alone: threads of another policy, and those that somebody
    /// has given a better priority, which threads made by them would lose.</summary>
    public static void Ask(TimeSpan slice)
    {
        if (!TryGet(out Attributes attributes) || attributes.Policy != OrdinaryPolicy || attributes.Nice < 0) return;
        attributes.Size = (uint)sizeof(Attributes);
        attributes.Flags |= NotInherited;
        attributes.RuntimeNs = (ulong)slice.Ticks * TimeSpan.NanosecondsPerTick;

        // A system that refuses leaves everything as it was.
        _ = SystemCall(SetNumber, 0, &attributes, 0, 0);
    }

    private static bool TryGet(out Attributes attributes)
    {
        attributes = default;
        if (!OperatingSystem.IsLinux() || (!IsX64 && RuntimeInformation.ProcessArchitecture != Architecture.Arm64))
            return false;
        fixed (Attributes* there = &attributes)
            return SystemCall(GetNumber, 0, there, (nint)sizeof(Attributes), 0) == 0;
    }

    [LibraryImport("libc", EntryPoint = "syscall", SetLastError = true)]
    private static partial nint SystemCall(nint number, nint thread, Attributes* attributes, nint third, nint fourth);

    /// <summary>sched_attr, its first version (48 bytes).</summary>
    [StructLayout(LayoutKind.Sequential)]
    private struct Attributes
    {
        public uint Size;
        public uint Policy;
        public ulong Flags;
        public int Nice;
        public uint Priority;
        public ulong RuntimeNs;
        public ulong DeadlineNs;
        public ulong PeriodNs;
    }
}
