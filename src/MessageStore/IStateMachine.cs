namespace EQueue.MessageStore;

/// <summary>State that lives in the store's log: topics, group offsets. Rebuilt from a snapshot and the records after
/// it.</summary>
public interface IStateMachine
{
    /// <summary>Takes one change, in the order of the log: live, from a snapshot, or from the log at open.</summary>
    /// <remarks>
    /// Live calls come under the lock of the log: be quick, never call the store. After a snapshot a record may come a
    /// second time: values are absolute, so that changes nothing. Throws only when the record cannot be understood:
    /// then the store does not open.
    /// </remarks>
    void Apply(in StateRecord record);

    /// <summary>Everything that is needed to rebuild the state, for a snapshot.</summary>
    /// <remarks>Called on a thread of the store while <see cref="Apply"/> is called: what changes meanwhile may come in
    /// its old or its new form.</remarks>
    IEnumerable<StateEntry> Capture();
}
