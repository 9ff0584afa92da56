namespace EQueue.Remoting;

/// <content>What is left to do for a thread that queues a frame.</content>
internal sealed partial class FrameSender
{
    /// <summary>What became of a frame.</summary>
    internal enum Queued
    {
        /// <summary>Dropped: the sender is closed.</summary>
        Refused,

        /// <summary>It leaves with others.</summary>
        Accepted,

        /// <summary>This thread is to send it.</summary>
        ToSend,

        /// <summary>The pool is to send it.</summary>
        ToSchedule,

        /// <summary>This thread is to send a piece in the attendant's place.</summary>
        ToRelieve,
    }

    private enum DrainState
    {
        None,

        /// <summary>The thread pool is to begin it.</summary>
        Scheduled,
        Running,
    }
}
