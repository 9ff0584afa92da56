using System.Text.Json;
using EQueue.Support;

namespace EQueue.System.Tests.Packaging;

/// <summary>The instructions of the Dockerfiles, since no image is built where the tests run.</summary>
public sealed class DockerfileTests
{
    /// <summary>The reference's instructions, without those that are out of use.</summary>
    private static readonly string[] Known =
    [
        "ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "ONBUILD", "RUN",
        "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR",
    ];

    public static TheoryData<string> Files =>
    [
        .. Directory.EnumerateFiles(Path.Combine(ProgramFiles.Root, "packaging", "docker"), "*.Dockerfile")
            .Select(path => $"packaging/docker/{Path.GetFileName(path)}").Order(StringComparer.Ordinal),
    ];

    [Fact]
    public void GivenTheImages_WhenListed_ThenTheServerAndTheCommandLineHaveOneEach() => Assert.Equal(
        ["packaging/docker/cli.Dockerfile", "packaging/docker/server.Dockerfile"], Files.Select(row => row.Data));

    [Theory]
    [MemberData(nameof(Files))]
    public void GivenADockerfile_WhenRead_ThenItsInstructionsAreKnownAndInOrder(string file)
    {
        Dockerfile docker = Read(file);
        Assert.Empty(docker.Instructions.Select(one => one.Name).Except(Known));
        Assert.Equal("FROM", docker.Instructions.SkipWhile(one => one.Name == "ARG").First().Name);
        Assert.All(docker.All("FROM"), image => Assert.Matches(@"^[\w./-]+:(\$\{\w+\}|\d[\w.-]*)( AS \w+)?$", image));
        string[] given = [.. docker.All("ARG").Select(one => one.Split('=')[0])];
        Assert.All(docker.All("FROM").Where(one => one.Contains("${", StringComparison.Ordinal)), image =>
            Assert.Contains(image.Split("${")[1].Split('}')[0], given));
        Assert.Empty(docker.All("ADD")); // COPY does one thing.
    }

    [Theory]
    [MemberData(nameof(Files))]
    public void GivenADockerfile_WhenItCopies_ThenTheFilesAreInTheRepositoryOrAnEarlierStage(string file)
    {
        var stages = new List<string>();
        foreach ((string name, string arguments) in Read(file).Instructions)
        {
            if (name == "FROM" && arguments.Split(" AS ") is [_, string stage])
                stages.Add(stage);
            if (name != "COPY")
                continue;
            string[] words = arguments.Split(' ', StringSplitOptions.RemoveEmptyEntries);
            if (words[0].StartsWith("--from=", StringComparison.Ordinal))
            {
                Assert.Contains(words[0]["--from=".Length..], stages);
                continue;
            }

            string[] ignored = [.. File.ReadLines(Path.Combine(ProgramFiles.Root, ".dockerignore"))];
            Assert.All(words[..^1], source =>
            {
                Assert.True(Path.Exists(Path.Combine(ProgramFiles.Root, source)), $"{file} copies {source}");
                Assert.DoesNotContain(source.TrimStart('.', '/'), ignored);
            });
        }
    }

    [Theory]
    [MemberData(nameof(Files))]
    public void GivenADockerfile_WhenItsProgramIsStarted_ThenItIsOneThatIsBuiltAndRunsWithoutRights(string file)
    {
        Dockerfile docker = Read(file);
        string[] command = JsonSerializer.Deserialize<string[]>(Assert.Single(docker.All("ENTRYPOINT")))!;
        Assert.Equal("dotnet", command[0]);
        string project = Path.GetFileNameWithoutExtension(command[1])["EQueue.".Length..];
        Assert.True(File.Exists(ProgramFiles.AssemblyOf(project)));
        Assert.Contains(docker.All("RUN"), run => run.Contains($"publish src/{project} ", StringComparison.Ordinal));
        Assert.NotEqual("root", docker.All("USER").Last());
        Assert.True(
            docker.Instructions.ToList().FindIndex(one => one.Name == "USER")
                < docker.Instructions.ToList().FindIndex(one => one.Name == "ENTRYPOINT"));
    }

    [Fact]
    public async Task GivenTheServersImage_WhenItsVariablesAreSet_ThenTheServerTakesThemOnceThePermissionIsGiven()
    {
        Dockerfile docker = Read("packaging/docker/server.Dockerfile");
        var variables = docker.All("ENV")
            .SelectMany(one => one.Split(' ', StringSplitOptions.RemoveEmptyEntries))
            .Select(one => one.Split('=', 2))
            .ToDictionary(one => one[0], one => one[1], StringComparer.Ordinal);
        await using (var refused = ProgramRun.Start("Server", ["--check-config"], environment: variables))
        {
            ProgramResult result = await refused.FinishAsync();
            Assert.Equal(2, result.ExitCode);
            Assert.Contains("Server:AllowUnauthenticatedRemoteAccess", result.Error, StringComparison.Ordinal);
        }

        variables["EQUEUE__Server__AllowUnauthenticatedRemoteAccess"] = "true";
        await using var taken = ProgramRun.Start("Server", ["--check-config"], environment: variables);
        ProgramResult settings = await taken.FinishAsync();
        Assert.Equal(0, settings.ExitCode);
        foreach ((string name, string value) in variables)
        {
            string key = name["EQUEUE__".Length..].Replace("__", ":", StringComparison.Ordinal);
            Assert.Contains($"{key} = {value}\n", settings.OutputText, StringComparison.Ordinal);
        }

        string data = variables["EQUEUE__Server__DataDirectory"];
        Assert.Contains($"[\"{data}\"]", docker.All("VOLUME"));
        Assert.Contains("9490 9491", docker.All("EXPOSE"));
        Assert.Equal(["SIGTERM"], docker.All("STOPSIGNAL"));
    }

    [Fact]
    public void GivenThePageOnContainers_WhenRead_ThenItSaysThatNoImageWasBuilt() => Assert.Contains(
        "no image has been built",
        File.ReadAllText(Path.Combine(ProgramFiles.Root, "docs", "containers.md")),
        StringComparison.Ordinal);

    private static Dockerfile Read(string file) =>
        Dockerfile.Parse(File.ReadAllText(Path.Combine(ProgramFiles.Root, file)));
}
