namespace EQueue.Remoting;

/// <summary>The system's table of TCP sockets. Thread-safe.</summary>
internal interface ISocketTable
{
    /// <summary>Whose the far end of a connection is; null when the table does not say, or the end has no process any
    /// more.</summary>
    uint? FindUser(ConnectionEnds ends);
}
