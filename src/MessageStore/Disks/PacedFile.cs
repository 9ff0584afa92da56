namespace EQueue.MessageStore;

/// <summary>A file that is read no faster than a <see cref="ScrubPace"/> allows, so that the store's own walkers can
/// be used on it. Reads only; owns the file.</summary>
/// <param name="file">Open for reading.</param>
/// <param name="pace">Grants each read; throws out of it when it is stopped.</param>
/// <param name="letsGo">Whether the system's page cache lets go of what was read.</param>
internal sealed class PacedFile(IDiskFile file, ScrubPace pace, bool letsGo) : IDiskFile
{
    private const int PageBytes = 4096;

    public long Length => file.Length;

    public int Read(Span<byte> buffer, long fileOffset)
    {
        int done = 0;
        while (done < buffer.Length)
        {
            Span<byte> piece = buffer.Slice(done, Math.Min(ScrubPace.PieceBytes, buffer.Length - done));
            long offset = fileOffset + done;
            pace.Spend(piece.Length);
            int read = ReadPiece(piece, offset);
            if (letsGo)
            {
                // The piece before ended in the first page, so that it stayed.
                file.LetGo(offset, read);
            }
            done += read;
            if (read < piece.Length)
                break;
        }
        return done;
    }

    public (long Begin, long End) FindData(long fileOffset) => file.FindData(fileOffset);

    public void Write(ReadOnlySpan<byte> bytes, long fileOffset) => throw OnlyReads();

    public void Sync() => throw OnlyReads();

    public void Preallocate(long fileOffset, long length) => throw OnlyReads();

    public void Truncate(long length) => throw OnlyReads();

    public void Advise(long fileOffset, long length, DiskAdvice advice) => file.Advise(fileOffset, length, advice);

    public void Dispose() => file.Dispose();

    private int ReadPiece(Span<byte> piece, long offset)
    {
        try
        {
            return file.Read(piece, offset);
        }
        catch (DiskException exception) when (exception.Fault == DiskFault.Io)
        {
            return ReadPages(piece, offset);
        }
    }

    /// <summary>Pages that the device cannot read come as zeros: the checksums over them tell what is lost.</summary>
    private int ReadPages(Span<byte> piece, long offset)
    {
        int done = 0;
        while (done < piece.Length)
        {
            int left = PageBytes - (int)((offset + done) % PageBytes);
            Span<byte> page = piece.Slice(done, Math.Min(left, piece.Length - done));
            int read = page.Length;
            try
            {
                read = file.Read(page, offset + done);
            }
            catch (DiskException exception) when (exception.Fault == DiskFault.Io)
            {
                page.Clear();
            }
            done += read;
            if (read < page.Length)
                break;
        }
        return done;
    }

    private static InvalidOperationException OnlyReads() => new("A paced file is read only.");
}
