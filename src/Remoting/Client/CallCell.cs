using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace EQueue.Remoting;

/// <summary>What the calling and the receiving thread write for each call of a slot, on one cache line: a line goes
/// from one core to the other for each call and back, some 40 ns each time.</summary>
[StructLayout(LayoutKind.Explicit, Size = Size)]
internal struct CallCell
{
    /// <summary>Bytes of a cell: a cache line.</summary>
    public const int Size = 64;

    /// <summary>Where a small answer's frame begins.</summary>
    public const int SmallAt = 24;

    /// <summary>The largest answer, header included, that is copied to its call.</summary>
    public const int SmallBytes = Size - SmallAt;

    /// <summary>The id of the request that waits for its answer; 0 = none.</summary>
    [FieldOffset(0)]
    public uint ArmedId;

    /// <summary>What is to be seen of the call: a <see cref="CallState"/>.</summary>
    [FieldOffset(4)]
    public int State;

    /// <summary>Whose outcome is kept here, a ticket; 0 = none.</summary>
    [FieldOffset(8)]
    public int HeldBy;

    /// <summary>Counts the uses of the slot.</summary>
    [FieldOffset(12)]
    public int Ticket;

    /// <summary>The ticket of the call whose awaiter waits; 0 = none. The thread that swaps it for 0 wakes that
    /// awaiter.</summary>
    [FieldOffset(16)]
    public int WaitedBy;

    /// <summary>Memory for cells, each on a line of its own.</summary>
    public static byte[] Allocate(int count, out int first)
    {
        byte[] cells = GC.AllocateArray<byte>((count + 1) * Size, pinned: true);
        nint start = Marshal.UnsafeAddrOfPinnedArrayElement(cells, 0);
        first = (int)((Size - (start % Size)) % Size);
        return cells;
    }

    /// <summary>The cell that begins there.</summary>
    public static ref CallCell At(byte[] cells, int start) => ref Unsafe.As<byte, CallCell>(ref cells[start]);
}
