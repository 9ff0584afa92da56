using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>What an application sends.</summary>
/// <param name="Body">The message itself; null is not the same as empty.</param>
/// <param name="Key">Messages of one key keep their order and share a queue; null: any queue.</param>
/// <param name="Tag">A word to filter by.</param>
/// <param name="Properties">Name-value pairs; lent until the send completes.</param>
public readonly record struct Message(
    ReadOnlyMemory<byte>? Body, string? Key = null, string? Tag = null, RecordProperties? Properties = null);
