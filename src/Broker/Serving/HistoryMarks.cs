using System.Buffers.Binary;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>The opening that a marked request names (docs/history.md).</summary>
internal static class HistoryMarks
{
    /// <summary>Takes the opening off the head of a marked request.</summary>
    /// <param name="opening">This one.</param>
    /// <param name="version">Of the request.</param>
    /// <param name="payload">Its body; behind the mark afterwards.</param>
    /// <returns>DivergingEpoch: its places are of another opening, or may be; MalformedRequest: it has no mark.
    /// </returns>
    public static ErrorCode Take(HistoryMark opening, byte version, ref ReadOnlyMemory<byte> payload)
    {
        if (version < OperationVersions.Marked)
            return ErrorCode.None;
        if (payload.Length < HistoryMark.Size)
            return ErrorCode.MalformedRequest;
        ReadOnlySpan<byte> head = payload.Span;
        var named = new HistoryMark(
            BinaryPrimitives.ReadInt32LittleEndian(head), BinaryPrimitives.ReadUInt32LittleEndian(head[4..]));
        payload = payload[HistoryMark.Size..];
        return named == opening ? ErrorCode.None : ErrorCode.DivergingEpoch;
    }

    /// <summary>What a request of another opening is told.</summary>
    public static string OtherOpening(HistoryMark opening) =>
        $"The log was opened anew as epoch {opening.Epoch}: check the places against its history (CheckHistory).";
}
