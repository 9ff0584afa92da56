using System.Diagnostics;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>Numbered messages go in at a rate, a group reads them, and the broker is killed at random moments.</summary>
internal sealed class CrashStorm : IAsyncDisposable
{
    private const string Topic = "storm";
    private const int Queues = 8;
    private const int BodyBytes = 128;

    private readonly ServerProcess _server;
    private readonly string _directory;
    private readonly EQueueClient _client;
    private readonly Random _random;
    private readonly int _rate;
    private readonly long _retentionBytes;
    private readonly StormLedger _ledger = new(Queues);
    private int _kills;
    private long _mostBytes;
    private TimeSpan _took;

    private CrashStorm(ServerProcess server, string directory, Random random, int rate, long retentionBytes)
    {
        _server = server;
        _directory = directory;
        _random = random;
        _rate = rate;
        _retentionBytes = retentionBytes;
        _client = new EQueueClient(server.Address);
    }

    public static async Task<CrashStorm> StartAsync(
        string directory, string flush, Random random, int rate, long retentionBytes)
    {
        ServerProcess server = await ServerProcess.StartAsync(
            directory, "--flush", flush, "--Store:SegmentSizeBytes", $"{64 * 1024 * 1024}");
        var storm = new CrashStorm(server, directory, random, rate, retentionBytes);
        await storm._client.Admin.CreateTopicAsync(
            Topic,
            new TopicSettings { QueueCount = Queues, RetentionBytes = retentionBytes },
            CancellationToken.None);
        return storm;
    }

    /// <summary>Sends, reads and kills for so long; at the end everything that was sent is acknowledged.</summary>
    public async Task RunAsync(TimeSpan duration)
    {
        long begun = Stopwatch.GetTimestamp();
        using var end = new CancellationTokenSource(duration);
        await using var member = new BackgroundMember(_client, "check", Topic, (message, _) =>
            ValueTask.FromResult(_ledger.NoteRead(message.Queue, message.Offset.Value, message.Body.Span)));
        Task reading = member.Ended;
        Task sending = SendAsync(end.Token);
        while (!end.IsCancellationRequested)
        {
            await Task.WhenAny(reading, Pause(TimeSpan.FromMilliseconds(_random.Next(1500, 5000)), end.Token));
            if (reading.IsCompleted)
                break;
            await _server.KillAsync();
            await _server.RestartAsync();
            _kills++;
            _mostBytes = Math.Max(_mostBytes, BytesOnDisk());
        }

        await end.CancelAsync();
        await sending;
        _took = Stopwatch.GetElapsedTime(begun);
        if (!reading.IsCompleted)
            await Task.WhenAny(reading, Eventually.TrueAsync(() => _ledger.HasReadAllAcknowledged));
        await member.StopAsync();
    }

    /// <summary>Every acknowledged message was read, at one place; nothing was refused; old bytes are gone.</summary>
    public async Task CheckAsync()
    {
        _ledger.Check();
        Assert.True(_kills > 0, "never killed");
        await Eventually.TrueAsync(() => BytesOnDisk() < (2 * _retentionBytes) + 1_000_000_000);
    }

    public string Describe() =>
        $"{_kills} kills in {_took:hh\\:mm\\:ss}, {_ledger.Describe()}, at most {_mostBytes / 1_000_000:N0} MB on disk";

    public async ValueTask DisposeAsync()
    {
        await _client.DisposeAsync();
        await _server.DisposeAsync();
    }

    private static async Task Pause(TimeSpan time, CancellationToken cancellationToken)
    {
        using var timer = new PeriodicTimer(time);
        try
        {
            await timer.WaitForNextTickAsync(cancellationToken);
        }
        catch (OperationCanceledException)
        {
            // Time is up.
        }
    }

    private long BytesOnDisk() => new DirectoryInfo(_directory)
        .EnumerateFiles("*", SearchOption.AllDirectories).Sum(static file => file.Exists ? file.Length : 0);

    /// <summary>What the rate has due leaves every 10 ms; what a dead broker has held up follows at once.</summary>
    private async Task SendAsync(CancellationToken cancellationToken)
    {
        await using Producer producer = _client.CreateProducer();
        long begun = Stopwatch.GetTimestamp();
        long next = 0;
        byte[] body = new byte[BodyBytes];
        string[] keys = [.. Enumerable.Range(0, 256).Select(static i => $"key-{i}")];
        while (!cancellationToken.IsCancellationRequested)
        {
            await Pause(TimeSpan.FromMilliseconds(10), cancellationToken);
            long due = (long)(Stopwatch.GetElapsedTime(begun).TotalSeconds * _rate);
            for (; next < due && !cancellationToken.IsCancellationRequested; next++)
            {
                long number = _ledger.Begin();
                StormLedger.Fill(body, number);
                ValueTask<SendReceipt> send = producer.SendAsync(Topic, body, keys[number % keys.Length]);
                _ = NoteAsync(number, send);
                if (_ledger.Pending > 4 * _rate)
                    await _ledger.WhenFewerPendAsync(2 * _rate);
            }
        }

        await producer.FlushAsync(CancellationToken.None);
        await _ledger.WhenFewerPendAsync(0);
    }

    private async Task NoteAsync(long number, ValueTask<SendReceipt> send)
    {
        try
        {
            await send;
            _ledger.NoteAcknowledged(number);
        }
        catch (Exception exception)
        {
            _ledger.NoteFailed(number, exception);
        }
    }
}
