namespace EQueue.Protocol;

/// <summary>Asks for all quotas.</summary>
public sealed record ListQuotasRequest : IRequest<ListQuotasRequest, ListQuotasResponse>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.ListQuotas;

    /// <inheritdoc/>
    public static ListQuotasRequest Read(ref PayloadReader reader) => new();

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
    }
}

/// <summary>The quotas, clients first, each kind by name.</summary>
public sealed record ListQuotasResponse(IReadOnlyList<Quota> Quotas) : IPayload<ListQuotasResponse>
{
    /// <inheritdoc/>
    public static ListQuotasResponse Read(ref PayloadReader reader) => new(reader.ReadList<Quota>(Quota.MinSize));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer) => writer.WriteList(Quotas);
}
