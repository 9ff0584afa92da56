using System.Buffers;
using System.Text;

namespace EQueue.Client;

/// <summary>A text as UTF-8 for the time of a call: in memory of the caller's if it fits, else in a pooled
/// array.</summary>
internal readonly ref struct EncodedText
{
    /// <summary>UTF-8 that refuses what it would have to replace.</summary>
    public static readonly UTF8Encoding Strict = new(false, throwOnInvalidBytes: true);

    private readonly byte[]? _rented;

    /// <param name="text">The text.</param>
    /// <param name="room">Where it is encoded, if its longest form fits.</param>
    /// <exception cref="ArgumentException">The text is null or not valid UTF-16.</exception>
    public EncodedText(string text, Span<byte> room)
    {
        ArgumentNullException.ThrowIfNull(text);
        if (Strict.GetMaxByteCount(text.Length) > room.Length)
        {
            // Counted first: it is what checks the text, before an array is rented.
            room = _rented = ArrayPool<byte>.Shared.Rent(Strict.GetByteCount(text));
        }

        Bytes = room[..Strict.GetBytes(text, room)];
    }

    public ReadOnlySpan<byte> Bytes { get; }

    public void Dispose()
    {
        if (_rented is not null)
            ArrayPool<byte>.Shared.Return(_rented);
    }
}
