using EQueue.Protocol;
using EQueue.Replication;

namespace EQueue.Cluster;

/// <summary>The bytes of <see cref="PeerMessage"/>: a kind, its fields, and behind the answer to a fetch the entries
/// as the store keeps them.</summary>
internal static class PeerCodec
{
    /// <summary>Former lives in a report: as many as a directory keeps.</summary>
    private const int MostLives = ReplicaRecord.MostFormer + 1;

    private enum Kind : byte
    {
        Fetch = 1,
        FetchAnswer = 2,
        Ack = 3,
        StateQuestion = 4,
        StateReport = 5,
        EpochNotice = 6,
        Farewell = 7,
    }

    /// <summary>Writes a message; the entries of a fetch's answer are to follow.</summary>
    public static void Write(PayloadWriter writer, PeerMessage message)
    {
        switch (message)
        {
            case Fetch fetch:
                writer.WriteByte((byte)Kind.Fetch);
                Write(writer, fetch.From);
                writer.WriteInt64(fetch.Session);
                writer.WriteInt32(fetch.Epoch);
                Write(writer, fetch.Tail);
                writer.WriteInt64(fetch.Position.Value);
                writer.WriteInt64(fetch.Durable.Value);
                writer.WriteBool(fetch.IsFull);
                break;
            case FetchAnswer answer:
                writer.WriteByte((byte)Kind.FetchAnswer);
                writer.WriteInt64(answer.Session);
                writer.WriteInt32(answer.Epoch);
                writer.WriteByte((byte)answer.Verdict);
                writer.WriteInt64(answer.Committed.Value);
                writer.WriteInt32(answer.DivergingEpoch);
                writer.WriteInt64(answer.DivergingEnd.Value);
                break;
            case Ack ack:
                writer.WriteByte((byte)Kind.Ack);
                Write(writer, ack.From);
                writer.WriteInt64(ack.Session);
                writer.WriteInt32(ack.Epoch);
                writer.WriteInt64(ack.Position.Value);
                writer.WriteInt64(ack.Durable.Value);
                break;
            case StateQuestion question:
                writer.WriteByte((byte)Kind.StateQuestion);
                Write(writer, question.From);
                writer.WriteInt64(question.Round);
                break;
            case StateReport report:
                writer.WriteByte((byte)Kind.StateReport);
                Write(writer, report.From);
                writer.WriteInt64(report.Round);
                writer.WriteInt32(report.Epoch);
                Write(writer, report.Tail);
                writer.WriteCount(report.Former.Count);
                foreach (Life life in report.Former)
                    Write(writer, life);
                writer.WriteInt64(report.Committed.Value);
                writer.WriteBool(report.HearsLeader);
                break;
            case EpochNotice notice:
                writer.WriteByte((byte)Kind.EpochNotice);
                writer.WriteInt32(notice.Epoch);
                break;
            case Farewell farewell:
                writer.WriteByte((byte)Kind.Farewell);
                Write(writer, farewell.From);
                break;
            default:
                throw new ArgumentException($"{message.GetType().Name} has no bytes.", nameof(message));
        }
    }

    /// <summary>Reads a message.</summary>
    /// <param name="payload">Lent; entries are copied out of it.</param>
    /// <returns>Null when the bytes are none.</returns>
    public static PeerMessage? Read(ReadOnlySpan<byte> payload)
    {
        var reader = new PayloadReader(payload);
        PeerMessage? message = (Kind)reader.ReadByte() switch
        {
            Kind.Fetch => new Fetch(
                ReadSeat(ref reader),
                reader.ReadInt64(),
                reader.ReadInt32(),
                ReadTail(ref reader),
                ReadPosition(ref reader),
                ReadPosition(ref reader),
                reader.ReadBool()),
            Kind.FetchAnswer => ReadAnswer(ref reader),
            Kind.Ack => new Ack(
                ReadSeat(ref reader),
                reader.ReadInt64(),
                reader.ReadInt32(),
                ReadPosition(ref reader),
                ReadPosition(ref reader)),
            Kind.StateQuestion => new StateQuestion(ReadSeat(ref reader), reader.ReadInt64()),
            Kind.StateReport => new StateReport(
                ReadSeat(ref reader),
                reader.ReadInt64(),
                reader.ReadInt32(),
                ReadTail(ref reader),
                ReadLives(ref reader),
                ReadPosition(ref reader),
                reader.ReadBool()),
            Kind.EpochNotice => new EpochNotice(reader.ReadInt32()),
            Kind.Farewell => new Farewell(ReadSeat(ref reader)),
            _ => null,
        };
        return reader.IsComplete ? message : null;
    }

    private static FetchAnswer ReadAnswer(ref PayloadReader reader)
    {
        var answer = new FetchAnswer(
            reader.ReadInt64(),
            reader.ReadInt32(),
            (FetchVerdict)reader.ReadByte(),
            ReadPosition(ref reader),
            reader.ReadInt32(),
            ReadPosition(ref reader));
        if (answer.Verdict > FetchVerdict.Gone)
            reader.Fail();
        int size = reader.Remaining;
        if (reader.Failed || size == 0)
            return answer;
        if (answer.Verdict != FetchVerdict.Matched)
            reader.Fail();
        return answer with { Entries = EntryBlock.Copy(reader.ReadRaw((uint)size)) };
    }

    private static void Write(PayloadWriter writer, Seat seat)
    {
        writer.WriteString(seat.Node);
        Write(writer, seat.Life);
    }

    private static void Write(PayloadWriter writer, Life life)
    {
        writer.WriteUInt64((ulong)(life.Value >> 64));
        writer.WriteUInt64((ulong)life.Value);
    }

    private static void Write(PayloadWriter writer, in LogTail tail)
    {
        writer.WriteInt64(tail.End.Value);
        writer.WriteInt32(tail.Epoch);
        writer.WriteInt64(tail.Position.Value);
        writer.WriteUInt32(tail.Crc);
    }

    private static Seat ReadSeat(ref PayloadReader reader) => new(reader.ReadString(), ReadLife(ref reader));

    private static Life ReadLife(ref PayloadReader reader) =>
        new(new UInt128(reader.ReadUInt64(), reader.ReadUInt64()));

    private static Life[] ReadLives(ref PayloadReader reader)
    {
        int count = reader.ReadCount(16);
        if (count > MostLives)
        {
            reader.Fail();
            return [];
        }

        var lives = new Life[count];
        for (int i = 0; i < count; i++)
            lives[i] = ReadLife(ref reader);
        return lives;
    }

    private static LogTail ReadTail(ref PayloadReader reader) =>
        new(ReadPosition(ref reader), reader.ReadInt32(), ReadPosition(ref reader), reader.ReadUInt32());

    private static LogPosition ReadPosition(ref PayloadReader reader)
    {
        long value = reader.ReadInt64();
        if (value < 0)
            reader.Fail();
        return new LogPosition(Math.Max(0, value));
    }
}
