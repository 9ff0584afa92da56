using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Cluster;

/// <summary>Gives other nodes the files of the log while this one leads.</summary>
internal static class FileServer
{
    /// <summary>The answer to a question for files.</summary>
    /// <param name="opcode">Which.</param>
    /// <param name="payload">The question.</param>
    /// <param name="store">The leader's store.</param>
    /// <exception cref="EQueueException">MalformedRequest; InvalidArgument: the file is gone; InternalError: it
    /// cannot be read.</exception>
    public static FrameBuffer Answer(PeerOpcode opcode, ReadOnlySpan<byte> payload, QueueStore store)
    {
        var body = FrameBuffer.Rent();
        try
        {
            if (opcode == PeerOpcode.ListFiles)
                new FileListing(store.ListFiles()).Write(new PayloadWriter(body));
            else
                ReadPart(payload, store, body);
            return body;
        }
        catch (DiskException exception)
        {
            body.Dispose();
            throw new EQueueException(ErrorCode.InternalError, exception.Message, exception);
        }
        catch
        {
            body.Dispose();
            throw;
        }
    }

    private static void ReadPart(ReadOnlySpan<byte> payload, QueueStore store, FrameBuffer body)
    {
        if (!Payload.TryRead(payload, out FilePart part))
            throw new EQueueException(ErrorCode.MalformedRequest, "This asks for no part of a file.");
        int size = store.ReadFile(part.Name, part.Offset, body.GetSpan(FilePart.MostBytes)[..FilePart.MostBytes]);
        if (size < 0)
            throw new EQueueException(ErrorCode.InvalidArgument, $"There is no file {part.Name} any more.");
        body.Advance(size);
    }
}
