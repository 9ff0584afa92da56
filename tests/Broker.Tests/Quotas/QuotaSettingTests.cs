using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests.Quotas;

public sealed class QuotaSettingTests : QuotaTest
{
    [Fact]
    public async Task GivenQuotas_WhenSetReplacedAndRemoved_ThenTheListTellsAndARestartKeepsThem()
    {
        await SetAsync(QuotaKind.Topic, "orders", produce: 7);
        await SetAsync(QuotaKind.Client, "*", requests: 1_000_000);
        await SetAsync(QuotaKind.Client, "b/17", produce: 1, fetch: 2, requests: 3);
        await SetAsync(QuotaKind.Client, "b/17", fetch: 5);
        await SetAsync(QuotaKind.Client, "gone", fetch: 5);
        await SetAsync(QuotaKind.Client, "gone");
        await SetAsync(QuotaKind.Client, "never was");
        Quota[] expected =
        [
            new(QuotaKind.Client, "*", 0, 0, 1_000_000), new(QuotaKind.Client, "b/17", 0, 5, 0),
            new(QuotaKind.Topic, "orders", 7, 0, 0),
        ];
        Assert.Equal(expected, (await Admin.InvokeAsync(new ListQuotasRequest())).Quotas);
        Broker = await Broker.RestartAsync();
        TestPeer again = await ConnectAsync("admin");
        Assert.Equal(expected, (await again.InvokeAsync(new ListQuotasRequest())).Quotas);
    }

    [Theory]
    [InlineData(QuotaKind.Client, "", 1, 1, 1)]
    [InlineData(QuotaKind.Topic, "a/b", 1, 1, 1)]
    [InlineData(QuotaKind.Topic, "orders", -1, 1, 1)]
    [InlineData(QuotaKind.Topic, "orders", 1, -1, 1)]
    [InlineData(QuotaKind.Topic, "orders", 1, 1, -1)]
    [InlineData((QuotaKind)3, "orders", 1, 1, 1)]
    public async Task GivenWhatCanBeNoQuota_WhenSet_ThenItIsRefused(
        QuotaKind kind, string name, long produce, long fetch, long requests)
    {
        var quota = new Quota(kind, name, produce, fetch, requests);
        Assert.Equal(
            ErrorCode.InvalidArgument, (await Admin.RefusalAsync(new SetQuotaRequest(quota))).Code);
        Assert.Empty((await Admin.InvokeAsync(new ListQuotasRequest())).Quotas);
    }

    [Fact]
    [EffectOf("Limits:MaxQuotas")]
    public async Task GivenAsManyAsThereMayBe_WhenAnotherIsSet_ThenItIsRefusedAndAKnownOneIsNot()
    {
        for (int i = 0; i < 5; i++)
            await SetAsync(QuotaKind.Client, $"c{i}", produce: 1);
        EQueueException refusal = await Admin.RefusalAsync(
            new SetQuotaRequest(new Quota(QuotaKind.Client, "one more", 1, 0, 0)));
        Assert.Equal(ErrorCode.LimitReached, refusal.Code);
        await SetAsync(QuotaKind.Client, "c1", produce: 2);
        await SetAsync(QuotaKind.Client, "c1");
        await SetAsync(QuotaKind.Client, "one more", produce: 1);
    }
}
