namespace EQueue.Protocol;

/// <summary>How a peer proves who it is: the names for <see cref="HelloRequest.Mechanism"/>.</summary>
public static class Mechanisms
{
    /// <summary>A user's password, without sending it: RFC 5802 and RFC 7677, no channel binding, two steps.</summary>
    public const string ScramSha256 = "SCRAM-SHA-256";

    /// <summary>A token; the credentials are its text in UTF-8. One step.</summary>
    public const string Token = "TOKEN";

    /// <summary>The process's own word, over an in-memory connection alone; the credentials are the principal's text in
    /// UTF-8. One step.</summary>
    public const string InProcess = "IN-PROCESS";
}
