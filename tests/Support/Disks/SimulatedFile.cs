namespace EQueue.Support;

/// <summary>A file of the simulated disk: what processes see, what a power cut leaves at least, and what lies
/// between.</summary>
internal sealed class SimulatedFile
{
    private const int SectorSize = 512;

    private readonly List<(long Offset, byte[]? Bytes)> _pending = [];
    private Contents _current;
    private Contents _durable;

    public SimulatedFile()
        : this(Contents.Empty)
    {
    }

    private SimulatedFile(Contents contents) => _current = _durable = contents;

    public long Length => _current.Length;

    public int Read(Span<byte> buffer, long offset)
    {
        int size = (int)Math.Clamp(_current.Length - offset, 0, buffer.Length);
        _current.Bytes.AsSpan((int)Math.Min(offset, _current.Length), size).CopyTo(buffer);
        return size;
    }

    public void Write(long offset, byte[] bytes)
    {
        _current = _current.With(offset, bytes, ReferenceEquals(_current, _durable));
        _pending.Add((offset, bytes));
    }

    public void SetLength(long length)
    {
        _current = _current.Resized(length);
        _pending.Add((length, null));
    }

    /// <summary>Whether a failed sync has forgotten pages.</summary>
    public bool HasLost { get; private set; }

    public void Sync()
    {
        if (!HasLost && _pending.Count > 0)
        {
            _durable = _current;
            _current = _current.Shared();
        }
        else
        {
            // What a failed sync forgot is seen until the power goes and never reaches the disk; what came later does.
            foreach ((long offset, byte[]? bytes) in _pending)
                _durable = bytes is null ? _durable.Resized(offset) : _durable.With(offset, bytes, mustCopy: true);
        }

        _pending.Clear();
    }

    /// <summary>A sync fails: what was written stays visible but is never written back.</summary>
    public void LosePending()
    {
        HasLost = true;
        _pending.Clear();
    }

    public void FlipBit(long offset, int bit)
    {
        byte[] value = [(byte)(_current.Bytes[offset] ^ (1 << bit))];
        _current = _current.With(offset, value, mustCopy: true);
        _durable = _current;
        _pending.Clear();
    }

    /// <summary>The file as it is after the process died: all that was written.</summary>
    public SimulatedFile Killed()
    {
        _current = _current.Shared();
        return new SimulatedFile(_current.Shared());
    }

    /// <summary>The file as it may be after a power cut.</summary>
    public SimulatedFile AfterPowerCut(Random random, PowerCutStyle style)
    {
        if (_pending.Count == 0 && !HasLost)
            return Killed();

        _durable = _durable.Shared();
        Contents left = _durable;
        bool isOwn = false;
        int kept = style == PowerCutStyle.Prefix ? random.Next(_pending.Count + 1) : _pending.Count;
        for (int i = 0; i < kept; i++)
        {
            (long offset, byte[]? bytes) = _pending[i];
            if (style == PowerCutStyle.NothingUnsynced)
                break;
            if (bytes is null)
            {
                if (style != PowerCutStyle.Subset || random.Next(2) == 0)
                    (left, isOwn) = (left.Resized(offset), true);
                continue;
            }

            bool isTorn = style == PowerCutStyle.Subset || (style == PowerCutStyle.Prefix && i == kept - 1);
            foreach ((int start, int size) in isTorn ? Tear(random, offset, bytes.Length) : [(0, bytes.Length)])
            {
                left = left.With(offset + start, bytes.AsSpan(start, size), !isOwn);
                isOwn = true;
            }
        }

        return new SimulatedFile(left);
    }

    private static List<(int Start, int Size)> Tear(Random random, long offset, int length)
    {
        switch (random.Next(4))
        {
            case 0:
                return [];
            case 1:
                return [(0, length)];
            case 2:
                int end = random.Next(length + 1);
                return random.Next(2) == 0 ? [(0, end)] : [(end, length - end)];
        }

        var sectors = new List<(int, int)>();
        for (int start = 0; start < length;)
        {
            int size = Math.Min(length - start, SectorSize - (int)((offset + start) % SectorSize));
            if (random.Next(2) == 0)
                sectors.Add((start, size));
            start += size;
        }

        return sectors;
    }

    /// <summary>Bytes that are copied when they are changed while somebody else holds them.</summary>
    private sealed class Contents(byte[] bytes, int length)
    {
        public static readonly Contents Empty = new([], 0) { _isShared = true };

        private bool _isShared;

        public byte[] Bytes { get; } = bytes;

        public int Length { get; } = length;

        public Contents Shared()
        {
            _isShared = true;
            return new Contents(Bytes, Length) { _isShared = true };
        }

        public Contents With(long offset, ReadOnlySpan<byte> value, bool mustCopy)
        {
            int end = checked((int)(offset + value.Length));
            Contents target = this;
            if (mustCopy || _isShared || end > Bytes.Length)
            {
                byte[] copy =
                    new byte[end > Bytes.Length ? Math.Max(end, Math.Min(Bytes.Length * 2, 1 << 20)) : Bytes.Length];
                Bytes.AsSpan(0, Length).CopyTo(copy);
                target = new Contents(copy, Math.Max(Length, end));
            }
            else if (end > Length)
            {
                target = new Contents(Bytes, end);
            }

            value.CopyTo(target.Bytes.AsSpan((int)offset));
            return target;
        }

        public Contents Resized(long length)
        {
            byte[] copy = new byte[checked((int)length)];
            Bytes.AsSpan(0, Math.Min(Length, copy.Length)).CopyTo(copy);
            return new Contents(copy, copy.Length);
        }
    }
}
