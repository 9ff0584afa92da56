using EQueue.MessageStore;
using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.Broker;

/// <summary>Says which messages go, and warns before and after when a group has not read them.</summary>
/// <remarks>
/// A queue that loses messages again and again is reported once a <see cref="Interval"/>, with all that went since the
/// last report; at most <see cref="MaxLines"/> queues at once, the rest in one line. The store calls one method at a
/// time.
/// </remarks>
internal sealed class DeletionWatch(TopicCatalogue catalogue, GroupTable groups, TimeProvider time, ILogger logger)
    : IDeletionWatch
{
    private const int MaxLines = 50;

    private readonly Dictionary<QueueId, Report> _reports = [];
    private List<Loss> _losses = [];
    private List<DeletedRange> _due = [];

    private static TimeSpan Interval => TimeSpan.FromMinutes(1);

    /// <inheritdoc/>
    public void BeforeDeletion(IReadOnlyList<DeletedRange> ranges)
    {
        _due = TakeDue(ranges);
        _losses = _due.Count == 0 ? [] : FindLosses(_due);
        foreach (Loss loss in _losses.Take(MaxLines))
        {
            (string topic, int queue) = NameOf(loss.Range.Queue);
            logger.UnreadAboutToGo(loss.Count, topic, queue, loss.Group, loss.Range.Cause, loss.Range.To.Value);
        }
    }

    /// <inheritdoc/>
    public void AfterDeletion(IReadOnlyList<DeletedRange> ranges)
    {
        foreach (DeletedRange range in _due.Take(MaxLines))
        {
            (string topic, int queue) = NameOf(range.Queue);
            logger.MessagesGone(range.Count, topic, queue, range.Cause, range.To.Value);
        }

        if (_due.Count > MaxLines)
            logger.MoreMessagesGone(_due.Count - MaxLines, _due.Skip(MaxLines).Sum(range => range.Count));
        foreach (Loss loss in _losses.Take(MaxLines))
        {
            (string topic, int queue) = NameOf(loss.Range.Queue);
            logger.UnreadGone(loss.Count, topic, queue, loss.Group, loss.Range.Cause, loss.Range.To.Value);
        }

        if (_losses.Count > MaxLines)
            logger.MoreUnreadGone(_losses.Count - MaxLines, _losses.Skip(MaxLines).Sum(loss => loss.Count));
    }

    /// <summary>What is to be reported now, from the first message on that was not; the rest waits for the next
    /// time.</summary>
    private List<DeletedRange> TakeDue(IReadOnlyList<DeletedRange> ranges)
    {
        long now = time.GetTimestamp();
        if (_reports.Count > catalogue.QueueCount + MaxLines)
            ForgetRemoved();
        var due = new List<DeletedRange>(ranges.Count);
        foreach (DeletedRange range in ranges)
        {
            bool isKnown = _reports.TryGetValue(range.Queue, out Report report);
            if (isKnown && time.GetElapsedTime(report.At, now) < Interval)
            {
                _reports[range.Queue] = report with { From = report.From ?? range.From };
                continue;
            }

            due.Add(range with { From = report.From ?? range.From });
            _reports[range.Queue] = new Report(now, null);
        }

        return due;
    }

    private void ForgetRemoved()
    {
        foreach (QueueId queue in _reports.Keys.Where(queue => !catalogue.TryFindByQueue(queue, out _)).ToArray())
            _reports.Remove(queue);
    }

    private List<Loss> FindLosses(List<DeletedRange> due)
    {
        var ranges = new Dictionary<QueueId, DeletedRange>();
        foreach (DeletedRange range in due)
            ranges[range.Queue] = range;
        var losses = new List<Loss>();
        foreach (Group group in groups.Groups)
        {
            foreach (ProgressKey key in group.Progress)
            {
                if (!ranges.TryGetValue(key.Queue.Id, out DeletedRange range)
                    || group.Find(key.Instance, key.Queue) is not { } progress)
                    continue;
                long count = range.To.Value - Math.Max(range.From.Value, progress.Next.Value);
                if (count > 0)
                    losses.Add(new Loss(range, GroupTable.NameOf(group.Name, key.Instance), count));
            }
        }

        losses.Sort(static (one, other) => other.Count.CompareTo(one.Count));
        return losses;
    }

    private (string Topic, int Number) NameOf(QueueId queue) =>
        catalogue.TryFindByQueue(queue, out Topic? topic)
            ? (topic.Name, Array.IndexOf(topic.Queues, queue))
            : ("(removed)", (int)queue.Value);

    /// <summary>When a queue was last reported, and the first message that went since.</summary>
    private readonly record struct Report(long At, QueueOffset? From);

    /// <summary>Messages that a group has not read.</summary>
    private readonly record struct Loss(DeletedRange Range, string Group, long Count);
}
