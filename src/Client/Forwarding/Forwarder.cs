using Microsoft.Extensions.Logging;

namespace EQueue.Client;

/// <summary>Reads batches as a member of the group and sends their messages to the target, in order.</summary>
/// <remarks>
/// <para>One loop reads and sends; the target's answers settle spans; a task commits every second as far as the target
/// has everything. Nothing is sent once a message is known not to be stored.</para>
/// <para>What is under way is bounded here, well below the producer's memory: beyond that bound each message would be
/// copied to wait. See Ending for what happens at the end.</para>
/// </remarks>
internal sealed partial class Forwarder : IDisposable
{
    /// <summary>Bytes under way to the target, as the source stores them.</summary>
    private const long MaxOpenBytes = 32 << 20;

    /// <summary>What a span takes beside its messages' bytes, so that small batches are bounded too.</summary>
    private const long SpanBytes = 256;

    private static readonly TimeSpan TickInterval = TimeSpan.FromSeconds(1);

    private readonly ForwardRequest _request;
    private readonly Consumer _consumer;
    private readonly Producer _producer;
    private readonly ForwardProgress _progress;
    private readonly ForwardWindow _window;
    private readonly ILogger _logger;
    private readonly TimeProvider _time;
    private readonly CancellationTokenSource _idle;
    private readonly CancellationTokenSource _ticksEnd = new();
    private readonly RecordProperties _properties = new();
    private readonly string _topic;
    private long _left;
    private long _messagesToRead;
    private bool _hasRoute;

    public Forwarder(
        ForwardRequest request, EQueueClient source, EQueueClient target, ILoggerFactory loggers, TimeProvider time)
    {
        _request = request;
        _topic = request.To.Topic;
        _left = request.Count ?? long.MaxValue;
        _logger = loggers.CreateLogger("EQueue.Client");
        _time = time;
        _idle = new CancellationTokenSource(Timeout.InfiniteTimeSpan, time);
        _window = new ForwardWindow();
        _progress = new ForwardProgress(_window, _logger);
        _producer = target.CreateProducer(new ProducerOptions
        {
            Durability = request.Durability,
            AutoCreateTopics = false,
            InlineCompletions = true,
            BufferMemoryBytes = 4 * MaxOpenBytes,
            // The target is waited for as long as it takes: a message that were given up could be overtaken.
            DeliveryTimeout = TimeSpan.FromDays(20),
        });
        _consumer = source.CreateConsumer(request.Group, [request.From.Topic], new ConsumerOptions
        {
            StartAt = request.Start,
            StopAtEnd = !request.Follow,
            WhenDamaged = DamagedDataPolicy.Skip,
            AutoCommit = false,
            AutoCreateTopics = false,
            Revoking = _progress.ReleaseAsync,
        });
        _progress.Consumer = _consumer;
    }

    /// <summary>Messages that the target has acknowledged.</summary>
    public long Messages => _window.Messages;

    /// <summary>Bytes of their bodies.</summary>
    public long BodyBytes => _window.BodyBytes;

    /// <summary>Bytes that were sent and are not settled, as the source stores them.</summary>
    public long UnderWayBytes => _window.OpenBytes;

    /// <summary>Messages of the source that were not read yet, as of the last second.</summary>
    public long MessagesToRead => Interlocked.Read(ref _messagesToRead);

    public void Dispose()
    {
        _idle.Dispose();
        _ticksEnd.Dispose();
        _window.Dispose();
    }

    private async Task PumpAsync(CancellationToken cancellationToken)
    {
        IAsyncEnumerator<ReceivedBatch> batches =
            _consumer.ReadBatchesAsync(cancellationToken).GetAsyncEnumerator(cancellationToken);
        await using (batches.ConfigureAwait(false))
        {
            while (await MoveNextAsync(batches).ConfigureAwait(false))
            {
                if (!await SendAsync(batches.Current, cancellationToken).ConfigureAwait(false))
                    return;
            }
        }
    }

    /// <summary>Sends a batch, as the window has room.</summary>
    /// <returns>Whether more is to be sent.</returns>
    private async ValueTask<bool> SendAsync(ReceivedBatch batch, CancellationToken cancellationToken)
    {
        ForwardCursor cursor = _progress.CursorOf(batch.Queue, batch.FirstOffset.Value);
        cursor.End = Math.Max(cursor.End, batch.FirstOffset.Value);
        do
        {
            await WaitForRoomAsync(cancellationToken).ConfigureAwait(false);
            SendSpan(batch, cursor);
            if (_left == 0 || _window.Failure is not null)
                return false;
        }
        while (cursor.End < batch.NextOffset.Value);
        return true;
    }

    private async ValueTask<bool> MoveNextAsync(IAsyncEnumerator<ReceivedBatch> batches)
    {
        ValueTask<bool> next = batches.MoveNextAsync();
        if (next.IsCompleted || _request.IdleExit is not { } idle)
            return await next.ConfigureAwait(false);
        _idle.CancelAfter(idle);
        bool hasNext = await next.ConfigureAwait(false);
        _idle.CancelAfter(Timeout.InfiniteTimeSpan);
        return hasNext;
    }

    private async ValueTask WaitForRoomAsync(CancellationToken cancellationToken)
    {
        while (!HasRoom())
        {
            Task changed = _window.WhenChanged();
            if (HasRoom())
                return;
            await changed.WaitAsync(cancellationToken).ConfigureAwait(false);
        }

        cancellationToken.ThrowIfCancellationRequested();
    }

    /// <summary>The first message goes alone: until it is stored, the producer may not know the route.</summary>
    private bool HasRoom() => _window.IsEmpty
        || (_hasRoute && _window.OpenBytes < MaxOpenBytes && _producer.BufferedBytes < 2 * MaxOpenBytes);

    /// <summary>Sends what is left of a batch behind the cursor's end; of the very first one only a message.</summary>
    private void SendSpan(in ReceivedBatch batch, ForwardCursor cursor)
    {
        bool isFirst = _window.Messages == 0 && !_hasRoute;
        _hasRoute = !isFirst;
        long most = isFirst ? 1 : _left;
        var span = new ForwardSpan(_window, batch.Queue, cursor.End, batch.Bytes.Length + SpanBytes);
        cursor.Add(span);
        _window.Add(span);
        int count = 0;
        long bodyBytes = 0;
        long next = batch.NextOffset.Value;
        foreach (RecordView record in batch)
        {
            if (record.Offset.Value < cursor.End)
                continue;
            if (count == most)
            {
                next = record.Offset.Value;
                break;
            }

            if (!TrySend(record, span))
                break;
            count++;
            bodyBytes += record.Body.Length;
        }

        _left -= count;
        cursor.End = next;
        span.Close(next, count, bodyBytes);
    }

    private bool TrySend(in RecordView record, ForwardSpan span)
    {
        RecordProperties? properties = null;
        foreach (RecordProperty property in record.Properties)
        {
            if (properties is null)
            {
                properties = _properties;
                properties.Clear();
            }

            properties.Add(property);
        }

        var content = new RecordContent
        {
            Key = record.HasKey ? record.Key : default(OptionalBytes),
            Body = record.HasBody ? record.Body : default(OptionalBytes),
            Tag = record.HasTag ? record.Tag : default(OptionalBytes),
            Properties = properties,
        };
        try
        {
            _producer.Send(_topic, content, ForwardSpan.Settled, span, CancellationToken.None);
            return true;
        }
        catch (EQueueException exception)
        {
            span.Fail(exception);
            return false;
        }
    }
}
