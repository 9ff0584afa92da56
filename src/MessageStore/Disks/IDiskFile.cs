namespace EQueue.MessageStore;

/// <summary>An open file of an <see cref="IDisk"/>. Offsets and lengths are bytes.</summary>
/// <remarks>Thread-safe, but for <see cref="IDisposable.Dispose"/>, which must come last.</remarks>
public interface IDiskFile : IDisposable
{
    /// <summary>The file's length.</summary>
    long Length { get; }

    /// <summary>Writes all of <paramref name="bytes"/> at <paramref name="fileOffset"/>; after an error any part may
    /// be written.</summary>
    void Write(ReadOnlySpan<byte> bytes, long fileOffset);

    /// <summary>Fills <paramref name="buffer"/> from <paramref name="fileOffset"/>.</summary>
    /// <returns>Bytes read: fewer than asked for only at the end of the file.</returns>
    int Read(Span<byte> buffer, long fileOffset);

    /// <summary>Finds the first range at or after <paramref name="fileOffset"/> that may hold other bytes than zero:
    /// room that was reserved and never written is passed over, where the system tells. What the page cache has counts
    /// as written, so ask for all ranges before you read one.</summary>
    /// <returns>An empty range at the file's length when there is none; all that follows when nothing is
    /// known.</returns>
    (long Begin, long End) FindData(long fileOffset) => (fileOffset, Math.Max(fileOffset, Length));

    /// <summary>Returns when everything written so far survives a power cut. After an error nothing is known: never
    /// try again.</summary>
    void Sync();

    /// <summary>Makes the file at least <paramref name="fileOffset"/> + <paramref name="length"/> long and reserves
    /// room for it where the file system can; bytes never written read as zero.</summary>
    void Preallocate(long fileOffset, long length);

    /// <summary>Cuts (or extends with zeros) the file to <paramref name="length"/>.</summary>
    void Truncate(long length);

    /// <summary>Tells the system what will be read soon or never again. A hint: it never fails.</summary>
    void Advise(long fileOffset, long length, DiskAdvice advice);

    /// <summary>Whether the file has no name any more, as far as the system tells.</summary>
    bool IsUnlinked => false;
}
