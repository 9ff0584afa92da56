using System.Text;

namespace EQueue.Protocol.Tests.Security;

/// <summary>One exchange after the other: the example of the RFC, right and wrong passwords, what attackers
/// try.</summary>
public sealed class ScramTests
{
    private const string ClientNonce = "rOprNGfwEbeRWgbNEkqO";
    private const string ServerNonce = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
    private const string ServerFirst = $"r={ClientNonce}{ServerNonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

    private const string ClientFinal =
        $"c=biws,r={ClientNonce}{ServerNonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";

    private const string ServerFinal = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";

    private static readonly ScramSecret Pencil =
        ScramSecret.Derive("pencil", Convert.FromBase64String("W22ZaJ0SNY7soEsUEjb6gQ=="), 4096);

    [Fact]
    public void GivenTheExampleOfRfc7677_WhenBothSidesSpeak_ThenEachMessageIsThatOfTheRfc()
    {
        var client = new ScramClient("user", "pencil", ClientNonce);
        var server = new ScramServer(ServerNonce);
        byte[] first = client.FirstMessage();
        Assert.Equal($"n,,n=user,r={ClientNonce}", Text(first));
        Assert.Equal(ScramError.None, server.ReadFirst(first));
        Assert.Equal("user", server.User);
        byte[] challenge = server.Challenge(Pencil);
        Assert.Equal(ServerFirst, Text(challenge));
        Assert.Equal(ScramError.None, client.Answer(challenge, out byte[] answer));
        Assert.Equal(ClientFinal, Text(answer));
        Assert.Equal(ScramError.None, server.ReadFinal(answer, out byte[] last));
        Assert.Equal(ServerFinal, Text(last));
        Assert.Equal(ScramError.None, client.Verify(last));
    }

    [Theory]
    [InlineData("pencil", "pencil", ScramError.None)]
    [InlineData("pencil", "Pencil", ScramError.WrongProof)]
    [InlineData("pencil", "pencil ", ScramError.WrongProof)]
    [InlineData("a\u00a0b", "a b", ScramError.None)]
    [InlineData("gr\u00fcn\u4e16\U0001F600", "gr\u00fcn\u4e16\U0001F600", ScramError.None)]
    [InlineData("I\u00adX", "IX", ScramError.None)]
    public void GivenAPassword_WhenAnotherIsTyped_ThenOnlyTheSameOneIsAdmitted(
        string kept, string typed, ScramError expected)
    {
        var client = new ScramClient("user", typed);
        Assert.Equal(expected, Meet(client, ScramSecret.Create(kept, 4096), out byte[] last));
        Assert.Equal(expected != ScramError.None, last.Length == 0);
        Assert.Equal(expected == ScramError.None ? ScramError.None : ScramError.Malformed, client.Verify(last));
    }

    [Theory]
    [InlineData("a=b,c")]
    [InlineData("=2C")]
    [InlineData("gr\u00fcn")]
    public void GivenANameThatTheFormatUsesTheCharactersOf_WhenSent_ThenTheServerReadsTheName(string name)
    {
        var server = new ScramServer();
        Assert.Equal(ScramError.None, server.ReadFirst(new ScramClient(name, "x").FirstMessage()));
        Assert.Equal(name, server.User);
    }

    [Fact]
    public void GivenAClientFinalOfAnotherExchange_WhenReplayed_ThenTheNonceIsWrong()
    {
        var client = new ScramClient("user", "pencil");
        byte[] first = client.FirstMessage();
        var one = new ScramServer();
        var other = new ScramServer();
        one.ReadFirst(first);
        other.ReadFirst(first);
        Assert.NotEqual(one.Challenge(Pencil), other.Challenge(Pencil));
        client.Answer(one.Challenge(Pencil), out byte[] answer);
        Assert.Equal(ScramError.WrongNonce, other.ReadFinal(answer, out byte[] last));
        Assert.Empty(last);
        Assert.Equal(ScramError.None, one.ReadFinal(answer, out _));
        Assert.Throws<InvalidOperationException>(() => one.ReadFinal(answer, out _));
    }

    [Theory]
    [InlineData(1, ScramError.WrongIterations)]
    [InlineData(4095, ScramError.WrongIterations)]
    [InlineData(1_000_001, ScramError.WrongIterations)]
    [InlineData(4096, ScramError.None)]
    public void GivenAServerThatAsksForTooFewOrTooManyIterations_WhenAnswered_ThenTheClientGivesNoProof(
        int iterations, ScramError expected)
    {
        string challenge = ServerFirst.Replace("i=4096", $"i={iterations}", StringComparison.Ordinal);
        var client = new ScramClient("user", "pencil", ClientNonce);
        Assert.Equal(expected, client.Answer(Bytes(challenge), out byte[] answer));
        Assert.Equal(expected != ScramError.None, answer.Length == 0);
    }

    [Theory]
    [InlineData("r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", ScramError.WrongNonce)]
    [InlineData($"r={ClientNonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", ScramError.WrongNonce)]
    [InlineData($"m=x,r={ClientNonce}1,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", ScramError.Unsupported)]
    [InlineData($"r={ClientNonce}1,s=,i=4096", ScramError.Malformed)]
    [InlineData($"r={ClientNonce}1,s=W22Z aJ0,i=4096", ScramError.Malformed)]
    [InlineData($"r={ClientNonce}1,s=W22Z,i=04096", ScramError.Malformed)]
    [InlineData($"r={ClientNonce}1,s=W22Z,i=-4096", ScramError.Malformed)]
    [InlineData($"r={ClientNonce}1,s=W22Z,i=4096,", ScramError.Malformed)]
    [InlineData($"r={ClientNonce}1,s=W22Z,i=99999999999999999999", ScramError.WrongIterations)]
    [InlineData($"r={ClientNonce}1,s=W22Z", ScramError.Malformed)]
    [InlineData("", ScramError.Malformed)]
    public void GivenAServerFirstThatIsNotRight_WhenAnswered_ThenTheClientSaysWhyAndGivesNoProof(
        string challenge, ScramError expected)
    {
        var client = new ScramClient("user", "pencil", ClientNonce);
        Assert.Equal(expected, client.Answer(Bytes(challenge), out byte[] answer));
        Assert.Empty(answer);
        Assert.Equal(ScramError.WrongSignature, client.Verify(Bytes(ServerFinal)));
    }

    [Theory]
    [InlineData("v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", ScramError.WrongSignature)]
    [InlineData("v=6rriTRBi", ScramError.WrongSignature)]
    [InlineData("v=", ScramError.Malformed)]
    [InlineData("x=6rri", ScramError.Malformed)]
    [InlineData("e=invalid-proof", ScramError.Refused)]
    [InlineData(ServerFinal + ",x=extension", ScramError.None)]
    public void GivenAServerThatDoesNotKnowTheSecret_WhenItSpeaksLast_ThenTheClientDoesNotTrustIt(
        string last, ScramError expected)
    {
        var client = new ScramClient("user", "pencil", ClientNonce);
        client.Answer(Bytes(ServerFirst), out _);
        Assert.Equal(expected, client.Verify(Bytes(last)));
    }

    [Theory]
    [InlineData("p=tls-unique,,n=user,r=abc", ScramError.Unsupported)]
    [InlineData("n,a=other,n=user,r=abc", ScramError.Unsupported)]
    [InlineData("n,,m=must,n=user,r=abc", ScramError.Unsupported)]
    [InlineData("y,,n=user,r=abc", ScramError.None)]
    [InlineData("n,,n=user,r=abc,x=more", ScramError.None)]
    [InlineData("z,,n=user,r=abc", ScramError.Malformed)]
    [InlineData("n,,n=,r=abc", ScramError.Malformed)]
    [InlineData("n,,n=us=er,r=abc", ScramError.Malformed)]
    [InlineData("n,,n=user,r=", ScramError.Malformed)]
    [InlineData("n,,n=user,r=a b", ScramError.Malformed)]
    [InlineData("n,,n=user", ScramError.Malformed)]
    [InlineData("n,,r=abc,n=user", ScramError.Malformed)]
    [InlineData("n", ScramError.Malformed)]
    public void GivenAClientFirst_WhenRead_ThenWhatThisServerDoesNotHaveIsRefused(string first, ScramError expected)
    {
        var server = new ScramServer();
        Assert.Equal(expected, server.ReadFirst(Bytes(first)));
        Assert.Equal(expected == ScramError.None ? "user" : "", server.User);
    }

    [Theory]
    [InlineData("c=biws", "c=eSws", ScramError.Unsupported)]
    [InlineData("c=biws", "c=", ScramError.Malformed)]
    [InlineData("k0,p", "k1,p", ScramError.WrongNonce)]
    [InlineData("k0,p", "k0,x=more,p", ScramError.WrongProof)]
    [InlineData("p=dHzb", "p=eHzb", ScramError.WrongProof)]
    [InlineData("p=dHzb", "p=", ScramError.Malformed)]
    [InlineData("VQ=", "VQ=,x=y", ScramError.Malformed)]
    public void GivenAClientFinalThatWasChanged_WhenRead_ThenItIsRefused(
        string part, string other, ScramError expected)
    {
        var server = new ScramServer(ServerNonce);
        server.ReadFirst(Bytes($"n,,n=user,r={ClientNonce}"));
        server.Challenge(Pencil);
        string changed = ClientFinal.Replace(part, other, StringComparison.Ordinal);
        Assert.NotEqual(ClientFinal, changed);
        Assert.Equal(expected, server.ReadFinal(Bytes(changed), out byte[] last));
        Assert.Empty(last);
    }

    [Fact]
    public void GivenAnUnknownUser_WhenChallengedWithAMock_ThenItLooksLikeARealOneAndNoPasswordIsRight()
    {
        byte[] key = [.. Enumerable.Range(0, 32).Select(static i => (byte)i)];
        var mock = ScramSecret.Mock(key, "bob", ScramSecret.DefaultIterations);
        var real = ScramSecret.Create("pencil");
        Assert.Equal(mock, ScramSecret.Mock(key, "bob", ScramSecret.DefaultIterations));
        var other = ScramSecret.Mock(key, "bot", ScramSecret.DefaultIterations);
        Assert.NotEqual(mock.Salt.ToArray(), other.Salt.ToArray());
        Assert.True(mock.IsValid && real.IsValid);
        Assert.Equal((real.Salt.Length, real.Iterations), (mock.Salt.Length, mock.Iterations));
        Assert.Equal(ScramError.WrongProof, Meet(new ScramClient("bob", "pencil"), mock, out byte[] last));
        Assert.Empty(last);
    }

    [Fact]
    public void GivenASecret_WhenCreatedTwice_ThenTheSaltsDifferAndWhatIsOutOfBoundsIsNotValid()
    {
        var one = ScramSecret.Create("pencil", ScramSecret.MinIterations);
        Assert.NotEqual(one, ScramSecret.Create("pencil", ScramSecret.MinIterations));
        Assert.Equal(one, ScramSecret.Derive("pencil", one.Salt.Span, one.Iterations));
        Assert.True(one.IsValid);
        Assert.False((one with { Iterations = 4095 }).IsValid);
        Assert.False((one with { Iterations = 1_000_001 }).IsValid);
        Assert.False((one with { Salt = new byte[15] }).IsValid);
        Assert.False((one with { StoredKey = new byte[31] }).IsValid);
        Assert.False((one with { ServerKey = new byte[33] }).IsValid);
        Assert.Throws<ArgumentOutOfRangeException>(() => ScramSecret.Create("pencil", 4095));
        Assert.Throws<ArgumentException>(() => ScramSecret.Create(""));
        Assert.DoesNotContain(Convert.ToHexString(one.Salt.Span), one.ToString(), StringComparison.OrdinalIgnoreCase);
    }

    private static ScramError Meet(ScramClient client, ScramSecret secret, out byte[] last)
    {
        var server = new ScramServer();
        Assert.Equal(ScramError.None, server.ReadFirst(client.FirstMessage()));
        Assert.Equal(ScramError.None, client.Answer(server.Challenge(secret), out byte[] answer));
        return server.ReadFinal(answer, out last);
    }

    private static string Text(byte[] bytes) => Encoding.UTF8.GetString(bytes);

    private static byte[] Bytes(string text) => Encoding.UTF8.GetBytes(text);
}
