namespace EQueue.Cli.Sending;

/// <summary>What <c>send</c> was asked for.</summary>
internal sealed record SendRequest
{
    public required string Topic { get; init; }

    /// <summary>The key of every message; <see langword="null"/> for none.</summary>
    public byte[]? Key { get; init; }

    /// <summary>What parts a line's key from its body; <see langword="null"/> when lines have no key.</summary>
    public byte[]? KeySeparator { get; init; }

    public byte[]? Tag { get; init; }

    public RecordProperties? Properties { get; init; }

    /// <summary>Whether lines are messages as JSON, with keys, tags and properties of their own.</summary>
    public bool IsJson { get; init; }

    /// <summary>How batches are compressed.</summary>
    public RecordCodec Compression { get; init; }

    /// <summary>Messages per second; 0 for as fast as it goes.</summary>
    public int Rate { get; init; }
}
