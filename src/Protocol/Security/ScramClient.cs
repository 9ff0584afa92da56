using System.Security.Cryptography;
using System.Text;

namespace EQueue.Protocol;

/// <summary>The client's half of one exchange of <see cref="Mechanisms.ScramSha256"/>: proves that it knows the
/// password, and has the server prove that it knows the user's secret.</summary>
/// <remarks>RFC 5802 and RFC 7677, without channel binding. One object per exchange, one thread. It needs nothing but
/// random numbers. Steps: <see cref="FirstMessage"/>, <see cref="Answer"/>, <see cref="Verify"/>.</remarks>
public sealed class ScramClient
{
    private const string Header = "n,,";

    private readonly string _user;
    private readonly string _password;
    private readonly string _nonce;
    private byte[]? _signature;

    /// <summary>Begins an exchange.</summary>
    /// <param name="user">The user's name.</param>
    /// <param name="password">The user's password.</param>
    /// <exception cref="ArgumentException">One of them cannot be used: see <see cref="SaslPrep"/>.</exception>
    public ScramClient(string user, string password)
        : this(user, password, ScramKeys.NewNonce())
    {
    }

    internal ScramClient(string user, string password, string nonce)
    {
        _user = SaslPrep.Prepare(user, nameof(user));
        _password = SaslPrep.Prepare(password, nameof(password));
        _nonce = nonce;
    }

    private string BareFirst => $"n={ScramName.Encode(_user)},r={_nonce}";

    /// <summary>What the client says first.</summary>
    public byte[] FirstMessage() => Encoding.UTF8.GetBytes(Header + BareFirst);

    /// <summary>Answers the server's first message.</summary>
    /// <param name="serverFirst">Nonce, salt and iterations.</param>
    /// <param name="clientFinal">The client's last message, with the proof; empty after an error.</param>
    /// <returns>Malformed, Unsupported, WrongNonce, WrongIterations; none of them says anything of the
    /// password.</returns>
    public ScramError Answer(ReadOnlySpan<byte> serverFirst, out byte[] clientFinal)
    {
        clientFinal = [];
        if (ScramReader.TextOf(serverFirst) is not { } text)
            return ScramError.Malformed;
        var reader = ScramReader.Of(text);
        if (reader.MeetsMandatoryExtension)
            return ScramError.Unsupported;
        if (!reader.TryTake('r', out ReadOnlySpan<char> nonce) || !ScramReader.IsNonce(nonce)
            || !reader.TryTake('s', out ReadOnlySpan<char> salt64) || ScramReader.Base64Of(salt64) is not { } salt
            || !reader.TryTake('i', out ReadOnlySpan<char> count) || !IsNumber(count)
            || !reader.TrySkipExtensions())
        {
            return ScramError.Malformed;
        }

        // A server's part of its own: else what it says could be of another exchange.
        if (!nonce.StartsWith(_nonce, StringComparison.Ordinal) || nonce.Length == _nonce.Length)
            return ScramError.WrongNonce;
        if (!int.TryParse(count, out int iterations)
            || iterations is < ScramSecret.MinIterations or > ScramSecret.MaxIterations)
        {
            return ScramError.WrongIterations;
        }

        string withoutProof = $"c={Convert.ToBase64String(Encoding.ASCII.GetBytes(Header))},r={nonce}";
        byte[] proof = Prove(salt, iterations, $"{BareFirst},{text},{withoutProof}");
        clientFinal = Encoding.ASCII.GetBytes($"{withoutProof},p={Convert.ToBase64String(proof)}");
        return ScramError.None;
    }

    /// <summary>Checks the server's last message; only when it is right is the server known.</summary>
    /// <returns>Malformed; Refused; WrongSignature: also when <see cref="Answer"/> has not succeeded.</returns>
    public ScramError Verify(ReadOnlySpan<byte> serverFinal)
    {
        if (ScramReader.TextOf(serverFinal) is not { } text)
            return ScramError.Malformed;
        var reader = ScramReader.Of(text);
        if (!reader.TryTake(out ReadOnlySpan<char> part) || !ScramReader.IsExtension(part)
            || !reader.TrySkipExtensions())
        {
            return ScramError.Malformed;
        }

        if (part[0] == 'e')
            return ScramError.Refused;
        if (part[0] != 'v' || ScramReader.Base64Of(part[2..]) is not { } signature)
            return ScramError.Malformed;
        return _signature is not null && CryptographicOperations.FixedTimeEquals(signature, _signature)
            ? ScramError.None : ScramError.WrongSignature;
    }

    /// <summary>The proof for the server; keeps the signature that the server has to give.</summary>
    private byte[] Prove(byte[] salt, int iterations, string message)
    {
        byte[] salted = ScramKeys.Salt(_password, salt, iterations);
        byte[] proof = ScramKeys.ClientKey(salted);
        byte[] serverKey = ScramKeys.ServerKey(salted);
        byte[] storedKey = SHA256.HashData(proof);
        _signature = ScramKeys.Sign(serverKey, message);
        ScramKeys.Mix(proof, ScramKeys.Sign(storedKey, message));
        CryptographicOperations.ZeroMemory(salted);
        return proof;
    }

    /// <summary>Digits, the first of them no zero.</summary>
    private static bool IsNumber(ReadOnlySpan<char> text) =>
        text.Length > 0 && text[0] != '0' && !text.ContainsAnyExceptInRange('0', '9');
}
