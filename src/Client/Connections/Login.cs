using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>One connection's proof of who the client is, step by step.</summary>
internal abstract class Login
{
    /// <summary>Steps that a broker may ask for; SCRAM takes two.</summary>
    public const int MaxSteps = 4;

    public abstract string Mechanism { get; }

    /// <summary>What the client says first.</summary>
    /// <exception cref="EQueueException">AuthenticationFailed: there is nothing to say.</exception>
    public abstract ReadOnlyMemory<byte> First { get; }

    /// <summary>Whether another try would say something else; asked when this one was refused.</summary>
    public Func<bool> HasChanged { get; init; } = static () => false;

    /// <summary>Answers the broker, which is not done.</summary>
    /// <exception cref="EQueueException">AuthenticationFailed: the broker does not play by the rules.</exception>
    public abstract ReadOnlyMemory<byte> Answer(ReadOnlySpan<byte> challenge, ServerAddress address);

    /// <summary>The broker says that it is done: checks that it proved what it has to.</summary>
    /// <exception cref="EQueueException">AuthenticationFailed: it did not.</exception>
    public abstract void Finish(ReadOnlySpan<byte> challenge, ServerAddress address);

    protected static EQueueException Refuse(ServerAddress address, string why) =>
        new(ErrorCode.AuthenticationFailed, $"{address} {why}");
}

/// <summary>A mechanism of one step, in which the client says all and the broker proves nothing.</summary>
internal sealed class SimpleLogin(string mechanism, byte[] credentials) : Login
{
    public override string Mechanism => mechanism;

    public override ReadOnlyMemory<byte> First => credentials;

    public override ReadOnlyMemory<byte> Answer(ReadOnlySpan<byte> challenge, ServerAddress address) =>
        throw Refuse(address, $"asks for another step of {mechanism}, which has one.");

    public override void Finish(ReadOnlySpan<byte> challenge, ServerAddress address)
    {
        // TLS has said who the broker is, or it is on this machine.
    }
}

/// <summary>There is nothing to prove it with.</summary>
internal sealed class NoLogin(string reason) : Login
{
    public override string Mechanism => "";

    public override ReadOnlyMemory<byte> First => throw new EQueueException(ErrorCode.AuthenticationFailed, reason);

    public override ReadOnlyMemory<byte> Answer(ReadOnlySpan<byte> challenge, ServerAddress address) => First;

    public override void Finish(ReadOnlySpan<byte> challenge, ServerAddress address) => _ = First;
}

/// <summary>A password, proved in two steps; the broker has to prove that it knows the user.</summary>
internal sealed class ScramLogin(string user, ScramClient scram) : Login
{
    public override string Mechanism => Mechanisms.ScramSha256;

    public override ReadOnlyMemory<byte> First => scram.FirstMessage();

    public override ReadOnlyMemory<byte> Answer(ReadOnlySpan<byte> challenge, ServerAddress address) =>
        scram.Answer(challenge, out byte[]? answer) switch
        {
            ScramError.None => answer,
            ScramError.WrongIterations => throw Refuse(
                address,
                $"asks for a number of iterations that is not between {ScramSecret.MinIterations} and "
                + $"{ScramSecret.MaxIterations}: nothing was proved to it, for it may want to guess the password."),
            var error => throw Refuse(
                address, $"sent a message of SCRAM-SHA-256 that is not right ({error}): nothing was proved to it."),
        };

    public override void Finish(ReadOnlySpan<byte> challenge, ServerAddress address)
    {
        if (scram.Verify(challenge) is not ScramError.None and var error)
        {
            throw Refuse(
                address,
                $"does not prove that it knows the user {user} ({error}): it is not the broker that it says it is.");
        }
    }
}
