using System.Text;

namespace EQueue.Cli.Input;

/// <summary>Passwords from files and from standard input: one line, with or without its end.</summary>
internal static class SecretText
{
    /// <summary>Longer is no password, but some other file.</summary>
    private const int MostBytes = 4096;

    private const UnixFileMode Others =
        UnixFileMode.GroupRead | UnixFileMode.GroupWrite | UnixFileMode.OtherRead | UnixFileMode.OtherWrite;

    private static readonly UTF8Encoding Strict = new(false, throwOnInvalidBytes: true);

    /// <summary>The password in a file.</summary>
    /// <exception cref="UsageException">Others may read the file, or it does not hold one line.</exception>
    public static string ReadFile(string path)
    {
        using var file = new FileStream(path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite);
        if (!OperatingSystem.IsWindows() && (File.GetUnixFileMode(file.SafeFileHandle) & Others) != UnixFileMode.None)
        {
            throw new UsageException(
                $"{path} holds a password, and other users may read or change it: take that from them first, as "
                + "chmod 600 does.");
        }

        return Read(file, path);
    }

    /// <summary>The password that a stream holds.</summary>
    /// <param name="stream">Read to its end.</param>
    /// <param name="name">What people call it.</param>
    /// <exception cref="UsageException">It does not hold one line of text.</exception>
    public static string Read(Stream stream, string name)
    {
        byte[] bytes = new byte[MostBytes + 1];
        int size = stream.ReadAtLeast(bytes, bytes.Length, throwOnEndOfStream: false);
        try
        {
            string text = size <= MostBytes
                ? Strict.GetString(bytes, 0, size)
                : throw new UsageException($"{name} holds more than {MostBytes} bytes: that is no password.");
            string line = text.EndsWith("\r\n", StringComparison.Ordinal) ? text[..^2]
                : text.EndsWith('\n') ? text[..^1] : text;
            Demand(line, name);
            return line;
        }
        catch (DecoderFallbackException)
        {
            throw new UsageException($"{name} holds a password that is no UTF-8.");
        }
        finally
        {
            Array.Clear(bytes);
        }
    }

    /// <exception cref="UsageException">It is empty, or more than a line.</exception>
    public static void Demand(string password, string name)
    {
        if (password.Length == 0)
            throw new UsageException($"{name} holds no password.");
        if (password.Any(char.IsControl))
            throw new UsageException($"{name} holds more than one line, or control characters: that is no password.");
    }
}
