using System.Text;

namespace EQueue.Protocol;

/// <summary>Reads a SCRAM message attribute by attribute: RFC 5802, section 7. Nothing throws.</summary>
/// <remarks>A message is <c>x=value</c> between commas, in a fixed order; extensions, which this build passes over,
/// stand behind the known ones.</remarks>
internal ref struct ScramReader
{
    private static readonly UTF8Encoding StrictUtf8 = new(false, throwOnInvalidBytes: true);

    private ReadOnlySpan<char> _rest;
    private bool _isAtEnd;

    private ScramReader(string text)
    {
        _rest = text;
        _isAtEnd = text.Length == 0;
    }

    /// <summary>Whether all of it was read.</summary>
    public readonly bool IsAtEnd => _isAtEnd;

    /// <summary>The message's text; null: too long, not UTF-8, or with a NUL.</summary>
    public static string? TextOf(ReadOnlySpan<byte> message)
    {
        if (message.Length is 0 or > ScramSecret.MaxMessageBytes || message.Contains((byte)0))
            return null;
        try
        {
            return StrictUtf8.GetString(message);
        }
        catch (DecoderFallbackException)
        {
            return null;
        }
    }

    public static ScramReader Of(string text) => new(text);

    /// <summary>Takes what stands before the next comma, or before the end.</summary>
    public bool TryTake(out ReadOnlySpan<char> part)
    {
        part = default;
        if (_isAtEnd)
            return false;
        int comma = _rest.IndexOf(',');
        _isAtEnd = comma < 0;
        part = _isAtEnd ? _rest : _rest[..comma];
        _rest = _isAtEnd ? default : _rest[(comma + 1)..];
        return true;
    }

    /// <summary>Takes the attribute of a name; any other one is a mistake.</summary>
    public bool TryTake(char name, out ReadOnlySpan<char> value)
    {
        bool isThere = TryTake(out ReadOnlySpan<char> part) && part.Length >= 2 && part[0] == name && part[1] == '=';
        value = isThere ? part[2..] : default;
        return isThere;
    }

    /// <summary>Whether an extension comes next that has to be understood: <c>m=</c>.</summary>
    public readonly bool MeetsMandatoryExtension => _rest.StartsWith("m=", StringComparison.Ordinal);

    /// <summary>Passes over the extensions up to the end.</summary>
    public bool TrySkipExtensions()
    {
        while (!_isAtEnd)
        {
            if (!TryTake(out ReadOnlySpan<char> part) || !IsExtension(part))
                return false;
        }

        return true;
    }

    /// <summary>A letter, "=", and a value.</summary>
    public static bool IsExtension(ReadOnlySpan<char> part) =>
        part.Length >= 3 && char.IsAsciiLetter(part[0]) && part[1] == '=';

    /// <summary>Whether a nonce is one or more printable characters of ASCII; the comma cannot be in it.</summary>
    public static bool IsNonce(ReadOnlySpan<char> text) => text.Length > 0 && !text.ContainsAnyExceptInRange('!', '~');

    /// <summary>Base64 as an encoder writes it: with its padding, no spaces, no bits left over.</summary>
    public static byte[]? Base64Of(ReadOnlySpan<char> text)
    {
        byte[] bytes = new byte[(text.Length / 4 * 3) + 3];
        return text.Length > 0 && Convert.TryFromBase64Chars(text, bytes, out int size)
            && text.SequenceEqual(Convert.ToBase64String(bytes, 0, size))
            ? bytes[..size] : null;
    }
}
