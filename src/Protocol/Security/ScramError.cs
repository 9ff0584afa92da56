namespace EQueue.Protocol;

/// <summary>Why an exchange of <see cref="Mechanisms.ScramSha256"/> ends without a login.</summary>
/// <remarks>For the log of the side that finds it: a peer that is refused is not told which it was.</remarks>
public enum ScramError
{
    /// <summary>None: the step is right.</summary>
    None,

    /// <summary>The message does not follow RFC 5802, or is too long
    /// (<see cref="ScramSecret.MaxMessageBytes"/>).</summary>
    Malformed,

    /// <summary>It asks for what this build does not have: channel binding, acting for another user, an extension that
    /// must be understood.</summary>
    Unsupported,

    /// <summary>The nonce is not the one of this exchange: a message of another one, or one that was changed.</summary>
    WrongNonce,

    /// <summary>Below <see cref="ScramSecret.MinIterations"/>: the server may want the password to be guessed. Or above
    /// <see cref="ScramSecret.MaxIterations"/>: it may want the client's time.</summary>
    WrongIterations,

    /// <summary>The client does not know the password, or there is no such user.</summary>
    WrongProof,

    /// <summary>The server does not know the user's secret: it is not the broker that it says it is.</summary>
    WrongSignature,

    /// <summary>The server refused in its last message.</summary>
    Refused,
}
