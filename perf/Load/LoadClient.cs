namespace EQueue.Load;

/// <summary>Clients of the broker under load. Who comes, the environment says as it does for <c>equeue</c>: the token
/// in <c>EQUEUE_TOKEN</c>, or the one in the file <c>EQUEUE_TOKEN_FILE</c>; none by default, so on the broker's own
/// machine its owner.</summary>
internal static class LoadClient
{
    /// <summary>Options with the addresses and who comes.</summary>
    public static ClientOptions OptionsFor(string server) =>
        new() { Addresses = server, Credentials = Credentials() };

    /// <summary>A client with the other options as they are by default.</summary>
    public static EQueueClient To(string server) => new(OptionsFor(server));

    private static Credentials? Credentials()
    {
        if (Environment.GetEnvironmentVariable("EQUEUE_TOKEN") is { Length: > 0 } token)
            return EQueue.Client.Credentials.Token(token);
        return Environment.GetEnvironmentVariable("EQUEUE_TOKEN_FILE") is { Length: > 0 } path
            ? EQueue.Client.Credentials.TokenFile(path)
            : null;
    }
}
