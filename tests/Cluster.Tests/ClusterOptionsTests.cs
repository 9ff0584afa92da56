namespace EQueue.Cluster.Tests;

public sealed class ClusterOptionsTests
{
    private static readonly ClusterOptions Good = new()
    {
        Node = "broker-a.1",
        Etcd = [new Uri("http://127.0.0.1:2379"), new Uri("https://etcd.example:2379/")],
    };

    public static TheoryData<string, string> Wrong => new()
    {
        { nameof(ClusterOptions.Node), "" },
        { nameof(ClusterOptions.Node), "a/b" },
        { nameof(ClusterOptions.Node), new string('a', 64) },
        { nameof(ClusterOptions.Name), "über" },
        { nameof(ClusterOptions.Etcd), "" },
        { nameof(ClusterOptions.Etcd), "ftp://127.0.0.1" },
        { nameof(ClusterOptions.Etcd), "http://127.0.0.1:2379/v3" },
        { nameof(ClusterOptions.EtcdUser), "root" },
    };

    [Fact]
    public void GivenRightOptions_WhenTheyAreChecked_ThenTheyAreTaken() => Good.Validate();

    [Theory]
    [MemberData(nameof(Wrong))]
    public void GivenOneWrongOption_WhenTheyAreChecked_ThenItIsNamed(string option, string value)
    {
        ClusterOptions options = option switch
        {
            nameof(ClusterOptions.Node) => Good with { Node = value },
            nameof(ClusterOptions.Name) => Good with { Name = value },
            nameof(ClusterOptions.Etcd) => Good with { Etcd = value.Length == 0 ? [] : [new Uri(value)] },
            _ => Good with { EtcdUser = value },
        };

        ArgumentException refusal = Assert.Throws<ArgumentException>(options.Validate);

        Assert.Equal(option, refusal.ParamName);
    }
}
