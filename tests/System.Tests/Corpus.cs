using System.IO.Compression;
using System.Text;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>Real text: Debian's American dictionary, and a book in French (the Debian Reference).</summary>
/// <remarks>test.sh installs both. Lines are bytes; nothing is decoded.</remarks>
internal sealed record Corpus(string Path, IReadOnlyList<byte[]> Lines)
{
    public const byte KeySeparator = (byte)'\t';
    public const int DictionaryLines = 104_334;
    public const int FewestBookLines = 10_000;

    private const string DictionaryPath = "/usr/share/dict/american-english";
    private const string BookPath = "/usr/share/debian-reference/debian-reference.fr.txt.gz";

    /// <summary>The dictionary, each line with its first letter as key: <c>é TAB éclair</c>.</summary>
    public static Corpus WriteKeyedDictionary(TempDirectory directory)
    {
        byte[][] lines = [.. Split(ReadOrSkip(DictionaryPath)).Select(AddKey)];
        Assert.Equal(DictionaryLines, lines.Length);
        return Write(directory["words.txt"], lines);
    }

    public static Corpus WriteBook(TempDirectory directory)
    {
        using var packed = new GZipStream(new MemoryStream(ReadOrSkip(BookPath)), CompressionMode.Decompress);
        using var bytes = new MemoryStream();
        packed.CopyTo(bytes);
        byte[][] lines = [.. Split(bytes.ToArray())];
        Assert.InRange(lines.Length, FewestBookLines, 1_000_000);
        Assert.Contains(lines, line => line.Any(b => b > 127));
        return Write(directory["book.txt"], lines);
    }

    /// <summary>The part of a keyed line before the separator.</summary>
    public static string KeyOf(byte[] line) => Encoding.UTF8.GetString(line, 0, Array.IndexOf(line, KeySeparator));

    /// <summary>The part of a keyed line behind the separator.</summary>
    public static byte[] BodyOf(byte[] line) => line[(Array.IndexOf(line, KeySeparator) + 1)..];

    private static byte[] ReadOrSkip(string path)
    {
        if (!OperatingSystem.IsLinux())
            Assert.Skip($"{path} is part of a Debian package.");
        return File.ReadAllBytes(path);
    }

    private static Corpus Write(string path, byte[][] lines)
    {
        using FileStream file = File.Create(path);
        foreach (byte[] line in lines)
        {
            file.Write(line);
            file.WriteByte((byte)'\n');
        }

        return new Corpus(path, lines);
    }

    private static IEnumerable<byte[]> Split(byte[] text)
    {
        int start = 0;
        while (start < text.Length)
        {
            int end = Array.IndexOf(text, (byte)'\n', start);
            if (end < 0)
                end = text.Length;
            yield return text[start..end];
            start = end + 1;
        }
    }

    private static byte[] AddKey(byte[] line)
    {
        Assert.Equal(global::System.Buffers.OperationStatus.Done, Rune.DecodeFromUtf8(line, out _, out int size));
        return [.. line[..size], KeySeparator, .. line];
    }
}
