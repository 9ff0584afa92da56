namespace EQueue.Cli.Input;

/// <summary>
/// Cuts a stream of bytes into lines at line feeds. Nothing is decoded: a line is the bytes as they stand.
/// </summary>
/// <remarks>A last line without a line feed is a line; an empty one behind the last line feed is not.</remarks>
internal sealed class LineReader(Stream stream, int maxLineBytes)
{
    /// <summary>Longer than any message may be.</summary>
    public const int MaxMessageLineBytes = 256 << 20;

    private byte[] _buffer = new byte[256 << 10];
    private int _start;
    private int _end;
    private int _searched;
    private bool _hasEnded;

    /// <summary>Lines read so far: the number of the current one, from 1.</summary>
    public long LineNumber { get; private set; }

    /// <summary>The line that <see cref="ReadAsync"/> found; valid until the next call.</summary>
    public ReadOnlyMemory<byte> Current { get; private set; }

    /// <summary>What <c>--lines</c> names: a file, standard input with -, or nothing.</summary>
    public static Stream? Open(string? path, Stream input) => path switch
    {
        null => null,
        "-" => input,
        _ => new FileStream(path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite, 1, FileOptions.Asynchronous),
    };

    /// <summary>Goes to the next line; false at the end.</summary>
    /// <exception cref="UsageException">The line is longer than any message may be.</exception>
    public async ValueTask<bool> ReadAsync(CancellationToken cancellationToken)
    {
        while (true)
        {
            int found = _buffer.AsSpan(_searched, _end - _searched).IndexOf((byte)'\n');
            if (found >= 0)
                return Take(_searched + found, skip: 1);
            _searched = _end;
            if (_hasEnded)
                return _end > _start && Take(_end, skip: 0);
            MakeRoom();
            // A pipe or a terminal may block in the system, where no token reaches.
            int size = await stream.ReadAsync(_buffer.AsMemory(_end), cancellationToken)
                .AsTask().WaitAsync(cancellationToken);
            _end += size;
            _hasEnded = size == 0;
        }
    }

    private bool Take(int end, int skip)
    {
        LineNumber++;
        if (end - _start > maxLineBytes)
            ThrowTooLong();
        Current = _buffer.AsMemory(_start, end - _start);
        _start = _searched = end + skip;
        return true;
    }

    private void MakeRoom()
    {
        if (_end - _start > maxLineBytes)
        {
            LineNumber++;
            ThrowTooLong();
        }

        if (_start > 0)
        {
            _buffer.AsSpan(_start, _end - _start).CopyTo(_buffer);
            _end -= _start;
            _searched -= _start;
            _start = 0;
        }

        if (_end == _buffer.Length)
            Array.Resize(ref _buffer, _buffer.Length * 2);
    }

    private void ThrowTooLong()
        => throw new UsageException($"Line {LineNumber} is longer than {maxLineBytes} bytes, which no broker takes.");
}
