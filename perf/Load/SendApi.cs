namespace EQueue.Load;

/// <summary>The form of sending that producers use.</summary>
internal enum SendApi
{
    /// <summary>One SendAsync per message; receipts are awaited in order.</summary>
    Message,

    /// <summary>SendBatchAsync with many messages per call.</summary>
    Batch,

    /// <summary>SendAsync from a span that the caller reuses at once.</summary>
    Span,

    /// <summary>SendOneway: no receipt.</summary>
    Oneway,

    /// <summary>Send: blocks until the receipt is there.</summary>
    Sync,

    /// <summary>Send with a callback in place of an awaitable.</summary>
    Callback,
}
