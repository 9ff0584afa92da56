using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>What EQueue is for: real text goes in while the broker dies three times, and comes out whole and in order.</summary>
public sealed class MainJobTests
{
    private const string Rate = "5000";

    [Theory]
    [InlineData("sync", 4)]
    [InlineData("async", 1, Traits = [LongRun.Trait, LongRun.Only])]
    public async Task GivenTheDictionaryByKey_WhenTheBrokerIsKilledThreeTimes_ThenEveryLineComesOutOnceAndInOrderOfItsKey(
        string flush, int queues)
    {
        using var directory = new TempDirectory();
        var words = Corpus.WriteKeyedDictionary(directory);
        await using ServerProcess server = await StartAsync(directory, flush, queues);

        await SendFileThroughKillsAsync(server, "words", words, "--key-separator", "\t");

        IReadOnlyList<Consumed> consumed = await Consumed.ReadAsync(server.Address, "words", "--group", "check");
        AssertEveryKeyInOrder(words, consumed);
        Assert.Equal(queues, consumed.Select(message => message.Queue).Distinct().Count());
        AssertNoGap(consumed);

        ProgramResult rest = await ProgramRun.RunAsync(
            "Cli", "consume", "words", "--server", server.Address, "--group", "check");
        Assert.Equal(0, rest.ExitCode);
        Assert.Empty(rest.Output);
    }

    [Theory]
    [InlineData("sync", 4, Traits = [LongRun.Trait, LongRun.Only])]
    [InlineData("async", 1)]
    public async Task GivenABook_WhenTheBrokerIsKilledThreeTimes_ThenTheBookComesOutAsItWentIn(string flush, int queues)
    {
        using var directory = new TempDirectory();
        var book = Corpus.WriteBook(directory);
        await using ServerProcess server = await StartAsync(directory, flush, queues);

        // One key, or one queue, keeps the order of the whole.
        await SendThroughKillsAsync(server, "book", book, queues == 1 ? [] : ["--key", "the book"]);

        ProgramResult consumed = await ProgramRun.RunAsync(
            "Cli", "consume", "book", "--server", server.Address, "--group", "reader");
        Assert.True(consumed.ExitCode == 0, consumed.Error);
        Assert.True(
            File.ReadAllBytes(book.Path).AsSpan().SequenceEqual(consumed.Output),
            $"{book.Lines.Count} lines went in, {consumed.Output.Count(b => b == '\n')} came out");
    }

    [Fact]
    public async Task GivenABookWithoutKeys_WhenSentToFourQueuesThroughAKill_ThenEveryLineIsThereAsOftenAsInTheBook()
    {
        using var directory = new TempDirectory();
        var book = Corpus.WriteBook(directory);
        await using ServerProcess server = await StartAsync(directory, "async", 4);

        await SendThroughKillsAsync(server, "book", book);

        IReadOnlyList<Consumed> consumed = await Consumed.ReadAsync(server.Address, "book", "--group", "check");
        Assert.Equal(book.Lines.Select(Convert.ToHexString).Order(), consumed.Select(m => Convert.ToHexString(m.Body!)).Order());
        Assert.All(consumed, message => Assert.Null(message.Key));
        AssertNoGap(consumed);
    }

    private static Task<ServerProcess> StartAsync(TempDirectory directory, string flush, int queues)
        => ServerProcess.StartAsync(directory["data"], "--flush", flush, "--Topics:QueueCount", $"{queues}");

    /// <summary>Sends a file's lines; kills the broker at 25, 50 and 75 % acknowledged, with sends in flight, and restarts it.</summary>
    private static async Task SendFileThroughKillsAsync(
        ServerProcess server, string topic, Corpus corpus, params string[] arguments)
    {
        long[] killAt = KillMarks(corpus);
        await using var sender = Sender.Start(
            server.Address, topic, killAt, ["--lines", corpus.Path, "--rate", Rate, .. arguments]);
        await KillAtAsync(killAt, sender, server);
        await AssertAllSentAsync(sender, corpus);
    }

    /// <summary>The same from standard input; the last lines are held back until the last kill, which so cannot come too late.</summary>
    private static async Task SendThroughKillsAsync(
        ServerProcess server, string topic, Corpus corpus, params string[] arguments)
    {
        long[] killAt = KillMarks(corpus);
        await using var sender = Sender.Start(
            server.Address, topic, killAt, ["--lines", "-", "--rate", Rate, .. arguments]);
        int heldBack = corpus.Lines.Count / 10;
        Task feeding = sender.FeedAsync(corpus.Lines.SkipLast(heldBack));
        await KillAtAsync(killAt, sender, server);
        await feeding;
        await sender.FeedAsync(corpus.Lines.TakeLast(heldBack));
        sender.EndFeed();
        await AssertAllSentAsync(sender, corpus);
    }

    private static long[] KillMarks(Corpus corpus)
        => [.. new[] { 25L, 50, 75 }.Select(percent => corpus.Lines.Count * percent / 100)];

    private static async Task KillAtAsync(long[] killAt, Sender sender, ServerProcess server)
    {
        foreach (long acknowledged in killAt)
        {
            await sender.WhenAcknowledgedAsync(acknowledged);
            await server.KillAsync();
            Assert.False(sender.HasExited);
            await server.RestartAsync();
        }
    }

    private static async Task AssertAllSentAsync(Sender sender, Corpus corpus)
    {
        int exitCode = await sender.WaitForExitAsync();
        Assert.True(exitCode == 0, $"The sender ended with {exitCode}: {sender.Error}");
        Assert.Equal(corpus.Lines.Count, sender.Acknowledged);
    }

    private static void AssertEveryKeyInOrder(Corpus corpus, IReadOnlyList<Consumed> consumed)
    {
        Assert.Equal(corpus.Lines.Count, consumed.Count);
        ILookup<string, string> sent = corpus.Lines.ToLookup(
            Corpus.KeyOf, line => Convert.ToHexString(Corpus.BodyOf(line)), StringComparer.Ordinal);
        ILookup<string, string> received = consumed.ToLookup(
            message => message.Key!, message => Convert.ToHexString(message.Body!), StringComparer.Ordinal);
        Assert.Equal(sent.Count, received.Count);
        foreach (IGrouping<string, string> ofKey in sent)
            Assert.Equal(ofKey, received[ofKey.Key]);
    }

    private static void AssertNoGap(IReadOnlyList<Consumed> consumed)
    {
        foreach (IGrouping<int, Consumed> queue in consumed.GroupBy(message => message.Queue))
            Assert.Equal(Enumerable.Range(0, queue.Count()).Select(i => (long)i), queue.Select(message => message.Offset));
    }
}
