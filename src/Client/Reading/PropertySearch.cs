using System.Buffers;
using System.Text;
using System.Text.Unicode;

namespace EQueue.Client;

/// <summary>Looks up a record's property by a name given as text.</summary>
internal static class PropertySearch
{
    private const int NameBytes = 256;

    /// <summary>The first property of a name; false when there is none. Does not allocate.</summary>
    public static bool TryFind(RecordPropertyReader properties, string name, out OptionalBytes value)
    {
        ArgumentNullException.ThrowIfNull(name);
        int most = Encoding.UTF8.GetMaxByteCount(name.Length);
        byte[]? rented = most > NameBytes ? ArrayPool<byte>.Shared.Rent(most) : null;
        Span<byte> room = rented is null ? stackalloc byte[NameBytes] : rented;

        // A name that is not valid UTF-16 cannot have been sent: nothing is looked for under a replacement of it.
        value = default;
        bool found = Utf8.FromUtf16(name, room, out _, out int size, replaceInvalidSequences: false)
            == OperationStatus.Done && MessageTrace.TryFind(properties, room[..size], out value);
        if (rented is not null)
            ArrayPool<byte>.Shared.Return(rented);
        return found;
    }
}
