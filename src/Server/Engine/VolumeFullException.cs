using EQueue.MessageStore;

namespace EQueue.Server.Engine;

/// <summary>The store cannot be opened for want of room; says what is needed and which setting helps.</summary>
internal sealed class VolumeFullException(string message, DiskException cause) : Exception(message, cause);
