using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace EQueue.Remoting;

/// <summary>Reads files that settings name; what is wrong with them is told with the setting and its value.</summary>
internal static class TlsFiles
{
    private const int LargestFileBytes = 4 << 20;

    /// <summary>A file's bytes.</summary>
    /// <exception cref="ArgumentException">It cannot be read, or is larger than 4 MiB.</exception>
    public static byte[] ReadBytes(string setting, string path)
    {
        try
        {
            var file = new FileInfo(path);
            if (file.Exists && file.Length > LargestFileBytes)
                throw Wrong(setting, path, $"it has {file.Length} bytes, at most {LargestFileBytes} are read", null);
            return File.ReadAllBytes(path);
        }
        catch (Exception exception) when (exception is FileNotFoundException or DirectoryNotFoundException)
        {
            throw Wrong(setting, path, "there is no such file", exception);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            throw Wrong(setting, path, $"it cannot be read: {exception.Message}", exception);
        }
    }

    /// <summary>The certificates of a PEM file, one or more.</summary>
    /// <exception cref="ArgumentException">There is none, or one cannot be read.</exception>
    public static X509Certificate2Collection ReadAuthorities(string setting, string path)
    {
        string text = System.Text.Encoding.UTF8.GetString(ReadBytes(setting, path));
        var authorities = new X509Certificate2Collection();
        try
        {
            authorities.ImportFromPem(text);
        }
        catch (CryptographicException exception)
        {
            throw Wrong(setting, path, $"it is no PEM file of certificates: {exception.Message}", exception);
        }

        return authorities.Count > 0 ? authorities : throw Wrong(setting, path, "it holds no certificate in PEM", null);
    }

    /// <summary>What is wrong with a file.</summary>
    public static ArgumentException Wrong(string setting, string path, string reason, Exception? cause) =>
        new($"{setting} is '{path}': {reason}.", setting, cause);
}
