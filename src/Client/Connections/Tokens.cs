using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>What a token looks like, in an option and in a file.</summary>
internal static class Tokens
{
    /// <summary>What is wrong with a text that is none.</summary>
    public const string Rule = "A token has 1 to 4,096 printable characters of ASCII without spaces.";

    private const int MaxLength = 4_096;

    /// <summary>The id of a whole token; any other text is one already.</summary>
    public static string IdOf(string token) => TokenText.TryParse(token, out string? id, out _) ? id : token;

    /// <summary>The token without the white space around it; null: it is none.</summary>
    public static string? Check(string? text)
    {
        string? token = text?.Trim();
        return token is { Length: >= 1 and <= MaxLength } && !token.AsSpan().ContainsAnyExceptInRange('!', '~')
            ? token : null;
    }

    /// <summary>Reads the token of a file.</summary>
    /// <param name="path">Where it is.</param>
    /// <param name="token">The token.</param>
    /// <param name="reason">Why there is none, in a sentence for people that does not quote the file.</param>
    public static bool TryRead(string path, out string token, out string reason)
    {
        token = reason = "";
        try
        {
            using var reader = new StreamReader(path);
            char[] text = new char[MaxLength + 3];
            int count = reader.ReadBlock(text);
            token = Check(new string(text, 0, count)) ?? "";
            if (token.Length == 0)
                reason = $"The file {path} has no token: {Rule}";
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            reason = $"The token file {path} cannot be read: {exception.Message}";
        }

        return token.Length > 0;
    }
}
