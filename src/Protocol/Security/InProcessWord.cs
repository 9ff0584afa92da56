using System.Text;

namespace EQueue.Protocol;

/// <summary>The credentials of <see cref="Mechanisms.InProcess"/>: for whom a process speaks.</summary>
/// <param name="Principal">As rules name it; it has no space.</param>
/// <param name="Address">From where that one asks, to be written down; null = from within the process.</param>
public readonly record struct InProcessWord(string Principal, string? Address)
{
    /// <summary>Reads what <see cref="Encode"/> wrote; anything else is a principal that there is none of.</summary>
    public static InProcessWord Parse(ReadOnlySpan<byte> credentials)
    {
        string text = Encoding.UTF8.GetString(credentials);
        int end = text.IndexOf(' ', StringComparison.Ordinal);
        return end < 0 ? new InProcessWord(text, null) : new InProcessWord(text[..end], text[(end + 1)..]);
    }

    /// <summary>The principal in UTF-8; then a space and the address, if there is one.</summary>
    public byte[] Encode() => Encoding.UTF8.GetBytes(Address is null ? Principal : $"{Principal} {Address}");
}
