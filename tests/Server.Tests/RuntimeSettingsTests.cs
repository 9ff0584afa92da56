using System.Text.Json;

namespace EQueue.Server.Tests;

/// <summary>What the program asks of the runtime, so that compiling takes no core from messages.</summary>
public sealed class RuntimeSettingsTests
{
    [Fact]
    public async Task GivenTheBuiltServer_WhenItsRuntimeSettingsAreRead_ThenItIsCompiledOnce()
    {
        string path = Path.Combine(AppContext.BaseDirectory, "EQueue.Server.runtimeconfig.json");
        await using FileStream file = File.OpenRead(path);
        using JsonDocument settings =
            await JsonDocument.ParseAsync(file, cancellationToken: TestContext.Current.CancellationToken);
        JsonElement properties = settings.RootElement.GetProperty("runtimeOptions").GetProperty("configProperties");
        Assert.False(properties.GetProperty("System.Runtime.TieredCompilation").GetBoolean());
    }
}
