using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>A queue that a broker has given to this member, and how far the member is in taking it or giving it
/// up.</summary>
/// <remarks>Guarded by the gate of its <see cref="MemberSession"/>.</remarks>
internal sealed class MemberQueue(string topic, AssignedQueue assigned)
{
    /// <summary>From given to given up.</summary>
    public enum Stage
    {
        /// <summary>It is being asked where to begin.</summary>
        Starting,

        /// <summary>Fetched, read and committed.</summary>
        Reading,

        /// <summary>Asked back: no longer fetched, but the application may stand at one of its messages.</summary>
        Revoked,

        /// <summary>The application is told and the last commit is made.</summary>
        Releasing,

        /// <summary>The next heartbeat says so.</summary>
        Released,
    }

    public string Topic { get; } = topic;

    public int Number { get; } = assigned.Number;

    public QueueKey Key { get; } = assigned.Queue;

    /// <summary>The generation in which it was given.</summary>
    public GroupGeneration Grant { get; private set; } = assigned.Grant;

    public Stage Place { get; set; }

    /// <summary>Removed with its topic: there is nothing to commit.</summary>
    public bool IsGone { get; set; }

    /// <summary>Null while starting.</summary>
    public QueueCursor? Cursor { get; private set; }

    /// <summary>The place to begin at is known.</summary>
    public void Begin(QueueCursor cursor)
    {
        cursor.Grant = Grant;
        Cursor = cursor;
        Place = Stage.Reading;
    }

    /// <summary>Given anew without having been anybody else's: a claim that held.</summary>
    public void Renew(GroupGeneration grant)
    {
        Grant = grant;
        if (Cursor is not null)
            Cursor.Grant = grant;
    }
}
