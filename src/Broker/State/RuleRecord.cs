using System.Buffers;
using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>A rule as the log's state holds it.</summary>
/// <remarks>State record of kind <see cref="Kind"/>; key = the rule as <see cref="AccessRule"/> has it on the wire;
/// value = one byte, the version of this layout: 0. The rule is its own key: absolute, and there once.</remarks>
internal static class RuleRecord
{
    public const byte Kind = 71;

    private static readonly byte[] Version = [0];

    public static StateEntry ToEntry(AccessRule rule) => new(Kind, KeyOf(rule), Version);

    public static StateEntry Removal(AccessRule rule) => StateEntry.Removal(Kind, KeyOf(rule));

    /// <exception cref="InvalidDataException">The key is not one that this version wrote.</exception>
    public static AccessRule ReadKey(in StateRecord record)
    {
        var reader = new PayloadReader(record.Key);
        var rule = AccessRule.Read(ref reader);
        return reader.IsComplete
            ? rule
            : throw new InvalidDataException($"A rule record has a key of {record.Key.Length} bytes that is no rule.");
    }

    /// <exception cref="InvalidDataException">The record is not one that this version wrote.</exception>
    public static AccessRule Read(in StateRecord record) =>
        record.Value.SequenceEqual(Version)
            ? ReadKey(record)
            : throw new InvalidDataException("A rule record has a version that this build does not read.");

    private static ReadOnlyMemory<byte> KeyOf(AccessRule rule)
    {
        var key = new ArrayBufferWriter<byte>(128);
        rule.Write(new PayloadWriter(key));
        return key.WrittenMemory;
    }
}
