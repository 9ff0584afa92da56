using System.Security.Cryptography;
using System.Text;

namespace EQueue.Protocol;

/// <summary>The server's half of one exchange of <see cref="Mechanisms.ScramSha256"/>.</summary>
/// <remarks>
/// RFC 5802 and RFC 7677, without channel binding. One object per exchange, one thread. It needs nothing but random
/// numbers: its owner bounds its life. Steps: <see cref="ReadFirst"/> tells the <see cref="User"/>;
/// <see cref="Challenge"/> takes what is kept of that user's password, or <see cref="ScramSecret.Mock"/>;
/// <see cref="ReadFinal"/> decides. The work is the same for each name and each password.
/// </remarks>
public sealed class ScramServer
{
    private readonly string _nonce;
    private string _header = "";
    private string _bareFirst = "";
    private string _wholeNonce = "";
    private string _serverFirst = "";
    private ScramSecret? _secret;

    /// <summary>Begins an exchange, with a nonce of its own.</summary>
    public ScramServer()
        : this(ScramKeys.NewNonce())
    {
    }

    internal ScramServer(string nonce) => _nonce = nonce;

    /// <summary>Who the client says it is, 1 to 249 characters: not proved until <see cref="ReadFinal"/> says so, and
    /// not one of <see cref="NameRules"/> for sure. "" before <see cref="ReadFirst"/> has succeeded.</summary>
    public string User { get; private set; } = "";

    /// <summary>Reads the client's first message.</summary>
    /// <returns>Malformed, Unsupported.</returns>
    public ScramError ReadFirst(ReadOnlySpan<byte> clientFirst)
    {
        if (ScramReader.TextOf(clientFirst) is not { } text)
            return ScramError.Malformed;
        var reader = ScramReader.Of(text);
        if (!reader.TryTake(out ReadOnlySpan<char> binding) || !reader.TryTake(out ReadOnlySpan<char> actingFor))
            return ScramError.Malformed;
        if (binding.StartsWith("p=", StringComparison.Ordinal) || actingFor.StartsWith("a=", StringComparison.Ordinal))
            return ScramError.Unsupported;

        // "y": the client could bind the channel and sees that this server cannot, which is so.
        if (binding is not ("n" or "y") || actingFor.Length > 0)
            return ScramError.Malformed;
        if (reader.MeetsMandatoryExtension)
            return ScramError.Unsupported;
        if (!reader.TryTake('n', out ReadOnlySpan<char> name) || ScramName.Decode(name) is not { } user
            || !reader.TryTake('r', out ReadOnlySpan<char> nonce) || !ScramReader.IsNonce(nonce)
            || !reader.TrySkipExtensions())
        {
            return ScramError.Malformed;
        }

        _header = $"{binding},,";
        _bareFirst = text[_header.Length..];
        _wholeNonce = $"{nonce}{_nonce}";
        User = user;
        return ScramError.None;
    }

    /// <summary>The server's first message: nonce, salt, iterations.</summary>
    /// <param name="secret">Of <see cref="User"/>'s password.</param>
    /// <exception cref="InvalidOperationException"><see cref="ReadFirst"/> has not succeeded.</exception>
    public byte[] Challenge(ScramSecret secret)
    {
        ArgumentNullException.ThrowIfNull(secret);
        if (User.Length == 0)
            throw new InvalidOperationException("The client's first message was not read.");
        _secret = secret;
        _serverFirst = $"r={_wholeNonce},s={Convert.ToBase64String(secret.Salt.Span)},i={secret.Iterations}";
        return Encoding.ASCII.GetBytes(_serverFirst);
    }

    /// <summary>Reads the client's last message and decides; once per exchange, whatever comes of it.</summary>
    /// <param name="clientFinal">With the nonce and the proof.</param>
    /// <param name="serverFinal">What proves to the client that the server knows the secret; empty after an
    /// error.</param>
    /// <returns>None: the client is <see cref="User"/>. Malformed, Unsupported, WrongNonce, WrongProof.</returns>
    /// <exception cref="InvalidOperationException">No <see cref="Challenge"/> was given, or it was
    /// answered.</exception>
    public ScramError ReadFinal(ReadOnlySpan<byte> clientFinal, out byte[] serverFinal)
    {
        serverFinal = [];
        ScramSecret secret = _secret ?? throw new InvalidOperationException("There is no challenge to be answered.");
        _secret = null;
        if (ScramReader.TextOf(clientFinal) is not { } text)
            return ScramError.Malformed;
        var reader = ScramReader.Of(text);
        if (!reader.TryTake('c', out ReadOnlySpan<char> binding) || ScramReader.Base64Of(binding) is not { } header
            || !reader.TryTake('r', out ReadOnlySpan<char> nonce) || !ScramReader.IsNonce(nonce))
        {
            return ScramError.Malformed;
        }

        // The proof is the last one; extensions stand before it and are signed with it.
        int end = text.LastIndexOf(",p=", StringComparison.Ordinal);
        if (end < 0 || text.AsSpan(end + 1).Contains(',')
            || ScramReader.Base64Of(text.AsSpan(end + 3)) is not { Length: ScramSecret.KeySize } proof
            || !reader.TrySkipExtensions())
        {
            return ScramError.Malformed;
        }

        if (!header.AsSpan().SequenceEqual(Encoding.ASCII.GetBytes(_header)))
            return ScramError.Unsupported;
        if (!nonce.SequenceEqual(_wholeNonce))
            return ScramError.WrongNonce;
        string message = $"{_bareFirst},{_serverFirst},{text.AsSpan(0, end)}";
        byte[] signature = ScramKeys.Sign(secret.ServerKey.Span, message);
        ScramKeys.Mix(proof, ScramKeys.Sign(secret.StoredKey.Span, message));
        if (!CryptographicOperations.FixedTimeEquals(SHA256.HashData(proof), secret.StoredKey.Span))
            return ScramError.WrongProof;
        serverFinal = Encoding.ASCII.GetBytes($"v={Convert.ToBase64String(signature)}");
        return ScramError.None;
    }
}
