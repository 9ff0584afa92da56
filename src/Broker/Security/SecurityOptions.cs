namespace EQueue.Broker;

/// <summary>Who is served without credentials.</summary>
public enum UnauthenticatedAccess
{
    /// <summary>Processes of the user who runs the broker, and root's, on this machine (Linux). Where the system does
    /// not tell whose a process is: all of this machine.</summary>
    Owner,

    /// <summary>All processes of this machine.</summary>
    Local,

    /// <summary>Everybody who reaches a port.</summary>
    Anywhere,
}

/// <summary>Who may connect, and what is written down about what they do; docs/security.md is the design.</summary>
public sealed record SecurityOptions
{
    /// <summary>Who is served without credentials; the program that embeds the broker says where it listens.
    /// Default: Anywhere.</summary>
    public UnauthenticatedAccess Unauthenticated { get; init; } = UnauthenticatedAccess.Anywhere;

    /// <summary>Principals that no rule binds, such as "user:alice" or "cert:ops.example".
    /// Default: empty.</summary>
    public IReadOnlyList<string> Superusers { get; init; } = [];

    /// <summary>Whom the certificates of clients stand for: rules, separated by semicolons, the first that fits
    /// decides; docs/security.md has them, and default is a certificate's own name. Default: default.</summary>
    public string CertificateMapping { get; init; } = "default";

    /// <summary>Logins with a password that may be under way at once, 1 to 10,000. Default: 64.</summary>
    public int MaxLoginsAtOnce { get; init; } = 64;

    /// <summary>Where it is written what was administered and refused; null = nowhere. The broker's user disposes it,
    /// after the broker. Default: null.</summary>
    public IAuditSink? Audit { get; init; }

    /// <exception cref="ArgumentException">A setting is out of its range.</exception>
    internal void Validate()
    {
        OptionRules.Require(
            MaxLoginsAtOnce is >= 1 and <= 10_000, nameof(MaxLoginsAtOnce), "1 to 10,000", MaxLoginsAtOnce);
        try
        {
            _ = EQueue.Broker.CertificateMapping.Parse(CertificateMapping);
        }
        catch (FormatException exception)
        {
            throw OptionRules.Wrong(nameof(CertificateMapping), CertificateMapping, exception);
        }

        foreach (string principal in Superusers)
        {
            OptionRules.Require(
                Principal.IsValid(principal) && principal is not (Principal.Owner or Principal.Anonymous),
                nameof(Superusers), "user:NAME, cert:NAME or local:UID each", principal);
        }
    }
}

/// <summary>Takes what is to be remembered about who did what.</summary>
public interface IAuditSink
{
    /// <summary>Records that were taken and will not be kept; 0 where the sink does not count them.</summary>
    long Lost => 0;

    /// <summary>Takes a record; it must not wait long and must not throw. Called from any thread.</summary>
    void Write(in AuditRecord record);
}

/// <summary>Something that was done, or refused.</summary>
/// <param name="Time">When, by the broker's clock.</param>
/// <param name="Principal">Who, as rules name it; "" = the peer was not admitted.</param>
/// <param name="Address">From where.</param>
/// <param name="Client">What the peer calls itself; it may be any text.</param>
/// <param name="Operation">What was asked.</param>
/// <param name="Resource">With what, as "topic:orders"; "" = nothing of a name.</param>
/// <param name="Outcome">None: it was done.</param>
/// <param name="Detail">Before and after, or the reason; "" = nothing more to say.</param>
public readonly record struct AuditRecord(
    DateTimeOffset Time,
    string Principal,
    string Address,
    string Client,
    string Operation,
    string Resource,
    ErrorCode Outcome,
    string Detail);
