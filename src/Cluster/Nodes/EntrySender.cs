using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Replication;

namespace EQueue.Cluster;

/// <summary>Gives a follower entries out of the leader's store: read once, into the frame that carries
/// them.</summary>
internal static class EntrySender
{
    /// <summary>Bytes of entries in one answer, unless one group is larger.</summary>
    public const int AnswerBytes = 1 << 20;

    public static void Send(QueueStore store, PeerLink link, FetchAnswer answer, LogPosition from)
    {
        if (link.Begin() is not { } frame)
            return;
        try
        {
            PeerCodec.Write(new PayloadWriter(frame), answer);
            int size = Read(store, from, frame);
            if (size < 0)
            {
                frame.Dispose();
                link.Send(answer with { Verdict = FetchVerdict.Gone });
                return;
            }

            frame.Advance(size);
        }
        catch
        {
            frame.Dispose();
            throw;
        }

        link.Send(frame);
    }

    private static int Read(QueueStore store, LogPosition from, FrameBuffer frame)
    {
        int wanted = (int)Math.Min(AnswerBytes, Math.Max(4096, store.Watermarks.Written.Value - from.Value));
        int size = store.ReadStored(from, frame.GetSpan(wanted)[..wanted], out int needed);
        while (needed > 0)
        {
            wanted = needed;
            size = store.ReadStored(from, frame.GetSpan(wanted)[..wanted], out needed);
        }

        return size;
    }
}
