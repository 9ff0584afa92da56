namespace EQueue.Client;

/// <summary>How safe a batch is. On the wire: one byte.</summary>
public enum Durability : byte
{
    /// <summary>Asks for what the store's flush policy gives; never the answer.</summary>
    Policy = 0,

    /// <summary>Handed to the operating system: survives the death of the process, not of the machine.</summary>
    Written = 1,

    /// <summary>fdatasync returned: survives a power cut.</summary>
    Durable = 2,
}
