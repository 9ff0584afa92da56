using System.Text;
using System.Text.Json.Nodes;
using EQueue.Broker;
using EQueue.Server.Security;
using EQueue.Support;

namespace EQueue.Server.Tests.Security;

/// <summary>The audit file: each record a line, in order, whole, and nobody's name more than text.</summary>
public sealed class AuditFileTests : IDisposable
{
    private const int LostLines = 6172;
    private const int Refused = 6173;
    private const int Taken = 6174;

    private readonly TempDirectory _directory = new();
    private readonly CollectedLog _log = new();

    private string FilePath => _directory["audit.jsonl"];

    [Fact]
    public void GivenRecords_WhenWritten_ThenEachIsALineWithAllThatWasDone()
    {
        using (AuditFile file = Open())
        {
            file.Write(new AuditRecord(
                new DateTimeOffset(2026, 11, 27, 8, 46, 56, TimeSpan.FromHours(2)), "user:alice", "10.0.0.7:4711",
                "shop", "AlterTopic", "topic:orders", ErrorCode.None, "queueCount 4 -> 8"));
            file.Write(Record("deleteGroup") with { Outcome = ErrorCode.NotAuthorized });
        }

        JsonObject[] lines = Lines(FilePath);
        Assert.Equal(
            """
            {"time":"2026-11-27T06:46:56Z","seq":1,"principal":"user:alice","address":"10.0.0.7:4711","client":"shop",
            "operation":"AlterTopic","resource":"topic:orders","outcome":"done","detail":"queueCount 4 -\u003E 8"}
            """.ReplaceLineEndings(""),
            File.ReadAllLines(FilePath)[0]);
        Assert.Equal((2, "NotAuthorized"), ((int)lines[1]["seq"]!, (string?)lines[1]["outcome"]));
        Assert.Equal(2, lines.Length);
    }

    [Fact]
    public void GivenFile_WhenItIsMade_ThenItsOwnerAloneReadsIt()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "Windows has other rights.");
        using (AuditFile file = Open(rollBytes: 300))
            Write(file, 4);
        foreach (string path in (string[])[FilePath, FilePath + ".1"])
        {
            UnixFileMode mode = OperatingSystem.IsWindows() ? default : File.GetUnixFileMode(path);
            Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, mode);
        }
    }

    [Theory]
    [InlineData("a\n{\"seq\":99}")]
    [InlineData("a\r\n\u2028\u2029\u0085b")]
    [InlineData("\",\"principal\":\"owner")]
    [InlineData("\u001b]0;x\u0007\u009b2J")]
    [InlineData("\u202ea\u0000\ud800")]
    [InlineData("\udfff\ufffe<script>")]
    public void GivenHostileNames_WhenWritten_ThenEachStaysWithinItsText(string name)
    {
        using (AuditFile file = Open())
        {
            file.Write(new AuditRecord(DateTimeOffset.UnixEpoch, name, name, name, name, name, ErrorCode.None, name));
            file.Write(Record("next"));
        }

        Assert.Equal(2, File.ReadAllBytes(FilePath).Count(static one => one == (byte)'\n'));
        Assert.DoesNotContain(
            File.ReadAllBytes(FilePath), static one => one is < 0x20 and not (byte)'\n' or >= 0x7f);
        JsonObject line = Lines(FilePath)[0];
        Assert.Equal(
            ["time", "seq", "principal", "address", "client", "operation", "resource", "outcome", "detail"],
            line.Select(static one => one.Key));
        string expected = Encoding.UTF8.GetString(Encoding.UTF8.GetBytes(name));
        Assert.All((string[])["principal", "address", "client", "operation", "resource", "detail"],
            key => Assert.Equal(expected, (string?)line[key]));
    }

    [Fact]
    public void GivenVeryLongNames_WhenWritten_ThenTheyAreCut()
    {
        string name = string.Concat(Enumerable.Repeat("\U0001F600", 60_000));
        using (AuditFile file = Open())
            file.Write(new AuditRecord(DateTimeOffset.UnixEpoch, name, name, name, name, name, ErrorCode.None, name));
        JsonObject line = Assert.Single(Lines(FilePath));
        Assert.Equal(1_024 + 3, ((string)line["client"]!).Length);
        Assert.EndsWith("...", (string?)line["detail"], StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenManyThreads_WhenTheyWrite_ThenTheLinesAreInTheOrderOfTheirNumbersAndOfEachThread()
    {
        const int Threads = 8;
        const int Each = 500;
        using (AuditFile file = Open())
        {
            await Task.WhenAll(Enumerable.Range(0, Threads).Select(thread => OwnThread.Run(() =>
            {
                for (int i = 0; i < Each; i++)
                    file.Write(Record($"{thread}") with { Detail = $"{i}" });
            })));
        }

        JsonObject[] lines = Lines(FilePath);
        Assert.Equal(Enumerable.Range(1, Threads * Each), lines.Select(static line => (int)line["seq"]!));
        Assert.All(lines.GroupBy(static line => (string)line["operation"]!), thread => Assert.Equal(
            Enumerable.Range(0, Each), thread.Select(static line => int.Parse((string)line["detail"]!))));
    }

    [Fact]
    [EffectOf("Security:AuditFiles")]
    public void GivenFullFiles_WhenMoreIsWritten_ThenTheNewestAreKeptAndTheOldestGo()
    {
        using (AuditFile file = Open(files: 5, rollBytes: 1_000))
            Write(file, 60);
        Assert.True(File.Exists(FilePath + ".4"));
        Assert.False(File.Exists(FilePath + ".5"));
        using (AuditFile file = Open(files: 3, rollBytes: 1_000))
            Write(file, 20);
        string[] paths = [FilePath + ".2", FilePath + ".1", FilePath];
        Assert.Equal(paths.Order(), Directory.GetFiles(_directory.FullPath).Order());
        Assert.All(paths, path => Assert.InRange(new FileInfo(path).Length, 1, 1_000));
        int[] numbers = [.. paths.SelectMany(Lines).Select(static line => (int)line["seq"]!)];
        Assert.Equal(20, numbers[^1]);
        Assert.Equal(numbers.Order().Distinct().Count(), numbers[^1] - numbers[0] + 1);
    }

    [Fact]
    public void GivenLineThatADeadProcessLeftInPart_WhenTheNextIsWritten_ThenItStandsByItself()
    {
        File.WriteAllText(FilePath, "{\"time\":\"2026");
        using (AuditFile file = Open())
            Write(file, 1);
        string[] lines = File.ReadAllLines(FilePath);
        Assert.Equal("{\"time\":\"2026", lines[0]);
        Assert.Equal(1, (int)JsonNode.Parse(lines[1])!["seq"]!);
    }

    [Fact]
    public void GivenFileThatIsTakenAwayOrCut_WhenTheNextIsWritten_ThenItIsThereAndWhole()
    {
        using AuditFile file = Open();
        foreach (Action<string> take in (Action<string>[])
            [File.Delete, path => File.WriteAllText(path, ""), path => File.Move(path, path + ".old", true)])
        {
            Write(file, 3);
            Await(() => Ends(FilePath) == 3);
            take(FilePath);
        }

        Write(file, 1);
        Await(() => Ends(FilePath) == 1);
    }

    [Fact]
    public void GivenDiskThatRefuses_WhenItTakesAgain_ThenNothingIsLostAndTheLogSaysSo()
    {
        Directory.CreateDirectory(FilePath);
        using (AuditFile file = Open(isOpened: false))
        {
            Write(file, 100);
            Await(() => _log.CountOf(Refused) == 1);
            Directory.Delete(FilePath);
            Await(() => Ends(FilePath) == 100);
            Assert.Equal(0, file.Lost);
        }

        Assert.Equal((1, 1, 0), (_log.CountOf(Refused), _log.CountOf(Taken), _log.CountOf(LostLines)));
    }

    [Fact]
    public void GivenDiskThatGoesOnRefusing_WhenThereIsNoMoreRoom_ThenLinesAreLostAndCounted()
    {
        Directory.CreateDirectory(FilePath);
        long lost;
        using (AuditFile file = Open(isOpened: false))
        {
            string detail = new('x', 8_000);
            for (int i = 0; i < 1_000; i++)
                file.Write(Record("op") with { Detail = detail });
            lost = file.Lost;
            Assert.InRange(lost, 300, 700);
            Assert.Equal(1, _log.CountOf(LostLines));
            Directory.Delete(FilePath);
        }

        // The numbers show how many are missing, and where.
        int[] numbers = [.. Lines(FilePath).Select(static line => (int)line["seq"]!)];
        Assert.Equal(1_000 - lost, numbers.Length);
        Assert.Equal(Enumerable.Range(1, numbers.Length), numbers);
    }

    [Fact]
    public void GivenClosedFile_WhenARecordComes_ThenItCountsAsLost()
    {
        AuditFile file = Open();
        file.Dispose();
        file.Dispose();
        Write(file, 2);
        Assert.Equal(2, file.Lost);
    }

    [Fact]
    public void GivenDiskThatRefusesToTheEnd_WhenClosed_ThenWhatWaitsIsCounted()
    {
        Directory.CreateDirectory(FilePath);
        AuditFile file = Open(isOpened: false);
        Write(file, 7);
        file.Dispose();
        Assert.Equal(7, file.Lost);
    }

    public void Dispose() => _directory.Dispose();

    private static AuditRecord Record(string operation) => new(
        DateTimeOffset.UnixEpoch, "owner", "memory:1", "test", operation, "topic:t", ErrorCode.None, "");

    private static void Write(AuditFile file, int count)
    {
        for (int i = 0; i < count; i++)
            file.Write(Record("op"));
    }

    private static JsonObject[] Lines(string path) =>
        [.. File.ReadAllLines(path).Select(static line => JsonNode.Parse(line)!.AsObject())];

    private static int Ends(string path) =>
        File.Exists(path) ? File.ReadAllBytes(path).Count(static one => one == (byte)'\n') : 0;

    private static void Await(Func<bool> condition) =>
        Assert.True(SpinWait.SpinUntil(condition, TimeSpan.FromSeconds(30)));

    private AuditFile Open(int files = 10, long rollBytes = 64 << 20, bool isOpened = true)
    {
        var file = new AuditFile(FilePath, files, TimeProvider.System, _log.CreateLogger("audit"), rollBytes);
        if (isOpened)
            file.Open();
        return file;
    }
}
