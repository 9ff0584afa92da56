using System.Buffers.Binary;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>Which numbers were sent, acknowledged and read, a bit for each; and where each queue's reading is.</summary>
internal sealed class StormLedger(int queues)
{
    private readonly Lock _gate = new();
    private readonly List<ulong> _acknowledged = [];
    private readonly List<ulong> _read = [];
    private readonly long[] _next = new long[queues];
    private readonly long[] _lastNumber = [.. Enumerable.Repeat(-1L, queues)];
    private readonly List<string> _wrong = [];
    private long _begun;
    private long _acknowledgedCount;
    private long _failedCount;
    private long _readCount;
    private long _repeatedCount;

    /// <summary>Sent, with no outcome yet.</summary>
    public long Pending
    {
        get
        {
            lock (_gate)
                return _begun - _acknowledgedCount - _failedCount;
        }
    }

    public bool HasReadAllAcknowledged
    {
        get
        {
            lock (_gate)
                return _readCount >= _acknowledgedCount;
        }
    }

    /// <summary>A body that tells its number and can be told from any other.</summary>
    public static void Fill(Span<byte> body, long number)
    {
        ulong bits = (ulong)number;
        for (int at = 0; at < body.Length; at += 8)
        {
            BinaryPrimitives.WriteUInt64LittleEndian(body[at..], bits);
            bits = (bits ^ (bits >> 29)) * 0x9E3779B97F4A7C15 + 1;
        }
    }

    /// <summary>The next number.</summary>
    public long Begin()
    {
        lock (_gate)
            return _begun++;
    }

    public void NoteAcknowledged(long number)
    {
        lock (_gate)
        {
            _acknowledgedCount++;
            if (!Set(_acknowledged, number))
                Complain($"{number} is acknowledged twice");
        }
    }

    public void NoteFailed(long number, Exception exception)
    {
        lock (_gate)
        {
            _failedCount++;
            Complain($"{number} failed: {exception.Message}");
        }
    }

    /// <summary>A message came; again is no fault as long as it is the same place.</summary>
    /// <returns>False when so much is wrong that there is no point in going on.</returns>
    public bool NoteRead(int queue, long offset, ReadOnlySpan<byte> body)
    {
        long number = BinaryPrimitives.ReadInt64LittleEndian(body);
        Span<byte> expected = stackalloc byte[body.Length];
        Fill(expected, number);
        lock (_gate)
        {
            if (!expected.SequenceEqual(body))
                Complain($"{queue}/{offset} has another body than {number}");
            if (offset < _next[queue])
            {
                _repeatedCount++;
                return _wrong.Count < 20;
            }

            if (offset > _next[queue])
                Complain($"{queue} goes on at {offset}, not at {_next[queue]}");
            if (number <= _lastNumber[queue])
                Complain($"{queue}/{offset} has {number} behind {_lastNumber[queue]}");
            _next[queue] = offset + 1;
            _lastNumber[queue] = number;
            _readCount++;
            if (!Set(_read, number))
                Complain($"{number} is stored twice, at {queue}/{offset} as well");
            return _wrong.Count < 20;
        }
    }

    public Task WhenFewerPendAsync(long count) => Eventually.TrueAsync(() => Pending <= count);

    /// <summary>Fails unless every number is acknowledged and read, and nothing was wrong on the way.</summary>
    public void Check()
    {
        lock (_gate)
        {
            Assert.Equal([], _wrong);
            Assert.Equal(0, _failedCount);
            Assert.Equal(_begun, _acknowledgedCount);
            for (int i = 0; i < _acknowledged.Count; i++)
            {
                ulong missing = _acknowledged[i] & ~(i < _read.Count ? _read[i] : 0);
                Assert.True(missing == 0, $"not read of {i * 64L} to {(i * 64L) + 63}: bits {missing:x16}");
            }

            Assert.Equal(_acknowledgedCount, _readCount);
        }
    }

    public string Describe()
    {
        lock (_gate)
        {
            return $"{_begun:N0} messages sent, {_acknowledgedCount:N0} acknowledged, {_readCount:N0} read, "
                + $"{_repeatedCount:N0} read again, {_wrong.Count} wrong";
        }
    }

    private static bool Set(List<ulong> bits, long number)
    {
        int word = (int)(number / 64);
        while (bits.Count <= word)
            bits.Add(0);
        ulong bit = 1UL << (int)(number % 64);
        bool isNew = (bits[word] & bit) == 0;
        bits[word] |= bit;
        return isNew;
    }

    private void Complain(string what)
    {
        if (_wrong.Count < 20)
            _wrong.Add(what);
    }
}
