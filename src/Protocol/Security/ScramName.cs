using System.Text;

namespace EQueue.Protocol;

/// <summary>A user's name as SCRAM messages have it: "," is "=2C" and "=" is "=3D".</summary>
internal static class ScramName
{
    public static string Encode(string name) =>
        name.Replace("=", "=3D", StringComparison.Ordinal).Replace(",", "=2C", StringComparison.Ordinal);

    /// <summary>The name; null: empty, too long, or "=" with something else behind it.</summary>
    public static string? Decode(ReadOnlySpan<char> text)
    {
        var name = new StringBuilder(text.Length);
        while (text.Length > 0)
        {
            int equals = text.IndexOf('=');
            name.Append(equals < 0 ? text : text[..equals]);
            text = equals < 0 ? default : text[equals..];
            if (text.Length == 0)
                break;
            if (text.StartsWith("=2C", StringComparison.Ordinal))
                name.Append(',');
            else if (text.StartsWith("=3D", StringComparison.Ordinal))
                name.Append('=');
            else
                return null;
            text = text[3..];
        }

        return name.Length is >= 1 and <= NameRules.MaxLength ? name.ToString() : null;
    }
}
