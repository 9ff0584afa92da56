using EQueue.Support;
using Microsoft.Extensions.Logging;

namespace EQueue.Remoting.Tests;

/// <summary>Files of certificates: what is refused at the start, and what happens when they change.</summary>
public sealed class TlsFilesTests
{
    public static TheoryData<string, Func<TlsPlant, ServerTlsOptions>, string, string> Wrong { get; } = new()
    {
        { "no file", plant => Of(plant.PathOf("nowhere.pem")), "Tls:Certificate", "there is no such file" },
        { "a directory", plant => Of(plant.PathOf("")), "Tls:Certificate", "it cannot be read" },
        { "no certificate", plant => Of(plant.ClientKeyFile), "Tls:Certificate", "it holds no certificate in PEM" },
        { "no key", plant => Of(plant.ClientFile), "Tls:Certificate", "it holds no private key in PEM" },
        {
            "no key in its file", plant => Of(plant.ClientFile) with { Key = plant.AuthorityFile }, "Tls:Key",
            "it holds no private key in PEM"
        },
        {
            "another key", plant => Of(plant.AuthorityFile) with { Key = plant.ClientKeyFile }, "Tls:Key",
            "its key cannot be used"
        },
        { "garbage", plant => Of(plant.Write("x.pfx", [1, 2, 3])), "Tls:Certificate", "neither PEM nor a PFX" },
        {
            "a wrong password", plant => Pfx(plant, "right") with { PasswordFile = plant.Write("w", "wrong") },
            "Tls:Certificate", "it is no PFX that the password of Tls:PasswordFile opens"
        },
        {
            "no password file", plant => Pfx(plant, "right") with { PasswordFile = plant.PathOf("none") },
            "Tls:PasswordFile", "there is no such file"
        },
        {
            "a PFX with a key file", plant => Pfx(plant, null) with { Key = plant.ClientKeyFile }, "Tls:Key",
            "a PFX holds its own key"
        },
        { "expired", plant => Signed(plant, -30, -1), "Tls:Certificate", "it expired on" },
        { "not valid yet", plant => Signed(plant, 1, 30), "Tls:Certificate", "it is not valid before" },
        {
            "clients without an authority",
            plant => Of(plant.ServerFile) with { ClientCertificates = ClientCertificates.Require },
            "Tls:ClientAuthority", "it must name a PEM file"
        },
        {
            "an authority without clients", plant => Of(plant.ServerFile) with { ClientAuthority = plant.AuthorityFile },
            "Tls:ClientAuthority", "it needs Tls:ClientCertificates"
        },
        {
            "an authority that is none",
            plant => Of(plant.ServerFile) with
            {
                ClientCertificates = ClientCertificates.Allow,
                ClientAuthority = plant.ClientKeyFile,
            },
            "Tls:ClientAuthority", "it holds no certificate in PEM"
        },
        {
            "lists without an authority",
            plant => Of(plant.ServerFile) with { ClientRevocations = plant.AuthorityFile },
            "Tls:ClientRevocations", "it needs Tls:ClientAuthority"
        },
        {
            "a list that is none",
            plant => Of(plant.ServerFile) with
            {
                ClientCertificates = ClientCertificates.Allow,
                ClientAuthority = plant.AuthorityFile,
                ClientRevocations = plant.AuthorityFile,
            },
            "Tls:ClientRevocations", "it holds no list of revoked certificates"
        },
        {
            "a handshake without time", plant => Of(plant.ServerFile) with { HandshakeTimeout = TimeSpan.Zero },
            "Tls:HandshakeTimeout", "must be"
        },
    };

    public static TheoryData<string, Func<TlsPlant, TlsOptions>, string> WrongClient { get; } = new()
    {
        { "no authority", plant => new() { AuthorityFile = plant.PathOf("none") }, "Tls.AuthorityFile" },
        { "no certificate", plant => new() { CertificateFile = plant.PathOf("none") }, "Tls.CertificateFile" },
        { "no key", plant => new() { CertificateFile = plant.ClientFile }, "Tls.CertificateFile" },
        { "a key alone", plant => new() { KeyFile = plant.ClientKeyFile }, "Tls.KeyFile" },
        { "no name", _ => new() { TargetHost = "" }, "Tls.TargetHost" },
        {
            "trust in all and in some",
            plant => new() { AuthorityFile = plant.AuthorityFile, AcceptsAnyCertificate = true }, "Tls.AuthorityFile"
        },
    };

    [Theory]
    [MemberData(nameof(Wrong))]
    public void GivenFilesThatCannotBeUsed_WhenAServerIsMade_ThenTheMessageNamesSettingValueAndReason(
        string name, Func<TlsPlant, ServerTlsOptions> make, string setting, string reason)
    {
        using var plant = new TlsPlant();
        var options = new RemotingServerOptions { Tls = make(plant) };
        ArgumentException refused = Assert.Throws<ArgumentException>(
            () => new RemotingServer(options, new ScriptedHandler(), new CollectedLog()));
        Assert.True(refused.Message.StartsWith(setting, StringComparison.Ordinal), $"{name}: {refused.Message}");
        Assert.True(refused.Message.Contains(reason, StringComparison.Ordinal), $"{name}: {refused.Message}");
    }

    [Theory]
    [MemberData(nameof(WrongClient))]
    public void GivenFilesThatCannotBeUsed_WhenAClientIsMade_ThenTheMessageNamesTheSetting(
        string name, Func<TlsPlant, TlsOptions> make, string setting)
    {
        using var plant = new TlsPlant();
        ArgumentException refused = Assert.Throws<ArgumentException>(() => make(plant).Validate());
        Assert.True(refused.Message.StartsWith(setting, StringComparison.Ordinal), $"{name}: {refused.Message}");
    }

    [Theory]
    [EffectOf("Server:Tls:PasswordFile")]
    [InlineData(null)]
    [InlineData("a secret")]
    public async Task GivenPfx_WhenAServerIsMade_ThenItServesWithIt(string? password)
    {
        using var plant = new TlsPlant();
        ServerTlsOptions tls = Pfx(plant, password);
        if (password is not null)
            tls = tls with { PasswordFile = plant.Write("password", password + "\n") };
        await using TestServer server = await TestServer.StartAsync(options: new RemotingServerOptions { Tls = tls });
        await using RemotingClient client = server.NewClient(plant.Client);
        Assert.Equal([1], await client.EchoAsync([1]));
    }

    [Fact]
    public async Task GivenChangedFiles_WhenConnectionsCome_ThenTheNewCertificateIsShownAndOldConnectionsGoOn()
    {
        using var plant = new TlsPlant();
        await using TestServer server = await TestServer.StartAsync(options: plant.Server);
        await using RemotingClient before = server.NewClient(plant.Client);
        await before.EchoAsync([1]);

        using var other = TestAuthority.Create("Another root");
        string authority = plant.Write("other.pem", other.Pem);
        using TestCertificate renewed = other.Sign();
        plant.Write("server.pem", renewed.Pem);
        await Eventually.TrueAsync(() => IsServedAsync(server, authority));
        Assert.False(await IsServedAsync(server, plant.AuthorityFile));
        Assert.Equal([2], await before.EchoAsync([2]));
        Assert.Equal(1, before.ConnectionGeneration);
        Assert.Equal(2, server.Log.CountOf(1012));
    }

    [Fact]
    public async Task GivenFilesThatChangeOneAfterTheOther_WhenConnectionsCome_ThenTheFormerCertificateStaysMeanwhile()
    {
        using var plant = new TlsPlant();
        using var other = TestAuthority.Create("Another root");
        using TestCertificate first = plant.Authority.Sign();
        using TestCertificate second = other.Sign();
        string authority = plant.Write("other.pem", other.Pem);
        var tls = new ServerTlsOptions
        {
            Certificate = plant.Write("s.pem", first.CertificatePem),
            Key = plant.Write("s.key", first.KeyPem),
        };
        await using TestServer server = await TestServer.StartAsync(options: new RemotingServerOptions { Tls = tls });
        plant.Write("s.pem", second.CertificatePem);
        await Eventually.TrueAsync(async () =>
        {
            Assert.True(await IsServedAsync(server, plant.AuthorityFile));
            return server.Log.CountOf(1013) > 0;
        });
        for (int i = 0; i < 5; i++)
            Assert.True(await IsServedAsync(server, plant.AuthorityFile));
        Assert.Equal(1, server.Log.CountOf(1013));
        Assert.Contains(
            "Tls:Key", server.Log.Lines.Single(line => line.Level == LogLevel.Warning && line.Id == 1013).Text,
            StringComparison.Ordinal);
        plant.Write("s.key", second.KeyPem);
        await Eventually.TrueAsync(() => IsServedAsync(server, authority));
    }

    [Fact]
    public async Task GivenLinkedFiles_WhenTheLinkLeadsElsewhere_ThenTheNewCertificateIsShown()
    {
        using var plant = new TlsPlant();
        using var other = TestAuthority.Create("Another root");
        using TestCertificate renewed = other.Sign();
        string authority = plant.Write("other.pem", other.Pem);
        string target = plant.Write("renewed.pem", renewed.Pem);
        string link = plant.PathOf("link.pem");
        File.CreateSymbolicLink(link, plant.ServerFile);
        await using TestServer server = await TestServer.StartAsync(
            options: new RemotingServerOptions { Tls = new ServerTlsOptions { Certificate = link } });
        Assert.True(await IsServedAsync(server, plant.AuthorityFile));
        File.Delete(link);
        File.CreateSymbolicLink(link, target);
        await Eventually.TrueAsync(() => IsServedAsync(server, authority));
    }

    private static async Task<bool> IsServedAsync(TestServer server, string authorityFile)
    {
        await using RemotingClient client = server.NewClient(
            new RemotingClientOptions { Tls = new TlsOptions { AuthorityFile = authorityFile } });
        try
        {
            return (await client.EchoAsync([1]))[0] == 1;
        }
        catch (RemotingException exception) when (TlsRefusedException.FindIn(exception) is not null)
        {
            return false;
        }
    }

    private static ServerTlsOptions Of(string file) => new() { Certificate = file };

    private static ServerTlsOptions Pfx(TlsPlant plant, string? password)
    {
        using TestCertificate certificate = plant.Authority.Sign();
        return Of(plant.Write("server.pfx", certificate.Pfx(password)));
    }

    private static ServerTlsOptions Signed(TlsPlant plant, int fromDays, int toDays)
    {
        using TestCertificate certificate = plant.Authority.Sign("127.0.0.1", fromDays, toDays);
        return Of(plant.Write("signed.pem", certificate.Pem));
    }
}
