using System.Collections.Concurrent;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>Senders that number the messages of each key, and a group that reads and commits, while backups are made;
/// knows what a restored broker must serve.</summary>
internal sealed class BackupLoad : IAsyncDisposable
{
    private const string Topic = "orders";
    private const string Group = "billing";
    private const int Queues = 4;
    private const int Senders = 3;
    private const int KeysOfASender = 8;
    private const int InFlight = 64;
    private const int EachTick = 10;
    private static readonly TimeSpan Tick = TimeSpan.FromMilliseconds(10);

    private static readonly byte[] Padding = new byte[1000];

    private readonly CancellationTokenSource _ending =
        CancellationTokenSource.CreateLinkedTokenSource(TestContext.Current.CancellationToken);

    private readonly ConcurrentDictionary<(int Queue, long Offset), string> _acknowledged = new();
    private readonly EQueueClient _client;
    private readonly Producer[] _producers;
    private readonly Task[] _sending;
    private readonly BackgroundMember _member;
    private long _read;

    private BackupLoad(EQueueClient client)
    {
        _client = client;
        _producers = [.. Enumerable.Range(0, Senders).Select(_ => client.CreateProducer())];
        _sending = [.. _producers.Select((producer, sender) => Task.Run(() => SendAsync(producer, sender)))];
        _member = new BackgroundMember(client, Group, Topic, (_, _) =>
        {
            Interlocked.Increment(ref _read);
            return ValueTask.FromResult(true);
        });
    }

    public int Acknowledged => _acknowledged.Count;

    public static async Task<BackupLoad> StartAsync(string address)
    {
        var client = new EQueueClient(address);
        await client.Admin.CreateTopicAsync(
            Topic, new TopicSettings { QueueCount = Queues }, TestContext.Current.CancellationToken);
        return new BackupLoad(client);
    }

    /// <summary>Waits until so many more messages are acknowledged and the group has read and committed some.</summary>
    public async Task GoOnAsync(int count)
    {
        long goal = Acknowledged + count, read = Interlocked.Read(ref _read);
        long[] committed = await CommittedAsync(_client);
        await Eventually.TrueAsync(() => Acknowledged >= goal && Interlocked.Read(ref _read) > read);
        await Eventually.TrueAsync(async () => (await CommittedAsync(_client)).Sum() > committed.Sum());
    }

    /// <summary>What a backup that begins now must hold.</summary>
    public async Task<(IReadOnlyDictionary<(int Queue, long Offset), string> Messages, long[] Committed)> NoteAsync()
    {
        long[] committed = await CommittedAsync(_client);
        return (new Dictionary<(int Queue, long Offset), string>(_acknowledged), committed);
    }

    /// <summary>Ends the load, whose broker may be dead.</summary>
    public async ValueTask DisposeAsync()
    {
        await _ending.CancelAsync();
        foreach (Producer producer in _producers)
            await producer.AbortAsync();
        await Task.WhenAll(_sending);
        await _member.DisposeAsync();
        await _client.DisposeAsync();
        _ending.Dispose();
    }

    /// <summary>A restored broker serves a prefix of every queue that holds what was noted, each message once, each key
    /// in order; and knows how far the group was, nowhere beyond the end.</summary>
    public async Task CheckAsync(
        string address, IReadOnlyDictionary<(int Queue, long Offset), string> messages, long[] committedBefore)
    {
        await using var client = new EQueueClient(address);
        var next = new Dictionary<string, long>();
        long[] ends = new long[Queues];
        for (int queue = 0; queue < Queues; queue++)
        {
            foreach (Consumed message in await Consumed.ReadAsync(
                address, Topic, "--queue", $"{queue}", "--from", "begin"))
            {
                Assert.Equal(ends[queue]++, message.Offset);
                string text = TextOf(message.Body);
                string[] parts = text.Split('/');
                Assert.Equal(parts[0], message.Key);
                Assert.Equal(next.GetValueOrDefault(parts[0]), long.Parse(parts[1]));
                next[parts[0]] = long.Parse(parts[1]) + 1;
                if (_acknowledged.TryGetValue((queue, message.Offset), out string? told))
                    Assert.Equal(told, text);
            }
        }

        Assert.DoesNotContain(messages.Keys, place => place.Offset >= ends[place.Queue]);
        long[] committed = await CommittedAsync(client);
        Assert.Equal(Queues, committed.Length);
        for (int queue = 0; queue < Queues; queue++)
            Assert.InRange(committed[queue], committedBefore[queue], ends[queue]);
        Assert.True(committed.Sum() > 0, "the group has committed nothing");
    }

    private static string TextOf(byte[]? body) =>
        global::System.Text.Encoding.UTF8.GetString(body.AsSpan(0, body!.Length - Padding.Length));

    private static async Task<long[]> CommittedAsync(EQueueClient client)
    {
        IReadOnlyList<QueueOffset> offsets = await client.Admin.ReadGroupOffsetsAsync(
            Group, Topic, TestContext.Current.CancellationToken);
        return [.. offsets.Select(offset => Math.Max(0, offset.Value))];
    }

    private async Task SendAsync(Producer producer, int sender)
    {
        var pending = new Queue<(string Text, ValueTask<SendReceipt> Send)>();
        using var ticks = new PeriodicTimer(Tick);
        try
        {
            for (long i = 0; !_ending.IsCancellationRequested; i++)
            {
                if (i % EachTick == 0)
                    await ticks.WaitForNextTickAsync(_ending.Token);
                string key = $"{sender}-{i % KeysOfASender}", text = $"{key}/{i / KeysOfASender}";
                byte[] body = [.. global::System.Text.Encoding.UTF8.GetBytes(text), .. Padding];
                pending.Enqueue((text, producer.SendAsync(Topic, body, key)));
                if (pending.Count >= InFlight)
                    await NoteAsync(pending.Dequeue());
            }
        }
        catch (Exception exception) when (exception is EQueueException or OperationCanceledException or ObjectDisposedException)
        {
            // The broker was killed; what it has not acknowledged may be anywhere.
        }
    }

    private async Task NoteAsync((string Text, ValueTask<SendReceipt> Send) sent)
    {
        SendReceipt receipt = await sent.Send;
        _acknowledged[(receipt.Queue, receipt.Offset.Value)] = sent.Text;
    }
}
