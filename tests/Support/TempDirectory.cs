namespace EQueue.Support;

/// <summary>A directory of a test's own, removed with what is in it when the test ends.</summary>
public sealed class TempDirectory : IDisposable
{
    public string FullPath { get; } = Directory.CreateTempSubdirectory("equeue-test-").FullName;

    /// <summary>The path of something in it.</summary>
    public string this[string name] => Path.Combine(FullPath, name);

    public void Dispose()
    {
        try
        {
            Directory.Delete(FullPath, recursive: true);
        }
        catch (DirectoryNotFoundException)
        {
            // The test removed it itself.
        }
    }
}
