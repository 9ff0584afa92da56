using EQueue.Broker;
using EQueue.MessageStore;
using EQueue.Remoting;
using EQueue.Support;

namespace EQueue.Cli.Tests;

/// <summary>The flags of TLS, against a broker that asks for certificates.</summary>
public sealed class TlsCommandTests : IAsyncLifetime
{
    private readonly TempDirectory _directory = new();
    private EQueueBroker _broker = null!;

    public async ValueTask InitializeAsync()
    {
        using var authority = TestAuthority.Create();
        using TestCertificate server = authority.Sign();
        using TestCertificate client = authority.Sign("client");
        Write("ca.pem", authority.Pem);
        Write("server.pem", server.Pem);
        Write("client.pem", client.CertificatePem);
        Write("client.key", client.KeyPem);
        _broker = await EQueueBroker.StartAsync(new BrokerOptions
        {
            Listen = "127.0.0.1:0",
            Store = new StoreOptions { DataDirectory = _directory["data"], Disk = new MemoryDisk(256 << 20) },
            Tls = new ServerTlsOptions
            {
                Certificate = _directory["server.pem"],
                ClientCertificates = ClientCertificates.Require,
                ClientAuthority = _directory["ca.pem"],
            },
        });
    }

    [Fact]
    public async Task GivenAllFiles_WhenACommandRuns_ThenItIsServed()
    {
        string[] tls =
            ["--tls-ca", _directory["ca.pem"], "--tls-cert", _directory["client.pem"], "--tls-key", _directory["client.key"]];
        CliRun sent = await RunAsync([.. tls, "send", "t", "over TLS"]);
        Assert.True(sent.ExitCode == ExitCode.Done, sent.Error);
        CliRun read = await RunAsync(["consume", "t", "--group", "g", "--tls", .. tls]);
        Assert.Equal("over TLS\n", read.OutputText);
    }

    [Fact]
    public async Task GivenAContextWithTheFiles_WhenACommandNamesNoServer_ThenItIsServedOverTls()
    {
        CliRun added = await InContextAsync(
            "context", "add", "safe", "--tls-ca", _directory["ca.pem"], "--tls-cert", _directory["client.pem"],
            "--tls-key", _directory["client.key"], "--server", $"{_broker.EndPoint}");
        Assert.True(added.ExitCode == ExitCode.Done, added.Error);
        CliRun sent = await InContextAsync("send", "t", "over TLS");
        Assert.True(sent.ExitCode == ExitCode.Done, sent.Error);
        CliRun plain = await InContextAsync("topic", "list", "--tls", "--timeout", "5s");
        Assert.Equal(ExitCode.Refused, plain.ExitCode);
    }

    [Theory]
    [InlineData("", "speaks TLS")]
    [InlineData("--tls", "the certificate is not trusted")]
    [InlineData("--tls-ca ca.pem", "the peer showed none")]
    public async Task GivenTooLittle_WhenACommandRuns_ThenItIsRefusedAndSaysWhy(string flags, string reason)
    {
        CliRun refused = await RunAsync([.. Split(flags), "topic", "list"]);
        Assert.Equal(ExitCode.Refused, refused.ExitCode);
        Assert.Contains(reason, refused.Error, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("--tls-ca nowhere.pem", "Tls.AuthorityFile")]
    [InlineData("--tls-cert client.pem", "Tls.CertificateFile")]
    [InlineData("--tls-key client.key", "Tls.KeyFile")]
    public async Task GivenFilesThatCannotBeUsed_WhenACommandRuns_ThenItIsAMistakeInItsUse(string flags, string setting)
    {
        CliRun refused = await RunAsync([.. Split(flags), "topic", "list"]);
        Assert.Equal(ExitCode.Usage, refused.ExitCode);
        Assert.Contains(setting, refused.Error, StringComparison.Ordinal);
    }

    public async ValueTask DisposeAsync()
    {
        await _broker.DisposeAsync();
        _directory.Dispose();
    }

    private Task<CliRun> RunAsync(string[] arguments) =>
        CliRun.RunAsync([.. arguments, "--server", $"{_broker.EndPoint}"]);

    private Task<CliRun> InContextAsync(params string[] arguments) => CliRun.RunAsync(
        arguments, [], name => name is "XDG_CONFIG_HOME" or "APPDATA" ? _directory["home"] : null,
        TestContext.Current.CancellationToken);

    private IEnumerable<string> Split(string flags) => flags
        .Split(' ', StringSplitOptions.RemoveEmptyEntries)
        .Select(word => word.StartsWith('-') ? word : _directory[word]);

    private void Write(string name, string text) => File.WriteAllText(_directory[name], text);
}
