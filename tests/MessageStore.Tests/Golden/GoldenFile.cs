using System.Runtime.CompilerServices;

namespace EQueue.MessageStore.Tests;

/// <summary>Bytes that were written once and must stay. EQUEUE_WRITE_GOLDEN=1 writes those that are missing into the
/// sources.</summary>
internal static class GoldenFile
{
    public static string Folder => Path.Combine(AppContext.BaseDirectory, "Golden");

    public static bool IsWriting => Environment.GetEnvironmentVariable("EQUEUE_WRITE_GOLDEN") == "1";

    public static string SourceFolder([CallerFilePath] string path = "") => Path.GetDirectoryName(path)!;

    public static void Check(string name, byte[] actual)
    {
        if (IsWriting && !File.Exists(Path.Combine(SourceFolder(), name)))
            File.WriteAllBytes(Path.Combine(SourceFolder(), name), actual);

        byte[] expected = File.ReadAllBytes(Path.Combine(IsWriting ? SourceFolder() : Folder, name));
        Assert.Equal(Convert.ToHexString(expected), Convert.ToHexString(actual));
    }
}
