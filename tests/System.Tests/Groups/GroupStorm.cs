using System.Globalization;
using System.Text;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>Members of one group come, leave, die and sleep at random while keyed, numbered messages are sent.</summary>
internal sealed class GroupStorm : IAsyncDisposable
{
    public const string Topic = "work";
    public const string Group = "storm";

    private const int Queues = 8;
    private const int Keys = 40;
    private const int MostPeers = 5;

    private static readonly TimeSpan SessionTimeout = TimeSpan.FromSeconds(2);

    private readonly ServerProcess _server;
    private readonly EQueueClient _client;
    private readonly Random _random;
    private readonly List<GroupPeer> _peers = [];
    private readonly int[] _sent = new int[Keys];
    private readonly CancellationTokenSource _enough = new();

    private GroupStorm(ServerProcess server, int seed)
    {
        _server = server;
        _client = new EQueueClient(server.Address);
        _random = new Random(seed);
    }

    /// <summary>What happened, in order.</summary>
    public List<string> Events { get; } = [];

    public static async Task<GroupStorm> StartAsync(string directory, int seed)
    {
        ServerProcess server = await ServerProcess.StartAsync(directory, "--flush", "async");
        var storm = new GroupStorm(server, seed);
        await storm._client.Admin.CreateTopicAsync(
            Topic, new TopicSettings { QueueCount = Queues }, CancellationToken.None);
        storm.Add();
        storm.Add();
        return storm;
    }

    /// <summary>Sends and disturbs for so long, then lets everything come to rest.</summary>
    public async Task RunAsync(TimeSpan duration)
    {
        Task sending = SendAsync();
        using var pace = new PeriodicTimer(TimeSpan.FromMilliseconds(700));
        using var end = new CancellationTokenSource(duration);
        while (!end.IsCancellationRequested && await pace.WaitForNextTickAsync())
            await DisturbAsync();
        foreach (GroupPeer peer in _peers.Where(peer => peer.IsStopped))
            peer.Continue();
        await _enough.CancelAsync();
        await sending;
    }

    /// <summary>Every queue belongs to a member that is up, every message was processed, and the group has committed
    /// all of it.</summary>
    public async Task CheckAsync()
    {
        Assert.False(_peers.Any(peer => peer.HasFailed), $"a member ended by itself\n{DescribePeers()}");
        if (!_peers.Any(peer => peer.IsUp))
            Add();
        await Eventually.TrueAsync(IsSettledAsync);
        try
        {
            await Eventually.TrueAsync(() => Missing().Count == 0);
        }
        catch (TimeoutException)
        {
            Assert.Fail($"not processed: {string.Join(", ", Missing().Take(50))}\n{DescribePeers()}");
        }

        CheckOrder();
        foreach (GroupPeer peer in _peers.Where(peer => peer.IsUp))
            await peer.LeaveAsync();
        ProgramResult rest = await ProgramRun.RunAsync(
            "Cli", "consume", Topic, "--server", _server.Address, "--group", Group);
        Assert.True(rest.ExitCode == 0, rest.Error);
        Assert.Empty(rest.OutputText);
    }

    public async ValueTask DisposeAsync()
    {
        foreach (GroupPeer peer in _peers)
            await peer.DisposeAsync();
        await _client.DisposeAsync();
        await _server.DisposeAsync();
        _enough.Dispose();
    }

    private void Add()
    {
        _peers.Add(new GroupPeer(_server.Address, Group, Topic, SessionTimeout));
        Events.Add("add");
    }

    private async Task DisturbAsync()
    {
        GroupPeer[] up = [.. _peers.Where(peer => peer.IsUp)];
        GroupPeer[] stopped = [.. _peers.Where(peer => peer.IsStopped)];
        int dice = _random.Next(10);
        if (up.Length == 0 || (dice < 4 && up.Length + stopped.Length < MostPeers))
        {
            Add();
            return;
        }

        GroupPeer one = up[_random.Next(up.Length)];
        switch (dice)
        {
            case 4 or 5:
                Events.Add("kill");
                await one.KillAsync();
                break;
            case 6:
                Events.Add("leave");
                await one.LeaveAsync();
                break;
            case 7 or 8 when stopped.Length == 0 && up.Length > 1:
                Events.Add("stop");
                one.Stop();
                await Eventually.TrueAsync(IsSettledAsync);
                break;
            case 9 when stopped.Length > 0:
                Events.Add("continue");
                stopped[0].Continue();
                break;
            default:
                Events.Add("restart the broker");
                await _server.KillAsync();
                await _server.RestartAsync();
                break;
        }
    }

    /// <summary>Whether the members that are up, and no others, have all queues, as the broker says.</summary>
    private async Task<bool> IsSettledAsync()
    {
        GroupDescription group;
        try
        {
            group = await _client.Admin.DescribeGroupAsync(Group, withAges: false);
        }
        catch (EQueueException exception) when (
            exception.Code == ErrorCode.UnknownGroup || ErrorCodes.IsRetriable(exception.Code))
        {
            return false;
        }

        return group.State == GroupState.Stable && group.Queues.Count == Queues
            && group.Members.Count == _peers.Count(peer => peer.IsUp);
    }

    private List<string> Missing()
    {
        HashSet<(string Key, int Number)> processed =
            [.. _peers.SelectMany(peer => peer.Processed).Select(message => (message.Key, message.Number))];
        return [.. Enumerable.Range(0, Keys)
            .SelectMany(key => Enumerable.Range(0, _sent[key]).Select(number => (Key: $"k{key}", Number: number)))
            .Where(message => !processed.Contains(message)).Select(message => $"{message.Key}/{message.Number}")];
    }

    private string DescribePeers() => string.Join('\n', _peers.Select(peer =>
        $"{(peer.IsUp ? "up" : peer.IsStopped ? "stopped" : "gone")}: given "
        + string.Join(' ', peer.Given.Select(given => $"{given.Queue}@{given.Time / 1_000_000}"))
        + $", processed {peer.Processed.Length}, last {peer.Processed.LastOrDefault()}\n{peer.Error}"));

    private void CheckOrder()
    {
        foreach (GroupPeer peer in _peers)
        {
            var offsets = new Dictionary<(int Stint, int Queue), long>();
            var numbers = new Dictionary<(int Stint, string Key), int>();
            foreach (Processed message in peer.Processed)
            {
                (int, int) queue = (message.Stint, message.Queue);
                Assert.True(message.Offset > offsets.GetValueOrDefault(queue, -1), $"{message} came twice or back");
                offsets[queue] = message.Offset;
                (int, string) key = (message.Stint, message.Key);
                Assert.True(message.Number > numbers.GetValueOrDefault(key, -1), $"{message} is out of order");
                numbers[key] = message.Number;
            }
        }
    }

    private async Task SendAsync()
    {
        await using Producer producer = _client.CreateProducer();
        using var pace = new PeriodicTimer(TimeSpan.FromMilliseconds(50));
        while (!_enough.IsCancellationRequested && await pace.WaitForNextTickAsync())
        {
            var sends = new List<Task>();
            for (int key = 0; key < Keys; key++)
            {
                string number = _sent[key]++.ToString(CultureInfo.InvariantCulture);
                sends.Add(producer.SendAsync(Topic, Encoding.UTF8.GetBytes(number), $"k{key}").AsTask());
            }

            await Task.WhenAll(sends);
        }
    }
}
