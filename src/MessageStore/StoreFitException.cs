namespace EQueue.MessageStore;

/// <summary>A store cannot work on its volume as it is set: the volume is too small for a setting.</summary>
/// <remarks>The volume's size counts, not the room that is left: files of others may go.</remarks>
public sealed class StoreFitException : ArgumentException
{
    /// <summary>Makes the exception.</summary>
    /// <param name="setting">The setting of <see cref="StoreOptions"/> to be changed.</param>
    /// <param name="message">What does not fit, and what would.</param>
    public StoreFitException(string setting, string message)
        : base(message, setting)
    {
    }
}
