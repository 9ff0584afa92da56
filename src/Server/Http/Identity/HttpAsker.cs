using EQueue.Broker;
using EQueue.Protocol;

namespace EQueue.Server.Http;

/// <summary>Who asks over HTTP, for one request.</summary>
/// <remarks>Thread-safe. Disposed when the request is over.</remarks>
internal sealed class HttpAsker : IDisposable
{
    private readonly Admission? _admission;

    /// <summary>Whom the broker admitted.</summary>
    /// <param name="admission">Its word; disposed with this.</param>
    /// <param name="address">From where it asks, with the port.</param>
    public HttpAsker(Admission admission, string address)
    {
        _admission = admission;
        (Principal, Address) = (admission.Principal, address);
    }

    /// <summary>Whom nothing but the socket tells, while no broker serves.</summary>
    public HttpAsker(string principal, string address) => (Principal, Address) = (principal, address);

    /// <summary>A probe: it is not asked who it is.</summary>
    public static HttpAsker Probe { get; } = new("", "");

    /// <summary>As rules name it; "" = a probe.</summary>
    public string Principal { get; }

    public string Address { get; }

    /// <summary>Cancelled when it would not be admitted any more, or may not what was checked.</summary>
    public CancellationToken Ended => _admission?.Ended ?? CancellationToken.None;

    /// <summary>Why it would not be; null = it would.</summary>
    public EQueueException? EndReason => _admission?.Reason;

    /// <summary>What the broker knows of it; null while none serves.</summary>
    public Admission? Admission => _admission;

    /// <summary>Throws unless it may do something, now and until the request is over.</summary>
    /// <param name="operation">For which operation, as the audit log names it.</param>
    /// <param name="permission">The right.</param>
    /// <param name="resource">To what kind of thing.</param>
    /// <param name="name">Its name; "" = the broker.</param>
    /// <exception cref="EQueueException">NotAuthorized; Unreachable: no broker served when it came.</exception>
    public void Check(Opcode operation, Permission permission, ResourceKind resource, string name)
    {
        if (_admission is null)
            throw new EQueueException(ErrorCode.Unreachable) { RetryAfter = TimeSpan.FromSeconds(1) };
        _admission.Check(operation, permission, resource, name);
    }

    /// <summary>Whether it may see a topic or a group; without a broker there is none to be seen.</summary>
    public bool MaySee(ResourceKind resource, string name) => _admission?.MaySee(resource, name) ?? true;

    public void Dispose() => _admission?.Dispose();
}
