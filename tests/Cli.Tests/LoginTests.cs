using System.CommandLine;
using EQueue.Cli.Access;
using EQueue.Cli.Connecting;
using EQueue.Cli.Contexts;
using EQueue.Cli.Input;
using EQueue.Support;

namespace EQueue.Cli.Tests;

/// <summary>As whom a command comes: the option before the environment before the context.</summary>
public sealed class LoginTests : IDisposable
{
    private readonly TempDirectory _directory = new();

    public void Dispose() => _directory.Dispose();

    [Theory]
    // Options.
    [InlineData("--token-file t", "EQUEUE_TOKEN=x", "user", "", "token file t")]
    [InlineData("--user alice", "EQUEUE_TOKEN=x", "token", "", "alice asked for")]
    [InlineData("--user alice", "EQUEUE_PASSWORD=pw", "", "", "alice password pw")]
    [InlineData("--user alice --password-file f", "EQUEUE_PASSWORD=pw", "", "", "alice password file f")]
    [InlineData("--password-file f", "EQUEUE_USER=bob", "", "", "bob password file f")]
    [InlineData("--password-file f", "", "user", "", "carol password file f")]
    // A password is its own user's.
    [InlineData("--user alice", "EQUEUE_USER=bob EQUEUE_PASSWORD=pw", "user", "", "alice asked for")]
    [InlineData("--user carol", "", "user", "c", "carol password file c")]
    [InlineData("--user alice", "", "user", "c", "alice asked for")]
    // The environment.
    [InlineData("", "EQUEUE_TOKEN=x", "user", "", "token x")]
    [InlineData("", "EQUEUE_TOKEN_FILE=e", "token", "", "token file e")]
    [InlineData("", "EQUEUE_USER=bob", "token", "", "bob asked for")]
    [InlineData("", "EQUEUE_USER=bob EQUEUE_PASSWORD=pw", "", "", "bob password pw")]
    [InlineData("", "EQUEUE_PASSWORD=pw", "", "", "none")]
    [InlineData("", "EQUEUE_USER= EQUEUE_TOKEN=", "", "", "none")]
    // The context.
    [InlineData("", "", "user", "", "carol asked for")]
    [InlineData("", "", "user", "c", "carol password file c")]
    [InlineData("", "EQUEUE_PASSWORD=pw", "user", "c", "carol password pw")]
    [InlineData("", "", "token", "", "token file k")]
    [InlineData("", "", "", "", "none")]
    // What contradicts itself.
    [InlineData("--user alice --token-file t", "", "", "", "usage")]
    [InlineData("--password-file f --token-file t", "", "", "", "usage")]
    [InlineData("--password-file f", "", "", "", "usage")]
    [InlineData("", "EQUEUE_USER=bob EQUEUE_TOKEN=x", "", "", "usage")]
    [InlineData("", "EQUEUE_TOKEN_FILE=e EQUEUE_TOKEN=x", "", "", "usage")]
    public void GivenOptionsEnvironmentAndContext_WhenLookedAt_ThenTheFirstThatSaysItHolds(
        string options, string environment, string context, string passwordFile, string expected)
    {
        var variables = environment.Split(' ', StringSplitOptions.RemoveEmptyEntries)
            .Select(static one => one.Split('=')).ToDictionary(static pair => pair[0], static pair => pair[1]);
        var login = new LoginOptions(name => variables.GetValueOrDefault(name));
        var root = new RootCommand();
        login.AddTo(root);
        NamedContext? named = context.Length == 0 ? null : new NamedContext
        {
            Server = "127.0.0.1:1",
            User = context == "user" ? "carol" : null,
            PasswordFile = passwordFile.Length > 0 ? passwordFile : null,
            TokenFile = context == "token" ? "k" : null,
        };
        ParseResult parsed = root.Parse(options.Split(' ', StringSplitOptions.RemoveEmptyEntries));

        if (expected == "usage")
            Assert.Throws<UsageException>(() => login.Find(parsed, named, "production"));
        else
            Assert.Equal(expected, Text(login.Find(parsed, named, "production")));
    }

    [Theory]
    [InlineData("hunter2", "hunter2")]
    [InlineData("hunter2\n", "hunter2")]
    [InlineData("hunter2\r\n", "hunter2")]
    [InlineData(" of several words ", " of several words ")]
    [InlineData("пароль", "пароль")]
    public void GivenAFileOfAPassword_WhenRead_ThenItIsTheLineWithoutItsEnd(string content, string password) =>
        Assert.Equal(password, SecretText.ReadFile(Write("f", content)));

    [Theory]
    [InlineData("")]
    [InlineData("\n")]
    [InlineData("one\ntwo\n")]
    [InlineData("one\n\n")]
    [InlineData("one\ttwo")]
    public void GivenAFileThatHoldsNoPassword_WhenRead_ThenItIsRefused(string content) =>
        Assert.Throws<UsageException>(() => SecretText.ReadFile(Write("f", content)));

    [Fact]
    public void GivenAFileThatIsNoText_WhenRead_ThenItIsRefused()
    {
        string path = Write("f", "");
        File.WriteAllBytes(path, [0xff, 0xfe]);
        Assert.Throws<UsageException>(() => SecretText.ReadFile(path));
        File.WriteAllBytes(path, [.. Enumerable.Repeat((byte)'x', 5_000)]);
        Assert.Throws<UsageException>(() => SecretText.ReadFile(path));
    }

    [Theory]
    [InlineData(UnixFileMode.UserRead, true)]
    [InlineData(UnixFileMode.UserRead | UnixFileMode.UserWrite, true)]
    [InlineData(UnixFileMode.UserRead | UnixFileMode.GroupRead, false)]
    [InlineData(UnixFileMode.UserRead | UnixFileMode.OtherRead, false)]
    [InlineData(UnixFileMode.UserRead | UnixFileMode.OtherWrite, false)]
    public void GivenAFileThatOthersMayRead_WhenAPasswordIsToComeFromIt_ThenItIsRefused(UnixFileMode mode, bool isTaken)
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "files have owners' modes on Unix alone");
        if (OperatingSystem.IsWindows())
            return;
        string path = Write("f", "hunter2\n");
        File.SetUnixFileMode(path, mode);
        if (isTaken)
        {
            Assert.Equal("hunter2", SecretText.ReadFile(path));
            return;
        }

        UsageException refusal = Assert.Throws<UsageException>(() => SecretText.ReadFile(path));
        Assert.Contains("chmod 600", refusal.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("hunter2", refusal.Message, StringComparison.Ordinal);
    }

    private string Write(string name, string content)
    {
        string path = _directory[name];
        File.WriteAllText(path, content);
        if (!OperatingSystem.IsWindows())
            File.SetUnixFileMode(path, UnixFileMode.UserRead | UnixFileMode.UserWrite);
        return path;
    }

    private static string Text(LoginSource? login) => login switch
    {
        null => "none",
        { Token: { } token } => $"token {token}",
        { TokenFile: { } file } => $"token file {file}",
        { NeedsPerson: true } => $"{login.User} asked for",
        { PasswordFile: { } file } => $"{login.User} password file {file}",
        _ => $"{login.User} password {login.Password}",
    };
}
