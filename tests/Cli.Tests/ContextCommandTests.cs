namespace EQueue.Cli.Tests;

/// <summary><c>context ...</c>, and the commands that go to its servers.</summary>
public sealed class ContextCommandTests : CommandTest
{
    private readonly Dictionary<string, string> _variables = new(StringComparer.Ordinal);

    private string ContextsPath => PathOf(Path.Combine("home", "equeue", "contexts.json"));

    public override async ValueTask InitializeAsync()
    {
        await base.InitializeAsync();
        _variables[OperatingSystem.IsWindows() ? "APPDATA" : "XDG_CONFIG_HOME"] = PathOf("home");
    }

    [Fact]
    public async Task GivenAContext_WhenACommandNamesNoServer_ThenItGoesToTheContextInUse()
    {
        await InAsync(ExitCode.Done, "context", "add", "here", "--server", $"{Broker.EndPoint}");
        await InAsync(ExitCode.Done, "context", "add", "nowhere", "--server", "127.0.0.1:1");
        await InAsync(ExitCode.Done, "topic", "create", "t");
        Assert.Equal(["t\t4"], (await InAsync(ExitCode.Done, "topic", "list")).OutputLines);
        await InAsync(ExitCode.Done, "context", "use", "nowhere");
        await InAsync(ExitCode.Unreachable, "topic", "list", "--timeout", "300ms");
        await InAsync(ExitCode.Done, "topic", "list", "--context", "here");
        await InAsync(ExitCode.Done, "topic", "list", "--server", $"{Broker.EndPoint}");
        _variables["EQUEUE_CONTEXT"] = "here";
        await InAsync(ExitCode.Done, "topic", "list");
        _variables["EQUEUE_SERVER"] = "127.0.0.1:1";
        await InAsync(ExitCode.Unreachable, "topic", "list", "--timeout", "300ms");
        await InAsync(ExitCode.Done, "topic", "list", "--context", "here");
        _variables["EQUEUE_CONTEXT"] = "nowhere";
        _variables["EQUEUE_SERVER"] = $"{Broker.EndPoint}";
        await InAsync(ExitCode.Done, "topic", "list");
    }

    [Fact]
    public async Task GivenContexts_WhenListed_ThenTheOneInUseIsMarkedAndARemovedOneIsGone()
    {
        Assert.Empty((await InAsync(ExitCode.Done, "context", "list")).Output);
        await InAsync(ExitCode.Done, "context", "add", "b", "--server", "127.0.0.1:1,127.0.0.1:2");
        await InAsync(ExitCode.Done, "context", "add", "a", "--server", "127.0.0.1:3", "--tls");
        Assert.Equal(
            ["a\t127.0.0.1:3\tyes\t\t", "b\t127.0.0.1:1,127.0.0.1:2\tno\t*\t"],
            (await InAsync(ExitCode.Done, "context", "list")).OutputLines);
        Assert.Equal(
            """{"name":"a","server":"127.0.0.1:3","tls":true,"tlsCa":null,"tlsCert":null,"tlsKey":null,"inUse":false,"""
            + "\"user\":null,\"passwordFile\":null,\"tokenFile\":null}",
            (await InAsync(ExitCode.Done, "context", "list", "--json")).OutputLines[0]);
        CliRun again = await InAsync(ExitCode.Usage, "context", "add", "a", "--server", "127.0.0.1:4");
        Assert.Contains("--replace", again.Error, StringComparison.Ordinal);
        await InAsync(ExitCode.Done, "context", "add", "a", "--server", "127.0.0.1:4", "--replace");
        await InAsync(ExitCode.Done, "context", "remove", "b");
        Assert.Equal(["a\t127.0.0.1:4\tno\t\t"], (await InAsync(ExitCode.Done, "context", "list")).OutputLines);
        CliRun gone = await InAsync(ExitCode.NotFound, "context", "use", "b");
        Assert.Contains("there are a.", gone.Error, StringComparison.Ordinal);
        await InAsync(ExitCode.NotFound, "context", "remove", "b");
        await InAsync(ExitCode.NotFound, "topic", "list", "--context", "b");
    }

    [Fact]
    public async Task GivenTheFile_WhenItIsWritten_ThenOnlyItsOwnerMayReadIt()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "files have owners' modes on Unix alone");
        await InAsync(ExitCode.Done, "context", "add", "a", "--server", "127.0.0.1:1");
        await InAsync(ExitCode.Done, "context", "add", "b", "--server", "127.0.0.1:1");
        if (!OperatingSystem.IsWindows())
            Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(ContextsPath));
        Assert.Equal([ContextsPath], Directory.GetFiles(Path.GetDirectoryName(ContextsPath)!));
    }

    [Theory]
    [InlineData("{\n  \"current\": \"a\",\n  \"contexts\" { }\n}", "line 3, column 14: ")]
    [InlineData("""{"current":"a","contexts":{"a":{"sever":"x:1"}}}""", "unknown member 'sever' in the context 'a': allowed is ", "Did you mean 'server'?")]
    [InlineData("""{"curent":"a","contexts":{}}""", "unknown member 'curent' in the file: allowed is current, contexts. Did you mean 'current'?")]
    [InlineData("""{"contexts":{"a":{"server":"x:1","tls":"yes"}}}""", "tls in the context 'a' is string: allowed is true or false.")]
    [InlineData("""{"contexts":{"a":{"tls":true}}}""", "the context 'a' has no member 'server'.")]
    [InlineData("""{"contexts":[]}""", "contexts is array: allowed is an object.")]
    [InlineData("""null""", "the file is null: allowed is an object.")]
    public async Task GivenAMistakeInTheFile_WhenACommandNeedsIt_ThenThePlaceIsNamedAsEditorsCount(
        string content, params string[] words)
    {
        await InAsync(ExitCode.Done, "context", "add", "a", "--server", "127.0.0.1:1");
        await File.WriteAllTextAsync(ContextsPath, content, TestContext.Current.CancellationToken);
        CliRun run = await InAsync(ExitCode.Usage, "topic", "list");
        Assert.All(words, word => Assert.Contains(word, run.Error, StringComparison.Ordinal));
        Assert.DoesNotContain("LineNumber", run.Error, StringComparison.Ordinal);
        Assert.DoesNotContain("EQueue.Cli", run.Error, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("{")]
    [InlineData("""{"current":"a","contexts":null}""")]
    [InlineData("""{"current":"a","contexts":{"a":null}}""")]
    [InlineData("""{"current":"a","contexts":{"a":{"server":null}}}""")]
    public async Task GivenAFileThatIsNoBook_WhenACommandNeedsIt_ThenItSaysWhichFileAndOthersGoOn(string content)
    {
        await InAsync(ExitCode.Done, "context", "add", "a", "--server", "127.0.0.1:1");
        await File.WriteAllTextAsync(ContextsPath, content, TestContext.Current.CancellationToken);
        CliRun run = await InAsync(ExitCode.Usage, "topic", "list");
        Assert.Contains(ContextsPath, run.Error, StringComparison.Ordinal);
        run = await InAsync(ExitCode.Usage, "context", "list");
        Assert.Contains(ContextsPath, run.Error, StringComparison.Ordinal);
        await InAsync(ExitCode.Done, "topic", "list", "--server", $"{Broker.EndPoint}");
        await InAsync(ExitCode.Done, "topic", "--help");
    }

    private async Task<CliRun> InAsync(int exitCode, params string[] arguments)
    {
        CliRun run = await CliRun.RunAsync(
            arguments, [], name => _variables.GetValueOrDefault(name), TestContext.Current.CancellationToken);
        Assert.True(run.ExitCode == exitCode, $"{string.Join(' ', arguments)}: {run.ExitCode} {run.Error}");
        return run;
    }
}
