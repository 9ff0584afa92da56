using System.Net;
using System.Text;
using System.Text.Json;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>The admin port of a real server, beside real clients.</summary>
public sealed class AdminApiTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenMessagesSentOverHttp_WhenTheServerIsKilledAndStartedAgain_ThenClientsReadThem()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"], "--admin", "127.0.0.1:0");
        using var http = new HttpClient { BaseAddress = new Uri($"http://{server.Admin}") };
        const string Body =
            """{"messages":[{"body":"one coffee","key":"customer-7","tag":"paid","properties":[{"name":"till","value":"3"}]}]}""";
        using HttpResponseMessage sent = await http.PostAsync(
            "/api/v1/topics/orders/messages", new StringContent(Body, Encoding.UTF8, "application/json"), Token);
        Assert.Equal(HttpStatusCode.OK, sent.StatusCode);
        await server.KillAsync();
        await server.RestartAsync();
        ProgramResult read = await ProgramRun.RunAsync(
            "Cli", "consume", "orders", "--group", "g", "--server", server.Address, "--json");
        Assert.True(read.ExitCode == 0, read.Error);
        using var message = JsonDocument.Parse(read.OutputText);
        Assert.Equal("customer-7", message.RootElement.GetProperty("key").GetString());
        Assert.Equal("paid", message.RootElement.GetProperty("tag").GetString());
        Assert.Equal("3", message.RootElement.GetProperty("properties").GetProperty("till").GetString());
        Assert.Equal("one coffee"u8, message.RootElement.GetProperty("body").GetBytesFromBase64());
    }

    [Fact]
    public async Task GivenMessagesSentByAClient_WhenReadOverHttp_ThenNothingOfThemDiffers()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"], "--admin", "127.0.0.1:0");
        using var http = new HttpClient { BaseAddress = new Uri($"http://{server.Admin}") };
        await using var client = new EQueueClient(server.Address);
        await using Producer producer = client.CreateProducer();
        SendReceipt[] receipts = await Task.WhenAll(Enumerable.Range(0, 500).Select(
            i => producer.SendAsync("orders", Encoding.UTF8.GetBytes($"body {i}"), key: $"key-{i}").AsTask()));
        for (int i = 0; i < receipts.Length; i += 50)
        {
            using var message = JsonDocument.Parse(await http.GetStringAsync(
                $"/api/v1/topics/orders/queues/{receipts[i].Queue}/messages/{receipts[i].Offset.Value}", Token));
            Assert.Equal($"body {i}", message.RootElement.GetProperty("body").GetString());
            using var found = JsonDocument.Parse(await http.GetStringAsync(
                $"/api/v1/topics/orders/messages/by-key?key=key-{i}", Token));
            JsonElement one = Assert.Single(found.RootElement.GetProperty("messages").EnumerateArray());
            Assert.Equal(receipts[i].Offset.Value, one.GetProperty("offset").GetInt64());
        }
    }

    [Theory]
    [InlineData("--listen", "0.0.0.0:0")]
    [InlineData("--admin", "0.0.0.0:0")]
    public async Task GivenAnAddressBeyondThisMachine_WhenTheServerStarts_ThenItEndsWithTwoUnlessThatIsSaid(
        string flag, string address)
    {
        using var directory = new TempDirectory();
        string[] other = flag == "--listen" ? ["--admin", "none"] : ["--listen", "127.0.0.1:0"];
        ProgramResult refused = await ProgramRun.RunAsync(
            "Server", ["--data", directory["data"], flag, address, .. other]);
        Assert.Equal(2, refused.ExitCode);
        Assert.Contains(address, refused.Error, StringComparison.Ordinal);
        Assert.False(Directory.Exists(directory["data"]));
        await using ServerProcess server = await ServerProcess.StartAsync(
            directory["data"], flag, address, "--Server:AllowUnauthenticatedRemoteAccess", "true");
        Assert.Equal(0, await server.StopAsync());
    }
}
