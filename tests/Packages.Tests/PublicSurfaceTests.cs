using System.Reflection;
using EQueue.Support;
using PublicApiGenerator;

namespace EQueue.Packages.Tests;

/// <summary>
/// What each package shows to programs stands in a file beside its project, so that a change of it is seen in the
/// commit that makes it. EQUEUE_WRITE_REFERENCE=1 writes the files anew.
/// </summary>
public sealed class PublicSurfaceTests
{
    private static readonly ApiGeneratorOptions Options = new()
    {
        // Attributes that the compiler writes, and that no caller sees.
        ExcludeAttributes =
        [
            "System.Runtime.CompilerServices.InternalsVisibleToAttribute",
            "System.Runtime.CompilerServices.IsReadOnlyAttribute",
            "System.Runtime.CompilerServices.RefSafetyRulesAttribute",
            "System.Reflection.AssemblyMetadataAttribute",
            "System.Runtime.Versioning.TargetFrameworkAttribute",
        ],
    };

    [Theory]
    [InlineData("Broker")]
    [InlineData("Client")]
    [InlineData("MessageStore")]
    [InlineData("Protocol")]
    [InlineData("Remoting")]
    public void GivenAPackage_WhenItsPublicTypesAreListed_ThenTheyAreThoseOfItsFile(string room)
    {
        string file = Path.Combine(ProgramFiles.Root, "src", room, "PublicApi.txt");
        string listed = Assembly.Load($"EQueue.{room}").GeneratePublicApi(Options).ReplaceLineEndings("\n");
        if (Environment.GetEnvironmentVariable("EQUEUE_WRITE_REFERENCE") == "1")
            File.WriteAllText(file, listed);
        Assert.Equal(File.ReadAllLines(file), listed.TrimEnd('\n').Split('\n'));
    }
}
