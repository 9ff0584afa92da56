using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.System.Tests.Bounds;

/// <summary>An answer as a case is held against it: the frame's error, or the first of an item.</summary>
internal static class BoundAnswers
{
    public static ErrorCode CodeOf(in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (header.Error != 0)
            return (ErrorCode)header.Error;
        return (Opcode)header.Opcode switch
        {
            Opcode.Produce => First(ResultsOf(payload)),
            Opcode.Route => First(Read<RouteResponse>(payload).Topics.Select(topic => topic.Error)),
            Opcode.FindOffsets => First(Read<FindOffsetsResponse>(payload).Answers.Select(answer => answer.Error)),
            Opcode.CommitOffsets => First(Read<CommitOffsetsResponse>(payload).Errors),
            Opcode.ResetOffsets => First(Read<ResetOffsetsResponse>(payload).Queues.Select(queue => queue.Error)),
            _ => ErrorCode.None,
        };
    }

    private static ErrorCode First(IEnumerable<ErrorCode> errors) =>
        errors.FirstOrDefault(error => error != ErrorCode.None);

    private static List<ErrorCode> ResultsOf(ReadOnlySpan<byte> payload)
    {
        Assert.True(ProduceResponse.TryReadHeader(payload, out _, out int count));
        var errors = new List<ErrorCode>(count);
        for (int i = 0; i < count; i++)
            errors.Add(ProduceResult.Read(payload[(ProduceResponse.HeaderSize + (i * ProduceResult.Size))..]).Error);
        return errors;
    }

    private static T Read<T>(ReadOnlySpan<byte> payload)
        where T : IPayload<T>
    {
        Assert.True(Payload.TryRead(payload, out T answer), $"The {payload.Length} bytes are no {typeof(T).Name}.");
        return answer;
    }
}
