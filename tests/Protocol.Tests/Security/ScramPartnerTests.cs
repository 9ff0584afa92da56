using System.Diagnostics;
using System.Text;

namespace EQueue.Protocol.Tests.Security;

/// <summary>Debian's libauthen-scram-perl, which knows nothing of ours, is the other side
/// (Security/scram_partner.pl).</summary>
public sealed class ScramPartnerTests
{
    private const string Perl = "/usr/bin/perl";

    private static readonly Lazy<bool> HasPartner = new(static () =>
    {
        if (!File.Exists(Perl))
            return false;
        using Process process = Start("-MAuthen::SCRAM::Client", "-MAuthen::SCRAM::Server", "-e", "exit 0");
        process.WaitForExit();
        return process.ExitCode == 0;
    });

    public static TheoryData<string, string> Logins => new()
    {
        { "alice", "pencil" },
        { "a.b_c-9", "it's \"quoted\", = and , as well" },
        { "bob", "gr\u00fcn-\u4e16\u754c" },
        { "carol", "no-break\u00a0space and soft\u00adhyphen" },
    };

    [Theory]
    [MemberData(nameof(Logins))]
    public async Task GivenAServerThatIsNotOurs_WhenOurClientLogsIn_ThenEachKnowsTheOther(string user, string password)
    {
        SkipWithoutPartner();
        var secret = ScramSecret.Create(password, 4097);
        using Process server = Start(
            Script, "server", user, Hex(secret.Salt), Hex(secret.StoredKey), Hex(secret.ServerKey), "4097");
        var client = new ScramClient(user, password);
        byte[] challenge = await AskAsync(server, client.FirstMessage());
        Assert.Equal(ScramError.None, client.Answer(challenge, out byte[] answer));
        Assert.Equal(ScramError.None, client.Verify(await AskAsync(server, answer)));
        Assert.Equal($"admitted {user}", await HearAsync(server));
    }

    [Theory]
    [MemberData(nameof(Logins))]
    public async Task GivenAClientThatIsNotOurs_WhenItLogsInAtOurServer_ThenEachKnowsTheOther(
        string user, string password)
    {
        SkipWithoutPartner();
        using Process client = Start(Script, "client", user, password);
        var server = new ScramServer();
        Assert.Equal(ScramError.None, server.ReadFirst(Encoding.UTF8.GetBytes(await HearAsync(client))));
        Assert.Equal(user, server.User);
        byte[] answer = await AskAsync(client, server.Challenge(ScramSecret.Create(password, 4096)));
        Assert.Equal(ScramError.None, server.ReadFinal(answer, out byte[] last));
        Assert.Equal("validated", Encoding.UTF8.GetString(await AskAsync(client, last)));
    }

    [Fact]
    public async Task GivenAClientThatIsNotOursWithAWrongPassword_WhenItLogsIn_ThenItIsRefused()
    {
        SkipWithoutPartner();
        using Process client = Start(Script, "client", "alice", "pen");
        var server = new ScramServer();
        server.ReadFirst(Encoding.UTF8.GetBytes(await HearAsync(client)));
        byte[] answer = await AskAsync(client, server.Challenge(ScramSecret.Create("pencil", 4096)));
        Assert.Equal(ScramError.WrongProof, server.ReadFinal(answer, out _));
        client.StandardInput.Close();
        await client.WaitForExitAsync(TestContext.Current.CancellationToken);
    }

    private static string Script => Path.Combine(AppContext.BaseDirectory, "Security", "scram_partner.pl");

    private static void SkipWithoutPartner() => Assert.SkipUnless(
        HasPartner.Value,
        "libauthen-scram-perl is missing: apt-get install libauthen-scram-perl to log in at another implementation.");

    private static Process Start(params string[] arguments)
    {
        var utf8 = new UTF8Encoding(false);
        var start = new ProcessStartInfo(Perl)
        {
            UseShellExecute = false,
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            StandardInputEncoding = utf8,
            StandardOutputEncoding = utf8,
        };
        foreach (string argument in arguments)
            start.ArgumentList.Add(argument);
        return Process.Start(start)!;
    }

    private static async Task<byte[]> AskAsync(Process partner, byte[] message)
    {
        await partner.StandardInput.WriteLineAsync(Encoding.UTF8.GetString(message));
        await partner.StandardInput.FlushAsync(TestContext.Current.CancellationToken);
        return Encoding.UTF8.GetBytes(await HearAsync(partner));
    }

    private static async Task<string> HearAsync(Process partner) =>
        await partner.StandardOutput.ReadLineAsync(TestContext.Current.CancellationToken)
            .AsTask().WaitAsync(TimeSpan.FromMinutes(1), TestContext.Current.CancellationToken)
        ?? throw new InvalidOperationException("The partner said no more; its reason is on standard error.");

    private static string Hex(ReadOnlyMemory<byte> bytes) => Convert.ToHexStringLower(bytes.Span);
}
