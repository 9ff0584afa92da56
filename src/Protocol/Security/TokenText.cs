namespace EQueue.Protocol;

/// <summary>How a broker's tokens are written: "eqt_", an id of 8 characters, "_", and a secret of 43, both base64url
/// (RFC 4648, section 5) of random bytes.</summary>
public static class TokenText
{
    /// <summary>Random bytes of an id.</summary>
    public const int IdBytes = 6;

    /// <summary>Random bytes of a secret.</summary>
    public const int SecretBytes = 32;

    private const string Mark = "eqt_";
    private const int IdLength = 8;
    private const int SecretLength = 43;

    /// <summary>The token of an id and a secret.</summary>
    public static string Of(string id, string secret) => $"{Mark}{id}_{secret}";

    /// <summary>Takes a token apart; another text is none.</summary>
    public static bool TryParse(string text, out string id, out string secret)
    {
        bool isOne = text.Length == Mark.Length + IdLength + 1 + SecretLength
            && text.StartsWith(Mark, StringComparison.Ordinal)
            && text[Mark.Length + IdLength] == '_';
        id = isOne ? text.Substring(Mark.Length, IdLength) : "";
        secret = isOne ? text[^SecretLength..] : "";
        return isOne;
    }
}
