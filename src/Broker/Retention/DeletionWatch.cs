using EQueue.MessageStore;
using Microsoft.Extensions.Logging;

namespace EQueue.Broker;

/// <summary>Says which messages go, and warns before and after when a group has not read them.</summary>
/// <remarks>
/// A queue that loses messages again and again is reported once a <see cref="Interval"/>, with all that went since the
/// last report, at its end and when the broker stops at the latest; at most <see cref="MaxLines"/> queues at once, the
/// rest in one line. The store calls one method at a time.
/// </remarks>
internal sealed class DeletionWatch : IBrokerModule, IDeletionWatch, IDisposable
{
    private const int MaxLines = 50;

    private readonly QueueStore _store;
    private readonly TopicCatalogue _catalogue;
    private readonly GroupTable _groups;
    private readonly TimeProvider _time;
    private readonly ILogger _logger;
    private readonly Lock _lock = new();
    private readonly Dictionary<QueueId, Report> _reports = [];
    private readonly ITimer _timer;
    private List<Loss> _losses = [];
    private List<DeletedRange> _due = [];
    private bool _isTimerSet;

    public DeletionWatch(ModuleContext context, TopicCatalogue catalogue, GroupTable groups)
    {
        (_store, _catalogue, _groups, _time, _logger) =
            (context.Store, catalogue, groups, context.Time, context.Logger);
        _timer = _time.CreateTimer(_ => TellHeld(Interval), null, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    private static TimeSpan Interval => TimeSpan.FromMinutes(1);

    /// <inheritdoc/>
    public void Start() => _store.DeletionWatch = this;

    /// <inheritdoc/>
    public void BeforeDeletion(IReadOnlyList<DeletedRange> ranges)
    {
        lock (_lock)
        {
            _due = TakeDue(ranges);
            _losses = _due.Count == 0 ? [] : FindLosses(_due);
            foreach (Loss loss in _losses.Take(MaxLines))
            {
                (string topic, int queue) = NameOf(loss.Range.Queue);
                _logger.UnreadAboutToGo(loss.Count, topic, queue, loss.Group, loss.Range.Cause, loss.Range.To.Value);
            }
        }
    }

    /// <inheritdoc/>
    public void AfterDeletion(IReadOnlyList<DeletedRange> ranges)
    {
        lock (_lock)
        {
            TellGone(_due, _losses);
            HashSet<QueueId> told = [.. _due.Select(range => range.Queue)];
            foreach (DeletedRange range in ranges)
            {
                if (told.Contains(range.Queue) || !_reports.TryGetValue(range.Queue, out Report report))
                    continue;
                DeletedRange held = range with { From = report.Held?.From ?? range.From };
                _reports[range.Queue] = report with { Held = held };
                SetTimer(Interval);
            }
        }
    }

    /// <summary>Reports what is held back.</summary>
    public void Dispose()
    {
        TellHeld(TimeSpan.Zero);
        _timer.Dispose();
    }

    /// <summary>Reports what was held back for so long.</summary>
    private void TellHeld(TimeSpan atLeast)
    {
        lock (_lock)
        {
            _isTimerSet = false;
            long now = _time.GetTimestamp();
            List<DeletedRange> due = [];
            TimeSpan next = TimeSpan.MaxValue;
            foreach ((QueueId queue, Report report) in _reports.ToArray())
            {
                if (report.Held is not { } held)
                    continue;
                TimeSpan left = atLeast - _time.GetElapsedTime(report.At, now);
                if (left > TimeSpan.Zero)
                {
                    next = left < next ? left : next;
                    continue;
                }

                due.Add(held);
                _reports[queue] = new Report(now, null);
            }

            if (due.Count > 0)
                TellGone(due, FindLosses(due));
            if (next < TimeSpan.MaxValue)
                SetTimer(next);
        }
    }

    private void SetTimer(TimeSpan due)
    {
        if (_isTimerSet)
            return;
        _isTimerSet = true;
        _timer.Change(due, Timeout.InfiniteTimeSpan);
    }

    private void TellGone(List<DeletedRange> ranges, List<Loss> losses)
    {
        foreach (DeletedRange range in ranges.Take(MaxLines))
        {
            (string topic, int queue) = NameOf(range.Queue);
            _logger.MessagesGone(range.Count, topic, queue, range.Cause, range.To.Value);
        }

        if (ranges.Count > MaxLines)
            _logger.MoreMessagesGone(ranges.Count - MaxLines, ranges.Skip(MaxLines).Sum(range => range.Count));
        foreach (Loss loss in losses.Take(MaxLines))
        {
            (string topic, int queue) = NameOf(loss.Range.Queue);
            _logger.UnreadGone(loss.Count, topic, queue, loss.Group, loss.Range.Cause, loss.Range.To.Value);
        }

        if (losses.Count > MaxLines)
            _logger.MoreUnreadGone(losses.Count - MaxLines, losses.Skip(MaxLines).Sum(loss => loss.Count));
    }

    /// <summary>What is to be reported now, from the first message on that was not; the rest waits until the queue's
    /// last report is old enough.</summary>
    private List<DeletedRange> TakeDue(IReadOnlyList<DeletedRange> ranges)
    {
        long now = _time.GetTimestamp();
        if (_reports.Count > _catalogue.QueueCount + MaxLines)
            ForgetRemoved();
        var due = new List<DeletedRange>(ranges.Count);
        foreach (DeletedRange range in ranges)
        {
            bool isKnown = _reports.TryGetValue(range.Queue, out Report report);
            if (isKnown && _time.GetElapsedTime(report.At, now) < Interval)
                continue;
            due.Add(range with { From = report.Held?.From ?? range.From });
            _reports[range.Queue] = new Report(now, null);
        }

        return due;
    }

    private void ForgetRemoved()
    {
        foreach (QueueId queue in _reports.Keys.Where(queue => !_catalogue.TryFindByQueue(queue, out _)).ToArray())
            _reports.Remove(queue);
    }

    private List<Loss> FindLosses(List<DeletedRange> due)
    {
        var ranges = new Dictionary<QueueId, DeletedRange>();
        foreach (DeletedRange range in due)
            ranges[range.Queue] = range;
        var losses = new List<Loss>();
        foreach (Group group in _groups.Groups)
        {
            foreach (ProgressKey key in group.Progress)
            {
                if (!ranges.TryGetValue(key.Queue.Id, out DeletedRange range)
                    || group.Find(key.Instance, key.Queue) is not { } progress)
                {
                    continue;
                }

                long count = range.To.Value - Math.Max(range.From.Value, progress.Next.Value);
                if (count > 0)
                    losses.Add(new Loss(range, ProgressName.Of(group.Name, key.Instance), count));
            }
        }

        losses.Sort(static (one, other) => other.Count.CompareTo(one.Count));
        return losses;
    }

    private (string Topic, int Number) NameOf(QueueId queue) =>
        _catalogue.TryFindByQueue(queue, out Topic? topic)
            ? (topic.Name, Array.IndexOf(topic.Queues, queue))
            : ("(removed)", (int)queue.Value);

    /// <summary>When a queue was last reported, and what went since.</summary>
    private readonly record struct Report(long At, DeletedRange? Held);

    /// <summary>Messages that a group has not read.</summary>
    private readonly record struct Loss(DeletedRange Range, string Group, long Count);
}
