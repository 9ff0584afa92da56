using System.Reflection;
using EQueue.Broker;
using EQueue.Protocol;

namespace EQueue.Client.Tests;

/// <summary>Both sides tell their whole versions, a pre-release's suffix included.</summary>
public sealed class HelloVersionTests
{
    [Fact]
    public async Task GivenAPreRelease_WhenClientAndBrokerGreet_ThenEachTellsItsWholeVersion()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        BrokerDescription hello = await broker.Client.Admin.DescribeBrokerAsync(TestContext.Current.CancellationToken);
        Assert.Equal("EQueue.Broker/" + WholeVersion(typeof(EQueueBroker)), hello.Version);
        Assert.Equal(WholeVersion(typeof(EQueueClient)), SoftwareVersion.Of(typeof(EQueueClient).Assembly));
    }

    private static string WholeVersion(Type type) => type.Assembly
        .GetCustomAttribute<AssemblyInformationalVersionAttribute>()!.InformationalVersion.Split('+')[0];
}
