using System.Text;
using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>
/// Which messages a reader wants: every one, or those with one of some tags. The bits are a first sieve, the tags
/// decide.
/// </summary>
internal sealed class TagFilter
{
    private readonly byte[][] _tags;

    public TagFilter(IReadOnlyList<string> tags)
    {
        _tags = [.. tags.Select(Encoding.UTF8.GetBytes)];
        Mask = _tags.Length == 0 ? TagBits.Unknown : 0;
        foreach (byte[] tag in _tags)
            Mask |= TagBits.Of(tag);
    }

    /// <summary>What a batch's tag bits must meet; all ones when every message is wanted.</summary>
    public uint Mask { get; }

    /// <summary>Whether a batch may hold a wanted message.</summary>
    public bool MayMatch(uint tagBits) => TagBits.MayMatch(tagBits, Mask);

    /// <summary>Whether this record is wanted.</summary>
    public bool Matches(scoped in RecordView record) =>
        _tags.Length == 0 || (record.HasTag && IsWanted(record.Tag));

    /// <summary>Whether every message is wanted.</summary>
    public bool IsOpen => _tags.Length == 0;

    private bool IsWanted(ReadOnlySpan<byte> tag)
    {
        foreach (byte[] wanted in _tags)
        {
            if (tag.SequenceEqual(wanted))
                return true;
        }

        return false;
    }
}
