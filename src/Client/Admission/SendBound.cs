namespace EQueue.Client;

/// <summary>How large batches to a topic with a bounded backlog may be.</summary>
/// <remarks>
/// A quarter of the bound: so one batch can be on its way, one be read, and one wait for room, and none is larger than
/// the bound itself.
/// </remarks>
/// <param name="MaxRecords">1 or more.</param>
/// <param name="MaxBytes">Of batches with several messages; one message may take more.</param>
/// <param name="Words">What the topic allows, for people.</param>
internal sealed record SendBound(int MaxRecords, int MaxBytes, string Words)
{
    private const int Share = 4;

    /// <summary>Smaller batches would cost more than the bound is worth.</summary>
    private const int LeastBytes = 256;

    /// <summary>For a topic's settings; null when they bound nothing.</summary>
    public static SendBound? From(TopicSettings settings)
    {
        if (settings is not ({ MaxBacklogMessages: > 0 } or { MaxBacklogBytes: > 0 }))
            return null;
        long records = settings.MaxBacklogMessages is > 0 and var messages ? messages / Share : SendBatch.MaxRecords;
        long bytes = settings.MaxBacklogBytes is > 0 and var most ? most / Share : int.MaxValue;
        return new SendBound(
            (int)Math.Clamp(records, 1, SendBatch.MaxRecords),
            (int)Math.Clamp(bytes, LeastBytes, int.MaxValue),
            Describe(settings));
    }

    private static string Describe(TopicSettings settings)
    {
        List<string> bounds = [];
        if (settings.MaxBacklogMessages is > 0 and var messages)
            bounds.Add($"{messages} messages");
        if (settings.MaxBacklogBytes is > 0 and var bytes)
            bounds.Add($"{bytes} bytes");
        string groups = string.IsNullOrEmpty(settings.BacklogGroups) ? "its slowest group" : settings.BacklogGroups;
        return $"the topic is full: its backlog is bounded at {string.Join(" and ", bounds)}, and {groups} has not "
            + "committed on";
    }
}
