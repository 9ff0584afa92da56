namespace EQueue.Protocol;

/// <summary>Sets the quota of a name, or removes it when all its rates are 0. Errors: InvalidArgument, LimitReached.
/// </summary>
public sealed record SetQuotaRequest(Quota Quota) : IRequest<SetQuotaRequest, Done>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.SetQuota;

    /// <inheritdoc/>
    public static SetQuotaRequest Read(ref PayloadReader reader) => new(Quota.Read(ref reader));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer) => Quota.Write(writer);
}
