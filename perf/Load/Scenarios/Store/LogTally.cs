using System.Buffers.Binary;
using System.Globalization;
using EQueue.MessageStore;
using Microsoft.Win32.SafeHandles;

namespace EQueue.Load.Scenarios;

/// <summary>
/// Counts the messages that stand in the files of a log, by the headers of its entries (docs/storage-format.md): what a
/// broker says, and what its readers got out of its memory, is not asked.
/// </summary>
internal static class LogTally
{
    private const string LogFolder = "logs/0";
    private const int FileHeaderBytes = 4096;
    private const int PositionAt = 8;
    private const int KindAt = 32;
    private const int HeaderLengthAt = 33;
    private const int RecordsCountAt = 57;

    /// <summary>Segments that are read at a time: out of a cold cache the disk is asked for many pages at
    /// once.</summary>
    private const int FilesAtATime = 8;

    /// <summary>Looks at a store that may be running; entries that are not whole do not count.</summary>
    /// <returns>Null when segments were removed or packed, so that their files do not hold all that was sent.</returns>
    public static long? Count(string directory)
    {
        string[] files = Segments(directory);
        if (files.Length == 0 || PositionOf(files[0]) != 0 || FilesOf(directory, "*.pack").Length > 0)
            return null;
        long messages = 0;
        var some = new ParallelOptions { MaxDegreeOfParallelism = FilesAtATime };
        Parallel.ForEach(files, some, file => Interlocked.Add(ref messages, new Walk(file).CountMessages()));
        return messages;
    }

    /// <summary>Cuts the last entry with messages off, to show that it is missed. Nothing is appended any
    /// more.</summary>
    public static void Shorten(string directory)
    {
        foreach (string file in Segments(directory).Reverse())
        {
            var walk = new Walk(file);
            if (walk.CountMessages() == 0)
                continue;
            using SafeFileHandle handle = File.OpenHandle(
                file, FileMode.Open, FileAccess.ReadWrite, FileShare.ReadWrite | FileShare.Delete);
            RandomAccess.SetLength(handle, walk.LastMessagesAt + 1);
            return;
        }
    }

    private static string[] Segments(string directory) =>
        [.. FilesOf(directory, "*.log").Order(StringComparer.Ordinal)];

    private static string[] FilesOf(string directory, string pattern) =>
        Directory.GetFiles(Path.Combine(directory, LogFolder), pattern);

    private static long PositionOf(string file) =>
        long.Parse(Path.GetFileNameWithoutExtension(file), NumberStyles.None, CultureInfo.InvariantCulture);

    /// <summary>Goes through one segment from header to header.</summary>
    private sealed class Walk(string file)
    {
        private readonly byte[] _page = new byte[4096];
        private long _pageAt;
        private int _pageSize;

        /// <summary>Where in the file the last entry with messages begins; read it afterwards.</summary>
        public long LastMessagesAt { get; private set; }

        public long CountMessages()
        {
            using SafeFileHandle handle = File.OpenHandle(
                file, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete, FileOptions.RandomAccess);
            long length = RandomAccess.GetLength(handle);
            long basePosition = PositionOf(file);
            long messages = 0, at = FileHeaderBytes;
            while (true)
            {
                ReadOnlySpan<byte> header = Read(handle, at, StoreReadBack.EntryHeaderBytes);
                if (header.Length < StoreReadBack.EntryHeaderBytes)
                    return messages;
                long size = BinaryPrimitives.ReadUInt32LittleEndian(header);
                long position = BinaryPrimitives.ReadInt64LittleEndian(header[PositionAt..]);
                if (size < header.Length || at + size > length || position != basePosition + at - FileHeaderBytes)
                    return messages;
                if (header[KindAt] == (byte)EntryKind.Messages)
                {
                    long batch = at + header[HeaderLengthAt];
                    messages += BinaryPrimitives.ReadInt32BigEndian(Read(handle, batch + RecordsCountAt, sizeof(int)));
                    LastMessagesAt = at;
                }

                at += size;
            }
        }

        /// <summary>So many bytes of the file, fewer at its end.</summary>
        private ReadOnlySpan<byte> Read(SafeFileHandle handle, long at, int count)
        {
            if (at < _pageAt || at + count > _pageAt + _pageSize)
            {
                _pageAt = at;
                _pageSize = RandomAccess.Read(handle, _page, at);
            }

            int start = (int)(at - _pageAt);
            return _page.AsSpan(start, Math.Min(count, _pageSize - start));
        }
    }
}
