using System.Diagnostics;
using Microsoft.Extensions.Logging;

namespace EQueue.Client;

/// <summary>What listeners are told of one batch: the contexts of its messages, and its span.</summary>
/// <remarks>Owned by the batch, used again with it.</remarks>
internal sealed class BatchTrace
{
    /// <summary>The different contexts of its messages.</summary>
    private List<ActivityContext>? _contexts;

    /// <summary>From its first sending on; null when no listener wants it.</summary>
    private Activity? _span;

    /// <summary>For the next batch.</summary>
    public void Clear()
    {
        _contexts?.Clear();
        _span = null;
    }

    /// <summary>A message with a context is in the batch.</summary>
    public void Add(in ActivityContext context) => ClientTrace.Add(ref _contexts, context);

    /// <summary>The batch leaves: its first sending begins its span, the others count.</summary>
    public void ObserveLeaving(SendBatch batch, ILogger logger, ServerAddress server)
    {
        if (batch.Attempts > 1)
        {
            ClientMeter.CountRetry(logger, batch.Owner.TopicName, server, batch.LastError);
        }
        else
        {
            _span ??= ClientTrace.StartSend(
                logger, batch.Owner.TopicName, batch.Owner.Number, batch.RecordCount, _contexts, server);
        }
    }

    /// <summary>The batch is settled.</summary>
    public void ObserveSettled(SendBatch batch, ILogger logger, ServerAddress server, EQueueException? failure)
    {
        ClientMeter.CountSent(logger, batch.RecordCount, batch.Owner.TopicName, server, failure);
        if (_span is { } span)
            ClientTrace.EndSend(logger, span, batch.Attempts, failure);
    }
}
