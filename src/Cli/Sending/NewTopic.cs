using EQueue.Cli.Input;

namespace EQueue.Cli.Sending;

/// <summary>Notices that a send makes its topic, which may be a slip of the pen.</summary>
internal static class NewTopic
{
    /// <summary>More names than that are not looked through.</summary>
    private const int MostNames = 1_000;

    /// <summary>A send is not held up for longer by a question that helps people alone.</summary>
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(2);

    /// <summary>Whether no broker knows the topic; false when that cannot be found out soon.</summary>
    public static async ValueTask<bool> IsMissingAsync(
        EQueueAdmin admin, string topic, CancellationToken cancellationToken)
    {
        using var patience = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        patience.CancelAfter(Patience);
        try
        {
            await admin.DescribeTopicAsync(topic, patience.Token);
            return false;
        }
        catch (EQueueException exception)
        {
            return exception.Code == ErrorCode.UnknownTopic;
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            return false;
        }
    }

    /// <summary>Says that the topic was made, and which one may have been meant unless the token ends that.</summary>
    public static async ValueTask<string> TellAsync(
        EQueueAdmin admin, string topic, CancellationToken cancellationToken)
    {
        using var patience = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        patience.CancelAfter(Patience);
        string? meant = null;
        try
        {
            var names = new List<string>();
            await foreach (TopicListing listing in admin.ListTopicsAsync(patience.Token))
            {
                names.Add(listing.Topic);
                if (names.Count == MostNames)
                    break;
            }

            meant = Nearest.Ask(topic, names);
        }
        catch (Exception exception) when (exception is EQueueException or OperationCanceledException)
        {
            // The message is stored; what may have been meant is not told.
        }

        return meant is null ? $"created the topic {topic}" : $"created the topic {topic}. {meant}";
    }
}
