using System.ComponentModel;

namespace EQueue.Server.Http;

/// <summary>When the answer is due.</summary>
internal enum DurabilityWish
{
    /// <summary>What the broker's flush policy gives.</summary>
    Policy = 0,

    /// <summary>Handed to the operating system.</summary>
    Written = 1,

    /// <summary>fdatasync returned.</summary>
    Durable = 2,
}

internal sealed record SendBody(
    [property: Description("1 to 10,000")] IReadOnlyList<OutgoingMessage> Messages,
    [property: Description("The queue of all of them; null: each key's, or the next writable one")] int? Queue = null,
    [property: Description("When the answer is due")] DurabilityWish Durability = DurabilityWish.Policy,
    [property: Description("How long they may wait for room; null: as long as the request may take")]
    int? TimeoutMs = null,
    [property: Description("Whether a topic that does not exist is made, if the broker allows it")]
    bool CreateTopic = true);

internal sealed record OutgoingMessage(
    [property: Description("The message as text; it or bodyBase64, or neither: null")] string? Body = null,
    byte[]? BodyBase64 = null,
    [property: Description("The key as text; it or keyBase64, or neither")] string? Key = null,
    byte[]? KeyBase64 = null,
    [property: Description("The filter word as text; it or tagBase64, or neither")] string? Tag = null,
    byte[]? TagBase64 = null,
    [property: Description("In order; names may repeat")] IReadOnlyList<PropertyBody>? Properties = null);

/// <summary>A name-value pair of a message.</summary>
internal sealed record PropertyBody(
    [property: Description("The name as text; it or nameBase64")] string? Name = null,
    byte[]? NameBase64 = null,
    [property: Description("The value as text; it or valueBase64, or neither: null")] string? Value = null,
    byte[]? ValueBase64 = null);

/// <summary>What became of each message, in order.</summary>
internal sealed record ReceiptsBody(
    IReadOnlyList<ReceiptBody> Receipts,
    [property: Description("Whether the topic did not exist and was made")] bool TopicCreated);

internal sealed record ReceiptBody(
    int Queue,
    [property: Description("Null with an error")] long? Offset,
    DateTime? StoredTime,
    [property: Description("The level reached")] DurabilityWish? Durability,
    [property: Description("Why it is not stored; null: it is")] ReceiptError? Error);

internal sealed record ReceiptError(string Code, string Message, bool Retriable, int? RetryAfterMs);

/// <summary>A message that was read.</summary>
internal sealed record MessageBody(
    string Topic,
    int Queue,
    long Offset,
    [property: Description("The key as text; keyBase64 has it when it is no text")] string? Key,
    byte[]? KeyBase64,
    [property: Description("The filter word as text; tagBase64 has it when it is no UTF-8")] string? Tag,
    byte[]? TagBase64,
    IReadOnlyList<PropertyBody> Properties,
    [property: Description("The message as text; bodyBase64 has it when it is no text")] string? Body,
    byte[]? BodyBase64,
    DateTime CreateTime,
    DateTime StoredTime);

/// <summary>Messages of one queue.</summary>
internal sealed record MessagePage(
    IReadOnlyList<MessageBody> Messages,
    [property: Description("Where to read on")] long NextOffset,
    [property: Description("The queue's first offset")] long Start,
    [property: Description("The offset after its last visible message")] long End,
    [property: Description("What was passed over before nextOffset because it cannot be read")]
    IReadOnlyList<UnreadableBody> Unreadable);

/// <summary>Messages that cannot be read.</summary>
internal sealed record UnreadableBody(
    int Queue,
    long From,
    [property: Description("The offset behind the last of them")] long To,
    [property: Description("Why: DamagedData, CorruptBatch, InvalidBatch, UnsupportedCodec, MessageTooLarge")]
    string Code,
    string Message);

internal sealed record LatestBody(
    [property: Description("Oldest first")] IReadOnlyList<MessageBody> Messages,
    [property: Description("What of the latest cannot be read")] IReadOnlyList<UnreadableBody> Unreadable);

/// <summary>Messages with a key.</summary>
internal sealed record KeyPage(
    int Queue,
    IReadOnlyList<MessageBody> Messages,
    [property: Description("Everything before it was looked at")] long NextOffset,
    [property: Description("Whether the end was reached")] bool IsComplete,
    [property: Description("Offsets passed over: damaged, or compressed in an unknown way")] long UnreadableCount);
