using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Cluster;

/// <summary>The answer to <see cref="PeerOpcode.ListFiles"/>: <see cref="LeaderFiles"/> on the wire.</summary>
internal sealed record FileListing(LeaderFiles Files) : IPayload<FileListing>
{
    public static FileListing Read(ref PayloadReader reader)
    {
        var begin = new LogPosition(reader.ReadInt64());
        var settled = new LogPosition(reader.ReadInt64());
        var files = new (string Name, long Length)[reader.ReadCount(12)];
        for (int i = 0; i < files.Length; i++)
            files[i] = (reader.ReadString(), reader.ReadInt64());
        return new FileListing(new LeaderFiles(begin, settled, files));
    }

    public void Write(PayloadWriter writer)
    {
        writer.WriteInt64(Files.Begin.Value);
        writer.WriteInt64(Files.Settled.Value);
        writer.WriteCount(Files.Files.Count);
        foreach ((string name, long length) in Files.Files)
        {
            writer.WriteString(name);
            writer.WriteInt64(length);
        }
    }
}

/// <summary>Asks for a part of a file; the answer is its bytes, none at the end.</summary>
/// <param name="Name">As the listing calls it.</param>
/// <param name="Offset">From where.</param>
internal sealed record FilePart(string Name, long Offset) : IPayload<FilePart>
{
    /// <summary>Bytes of one answer.</summary>
    public const int MostBytes = 1 << 20;

    public static FilePart Read(ref PayloadReader reader) => new(reader.ReadString(), reader.ReadInt64());

    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Name);
        writer.WriteInt64(Offset);
    }
}
