using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Keeps the note of a replica that follows, and knows when it is due.</summary>
internal sealed class ReplicaNotes(ReplicaNoteFile file, TimeProvider time)
{
    private long _notedAt = time.GetTimestamp();

    /// <summary>What was written last.</summary>
    public ReplicaNote Note => file.Note;

    /// <summary>Whether the note knows of all segments that were sealed.</summary>
    public bool IsSealNoted { get; set; } = true;

    /// <summary>Whether it is time to note that more is durable.</summary>
    public bool IsDue(LogPosition durable) =>
        durable > Note.Durable && time.GetElapsedTime(_notedAt) >= ReplicaFilesOptions.NoteInterval;

    /// <summary>Writes a note durably.</summary>
    public void Write(ReplicaNote note)
    {
        file.Write(note);
        _notedAt = time.GetTimestamp();
        IsSealNoted = true;
    }
}
