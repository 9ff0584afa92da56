using EQueue.Protocol;

namespace EQueue.MessageStore.Tests;

/// <summary>One entry that the store must have in its log, as the model knows it.</summary>
internal abstract class LogEvent
{
    /// <summary>The opening of the store that staged it.</summary>
    public required int Epoch { get; init; }

    /// <summary>Its place among all entries of the log.</summary>
    public int Index { get; set; }

    public abstract EntryKind Kind { get; }

    /// <summary>Whose entry it is; 0 = state.</summary>
    public abstract uint Queue { get; }

    /// <summary>Its records.</summary>
    public abstract int Count { get; }

    public abstract void ApplyTo(ModelState state);
}

/// <summary>A batch of messages.</summary>
internal sealed class MessagesEvent : LogEvent
{
    public required QueueId QueueId { get; init; }

    public required long FirstOffset { get; init; }

    public required long StoredMs { get; init; }

    /// <summary>As it must be read: stamped.</summary>
    public required byte[] Batch { get; init; }

    public required uint TagBits { get; init; }

    public required ProducerSession Producer { get; init; }

    public required int BaseSequence { get; init; }

    public required int Records { get; init; }

    public override EntryKind Kind => EntryKind.Messages;

    public override uint Queue => QueueId.Value;

    public override int Count => Records;

    public long EndOffset => FirstOffset + Count;

    public int LastSequence => (int)(((long)BaseSequence + Count - 1) & int.MaxValue);

    public override void ApplyTo(ModelState state) => state.Store(this);
}

/// <summary>A batch of state records whose effect is known when it is sent.</summary>
internal sealed class StateEvent(int count, Action<ModelState> change) : LogEvent
{
    public override EntryKind Kind => EntryKind.State;

    public override uint Queue => 0;

    public override int Count => count;

    public override void ApplyTo(ModelState state) => change(state);
}

/// <summary>New queues, and a key of the state machine in the same batch. Their ids are the store's choice: known from
/// its answer, or from what it has after a crash.</summary>
internal sealed class QueuesOpenedEvent(TopicId topic, int count, (string Key, string Value) together) : LogEvent
{
    public TopicId Topic => topic;

    public int QueueCount => count;

    public override EntryKind Kind => EntryKind.State;

    public override uint Queue => 0;

    public override int Count => count + 1;

    /// <summary>The ids by number; null while unknown.</summary>
    public uint[]? Ids { get; set; }

    public override void ApplyTo(ModelState state)
    {
        state.SetKey(together.Key, together.Value);
        OpenQueues(state);
    }

    public void OpenQueues(ModelState state)
    {
        for (int i = 0; Ids is not null && i < count; i++)
            state.Open(new ModelQueue(Ids[i], topic, i));
    }
}
