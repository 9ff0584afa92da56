namespace EQueue.Load;

/// <summary>The broker's flush policy during a run.</summary>
internal enum FlushMode
{
    /// <summary>Acknowledged when written, made durable every 100 ms.</summary>
    Async,

    /// <summary>Acknowledged when durable.</summary>
    Sync,
}
