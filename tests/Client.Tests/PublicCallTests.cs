using System.Net;
using System.Net.Sockets;
using System.Reflection;

namespace EQueue.Client.Tests;

/// <summary>Every public method of the client: a cancelled token and a disposed object are told as everywhere in
/// .NET.</summary>
public sealed class PublicCallTests
{
    /// <summary>Methods with nothing to cancel that say how things stand, or end the object.</summary>
    private static readonly string[] Exempt =
    [
        "EQueueClient.DisposeAsync()", "EQueueClient.Dispose()", "EQueueClient.CloseAsync(TimeSpan)",
        "Producer.DisposeAsync()", "Producer.Dispose()", "Producer.CloseAsync(TimeSpan)", "Producer.AbortAsync()",
        "Consumer.DisposeAsync()", "Consumer.Dispose()", "Consumer.CloseAsync(TimeSpan)", "Consumer.GetProgress()",
        "QueueReader.DisposeAsync()", "QueueReader.Dispose()", "QueueReader.CloseAsync(TimeSpan)",
        "QueueReader.GetProgress()",
    ];

    private static readonly AccessRule Rule =
        new(RuleEffect.Allow, "user:u", Permission.Read, ResourceKind.Topic, "t");

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    /// <summary>A call of each method: by its name, what is called, and whether it takes a token.</summary>
    private static readonly Dictionary<string, Call> Calls = new(StringComparer.Ordinal)
    {
        ["EQueueClient.CreateProducer(ProducerOptions)"] = Call.Sync(w => w.Client.CreateProducer()),
        ["EQueueClient.CreateConsumer(String,IReadOnlyList<String>,ConsumerOptions)"] =
            Call.Sync(w => w.Client.CreateConsumer("g", ["t"])),
        ["EQueueClient.CreateReader(ReaderOptions)"] = Call.Sync(w => w.Client.CreateReader()),

        ["EQueueAdmin.DescribeBrokerAsync(CancellationToken)"] = Call.Of((w, t) => w.Admin.DescribeBrokerAsync(t)),
        ["EQueueAdmin.CreateTopicAsync(String,TopicSettings,CancellationToken)"] =
            Call.Of((w, t) => w.Admin.CreateTopicAsync("new", null, t)),
        ["EQueueAdmin.AlterTopicAsync(String,TopicSettings,CancellationToken)"] =
            Call.Of((w, t) => w.Admin.AlterTopicAsync("t", TopicSettings.None, t)),
        ["EQueueAdmin.AlterQueuesAsync(String,IReadOnlyList<Int32>,Nullable`1,Nullable`1,CancellationToken)"] =
            Call.Of((w, t) => w.Admin.AlterQueuesAsync("t", null, true, null, t)),
        ["EQueueAdmin.DeleteTopicAsync(String,CancellationToken)"] =
            Call.Of((w, t) => w.Admin.DeleteTopicAsync("t", t)),
        ["EQueueAdmin.ListTopicsAsync(CancellationToken)"] = Call.Each((w, t) => w.Admin.ListTopicsAsync(t)),
        ["EQueueAdmin.DescribeTopicAsync(String,CancellationToken)"] =
            Call.Of((w, t) => w.Admin.DescribeTopicAsync("t", t)),
        ["EQueueAdmin.FindOffsetAsync(String,Int32,StartPosition,CancellationToken)"] =
            Call.Of((w, t) => w.Admin.FindOffsetAsync("t", 0, StartPosition.End, t)),
        ["EQueueAdmin.ReadGroupOffsetsAsync(String,String,CancellationToken)"] =
            Call.Of((w, t) => w.Admin.ReadGroupOffsetsAsync("g", "t", t)),
        ["EQueueAdmin.ReadFiguresAsync(CancellationToken)"] = Call.Of((w, t) => w.Admin.ReadFiguresAsync(t)),
        ["EQueueAdmin.ListGroupsAsync(CancellationToken)"] = Call.Each((w, t) => w.Admin.ListGroupsAsync(t)),
        ["EQueueAdmin.DescribeGroupAsync(String,String,Boolean,CancellationToken)"] =
            Call.Of((w, t) => w.Admin.DescribeGroupAsync("g", cancellationToken: t)),
        ["EQueueAdmin.ResetGroupOffsetsAsync(String,ResetPosition,String,IReadOnlyList<Int32>,String,Boolean,CancellationToken)"] =
            Call.Of((w, t) => w.Admin.ResetGroupOffsetsAsync("g", ResetPosition.End, "t", cancellationToken: t)),
        ["EQueueAdmin.DeleteGroupAsync(String,String,CancellationToken)"] =
            Call.Of((w, t) => w.Admin.DeleteGroupAsync("g", null, t)),
        ["EQueueAdmin.ReadMessageAsync(String,Int32,Int64,CancellationToken)"] =
            Call.Of((w, t) => w.Admin.ReadMessageAsync("t", 0, 0, t)),
        ["EQueueAdmin.ReadMessageAsync(QueuePlace,CancellationToken)"] =
            Call.Of((w, t) => w.Admin.ReadMessageAsync(new QueuePlace("t", 0, 0), t)),
        ["EQueueAdmin.ReadFromTimeAsync(String,DateTimeOffset,Nullable`1,Nullable`1,Int32,CancellationToken)"] =
            Call.Of((w, t) => w.Admin.ReadFromTimeAsync("t", DateTimeOffset.UnixEpoch, cancellationToken: t)),
        ["EQueueAdmin.ReadLatestAsync(String,Int32,Nullable`1,CancellationToken)"] =
            Call.Of((w, t) => w.Admin.ReadLatestAsync("t", 1, null, t)),
        ["EQueueAdmin.FindByKeyAsync(String,String,KeySearchOptions,CancellationToken)"] =
            Call.Of((w, t) => w.Admin.FindByKeyAsync("t", "k", null, t)),
        ["EQueueAdmin.FindByKeyAsync(String,ReadOnlyMemory`1,KeySearchOptions,CancellationToken)"] =
            Call.Of((w, t) => w.Admin.FindByKeyAsync("t", new byte[1], null, t)),
        ["EQueueAdmin.SetQuotaAsync(Quota,CancellationToken)"] =
            Call.Of((w, t) => w.Admin.SetQuotaAsync(new Quota(QuotaKind.Client, "c", 1000, 0, 0), t)),
        ["EQueueAdmin.ListQuotasAsync(CancellationToken)"] = Call.Of((w, t) => w.Admin.ListQuotasAsync(t)),
        ["EQueueAdmin.SetUserAsync(String,String,Nullable`1,IReadOnlyList<String>,Boolean,Boolean,CancellationToken)"] =
            Call.Of((w, t) => w.Admin.SetUserAsync("u", "p", cancellationToken: t)),
        ["EQueueAdmin.DeleteUserAsync(String,CancellationToken)"] = Call.Of((w, t) => w.Admin.DeleteUserAsync("u", t)),
        ["EQueueAdmin.ListUsersAsync(CancellationToken)"] = Call.Each((w, t) => w.Admin.ListUsersAsync(t)),
        ["EQueueAdmin.CreateTokenAsync(String,Nullable`1,String,CancellationToken)"] =
            Call.Of((w, t) => w.Admin.CreateTokenAsync("u", cancellationToken: t)),
        ["EQueueAdmin.RevokeTokenAsync(String,CancellationToken)"] =
            Call.Of((w, t) => w.Admin.RevokeTokenAsync("i", t)),
        ["EQueueAdmin.ListTokensAsync(CancellationToken)"] = Call.Each((w, t) => w.Admin.ListTokensAsync(t)),
        ["EQueueAdmin.AddRuleAsync(AccessRule,CancellationToken)"] = Call.Of((w, t) => w.Admin.AddRuleAsync(Rule, t)),
        ["EQueueAdmin.RemoveRuleAsync(AccessRule,CancellationToken)"] =
            Call.Of((w, t) => w.Admin.RemoveRuleAsync(Rule, t)),
        ["EQueueAdmin.ListRulesAsync(CancellationToken)"] = Call.Each((w, t) => w.Admin.ListRulesAsync(t)),
        ["EQueueAdmin.TestAccessAsync(String,Permission,ResourceKind,String,CancellationToken)"] =
            Call.Of((w, t) => w.Admin.TestAccessAsync("", Permission.Read, ResourceKind.Topic, "t", t)),

        ["Producer.SendAsync(String,ReadOnlySpan`1,String,String,RecordProperties,CancellationToken)"] =
            Call.Of((w, t) => w.Producer.SendAsync("t", "x"u8, cancellationToken: t)),
        ["Producer.SendAsync(String,ReadOnlyMemory`1,String,String,RecordProperties,CancellationToken)"] =
            Call.Of((w, t) => w.Producer.SendAsync("t", new byte[1].AsMemory(), cancellationToken: t)),
        ["Producer.SendAsync(String,String,String,String,RecordProperties,CancellationToken)"] =
            Call.Of((w, t) => w.Producer.SendAsync("t", "x", cancellationToken: t)),
        ["Producer.SendAsync(String,Message,CancellationToken)"] =
            Call.Of((w, t) => w.Producer.SendAsync("t", new Message(new byte[1]), t)),
        ["Producer.SendAsync(String,RecordContent&,CancellationToken)"] =
            Call.Of((w, t) => w.Producer.SendAsync("t", new RecordContent(), t)),
        ["Producer.FlushAsync(CancellationToken)"] = Call.Of((w, t) => w.Producer.FlushAsync(t)) with { HasNothing = true },
        ["Producer.Send(String,ReadOnlySpan`1,String,String,RecordProperties,CancellationToken)"] =
            Call.Blocking((w, t) => w.Producer.Send("t", "x"u8, cancellationToken: t)),
        ["Producer.Send(String,String,String,String,RecordProperties,CancellationToken)"] =
            Call.Blocking((w, t) => w.Producer.Send("t", "x", cancellationToken: t)),
        ["Producer.Send(String,Message,CancellationToken)"] =
            Call.Blocking((w, t) => w.Producer.Send("t", new Message(new byte[1]), t)),
        ["Producer.Send(String,RecordContent&,CancellationToken)"] =
            Call.Blocking((w, t) => w.Producer.Send("t", new RecordContent(), t)),
        ["Producer.Send(String,Message,SendCallback,Object,CancellationToken)"] = Call.Blocking(
            (w, t) => w.Producer.Send("t", new Message(new byte[1]), static (_, _, _) => { }, null, t))
            with
        { HasNothing = true },
        ["Producer.Send(String,RecordContent&,SendCallback,Object,CancellationToken)"] = Call.Blocking(
            (w, t) => w.Producer.Send("t", new RecordContent(), static (_, _, _) => { }, null, t))
            with
        { HasNothing = true },
        ["Producer.SendOneway(String,ReadOnlySpan`1,String,String,RecordProperties,CancellationToken)"] =
            Call.Blocking((w, t) => w.Producer.SendOneway("t", "x"u8, cancellationToken: t)),
        ["Producer.SendOneway(String,String,String,String,RecordProperties,CancellationToken)"] =
            Call.Blocking((w, t) => w.Producer.SendOneway("t", "x", cancellationToken: t)),
        ["Producer.SendOneway(String,RecordContent&,CancellationToken)"] =
            Call.Blocking((w, t) => w.Producer.SendOneway("t", new RecordContent(), t)),
        ["Producer.SendBatchAsync(String,IReadOnlyList<Message>,CancellationToken)"] =
            Call.Of((w, t) => w.Producer.SendBatchAsync("t", [new Message(new byte[1])], t)),

        ["Consumer.JoinAsync(CancellationToken)"] = Call.Of((w, t) => w.Consumer.JoinAsync(t)),
        ["Consumer.ReadAllAsync(CancellationToken)"] = Call.Each((w, t) => w.Consumer.ReadAllAsync(t)),
        ["Consumer.ReadBatchesAsync(CancellationToken)"] = Call.Each((w, t) => w.Consumer.ReadBatchesAsync(t)),
        ["Consumer.CommitAsync(CancellationToken)"] =
            Call.Of((w, t) => w.Consumer.CommitAsync(t)) with { HasNothing = true },
        ["Consumer.CommitAsync(ReceivedMessage,CancellationToken)"] =
            Call.Of((w, t) => w.Consumer.CommitAsync(default(ReceivedMessage), t)) with { MustNotRun = true },
        ["Consumer.CommitAsync(IReadOnlyList<QueuePlace>,CancellationToken)"] =
            Call.Of((w, t) => w.Consumer.CommitAsync([], t)) with { HasNothing = true },
        ["Consumer.CommitAsync(IReadOnlyList<QueueProgress>,CancellationToken)"] =
            Call.Of((w, t) => w.Consumer.CommitAsync(Array.Empty<QueueProgress>(), t)) with { HasNothing = true },
        ["Consumer.SeekAsync(QueuePlace,CancellationToken)"] =
            Call.Of((w, t) => w.Consumer.SeekAsync(new QueuePlace("t", 0, 0), t)) with { HasNothing = true },
        ["Consumer.SeekAsync(String,Int32,StartPosition,CancellationToken)"] =
            Call.Of((w, t) => w.Consumer.SeekAsync("t", 0, StartPosition.End, t)) with { HasNothing = true },
        ["Consumer.Pause(QueuePlace)"] = Call.Sync(w => w.Consumer.Pause(new QueuePlace("t", 0, 0))),
        ["Consumer.Resume(QueuePlace)"] = Call.Sync(w => w.Consumer.Resume(new QueuePlace("t", 0, 0))),
        ["Consumer.Pause(String,Int32)"] = Call.Sync(w => w.Consumer.Pause("t", 0)),
        ["Consumer.Resume(String,Int32)"] = Call.Sync(w => w.Consumer.Resume("t", 0)),
        ["Consumer.LeaveAsync(CancellationToken)"] =
            Call.Of((w, t) => w.Consumer.LeaveAsync(t)) with { HasNothing = true },

        ["QueueReader.AssignAsync(String,Int32,StartPosition,CancellationToken)"] =
            Call.Of((w, t) => w.Reader.AssignAsync("t", 0, StartPosition.End, t)),
        ["QueueReader.AssignAsync(QueuePlace,CancellationToken)"] =
            Call.Of((w, t) => w.Reader.AssignAsync(new QueuePlace("t", 0, 0), t)),
        ["QueueReader.AssignAllAsync(String,StartPosition,CancellationToken)"] =
            Call.Of((w, t) => w.Reader.AssignAllAsync("t", StartPosition.End, t)),
        ["QueueReader.Unassign(String,Int32)"] = Call.Sync(w => w.Reader.Unassign("t", 0)),
        ["QueueReader.SeekAsync(QueuePlace,CancellationToken)"] =
            Call.Of((w, t) => w.Reader.SeekAsync(new QueuePlace("t", 0, 0), t)) with { HasNothing = true },
        ["QueueReader.SeekAsync(String,Int32,StartPosition,CancellationToken)"] =
            Call.Of((w, t) => w.Reader.SeekAsync("t", 0, StartPosition.End, t)) with { HasNothing = true },
        ["QueueReader.Pause(QueuePlace)"] = Call.Sync(w => w.Reader.Pause(new QueuePlace("t", 0, 0))),
        ["QueueReader.Resume(QueuePlace)"] = Call.Sync(w => w.Reader.Resume(new QueuePlace("t", 0, 0))),
        ["QueueReader.Pause(String,Int32)"] = Call.Sync(w => w.Reader.Pause("t", 0)),
        ["QueueReader.Resume(String,Int32)"] = Call.Sync(w => w.Reader.Resume("t", 0)),
        ["QueueReader.ReadAllAsync(CancellationToken)"] = Call.Each((w, t) => w.Reader.ReadAllAsync(t)) with { AsksNone = true },
        ["QueueReader.ReadBatchesAsync(CancellationToken)"] = Call.Each((w, t) => w.Reader.ReadBatchesAsync(t)) with { AsksNone = true },
        ["QueueReader.PullAsync(Int32,TimeSpan,CancellationToken)"] =
            Call.Of((w, t) => w.Reader.PullAsync(1, TimeSpan.FromMinutes(5), t)) with { AsksNone = true },
        ["QueueReader.CommitAsync(String,CancellationToken)"] =
            Call.Of((w, t) => w.Reader.CommitAsync("g", t)) with { HasNothing = true },
    };

    public static TheoryData<string> Cancellable => [.. Calls.Where(static one => one.Value.HasToken).Select(static one => one.Key)];

    [Fact]
    public void GivenEveryPublicMethod_WhenListed_ThenEachHasACallHere()
    {
        Type[] types = [typeof(EQueueClient), typeof(EQueueAdmin), typeof(Producer), typeof(Consumer), typeof(QueueReader)];
        string[] methods = types
            .SelectMany(static type => type.GetMethods(
                BindingFlags.Public | BindingFlags.Instance | BindingFlags.DeclaredOnly))
            .Where(static method => !method.IsSpecialName)
            .Select(static method => $"{method.DeclaringType!.Name}.{method.Name}"
                + $"({string.Join(',', method.GetParameters().Select(static one => NameOf(one.ParameterType)))})")
            .ToArray();
        Assert.Equal([], methods.Except(Calls.Keys).Except(Exempt));
        Assert.Equal([], Calls.Keys.Concat(Exempt).Except(methods));
    }

    [Fact]
    public async Task GivenATokenThatIsCancelledBefore_WhenAnythingIsCalled_ThenOperationCanceledCarriesIt()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        await using var world = new World(broker.Address);
        var over = new CancellationToken(canceled: true);
        foreach ((string method, Call call) in Calls.Where(static one => one.Value.HasToken))
        {
            OperationCanceledException exception =
                await Assert.ThrowsAnyAsync<OperationCanceledException>(() => call.Run(world, over));
            Assert.True(over == exception.CancellationToken, method);
        }
    }

    [Theory]
    [MemberData(nameof(Cancellable))]
    public async Task GivenABrokerThatIsAway_WhenTheTokenIsCancelledInTheCall_ThenOperationCanceledCarriesIt(string method)
    {
        if (Calls[method].HasNothing || Calls[method].MustNotRun)
            return;
        await using var world = new World($"127.0.0.1:{UnusedPort()}");
        using var source = new CancellationTokenSource();
        Task call = Calls[method].Run(world, source.Token);
        if (!Calls[method].AsksNone)
            await world.Away.Task.WaitAsync(TimeSpan.FromMinutes(1), Token);
        Assert.False(call.IsCompleted, "It waits for the broker.");
        await source.CancelAsync();
        OperationCanceledException exception = await Assert.ThrowsAnyAsync<OperationCanceledException>(
            () => call.WaitAsync(TimeSpan.FromMinutes(1), Token));
        Assert.Equal(source.Token, exception.CancellationToken);
    }

    [Fact]
    public async Task GivenADisposedClient_WhenAnythingIsCalled_ThenItSaysObjectDisposed()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        foreach (bool isAway in new[] { false, true })
        {
            var world = new World(isAway ? $"127.0.0.1:{UnusedPort()}" : broker.Address);
            await world.DisposeAsync();
            foreach ((string method, Call call) in Calls)
            {
                try
                {
                    await call.Run(world, Token).WaitAsync(TimeSpan.FromMinutes(1), Token);
                    Assert.Fail($"{method} went on.");
                }
                catch (ObjectDisposedException)
                {
                    // As it must be.
                }
                catch (Exception exception) when (exception is not Xunit.Sdk.FailException)
                {
                    Assert.Fail($"{method}: {exception}");
                }
            }
        }
    }

    /// <summary>A type's name; of a list also what it lists, which tells overloads apart.</summary>
    private static string NameOf(Type type) => type is { Name: "IReadOnlyList`1", GenericTypeArguments: [{ } item] }
        ? $"IReadOnlyList<{item.Name}>" : type.Name;

    private static int UnusedPort()
    {
        using var socket = new TcpListener(IPAddress.Loopback, 0);
        socket.Start();
        return ((IPEndPoint)socket.LocalEndpoint).Port;
    }

    /// <summary>A way to call a method.</summary>
    /// <param name="Run">Calls it.</param>
    /// <param name="HasToken">Whether it takes a token.</param>
    private sealed record Call(Func<World, CancellationToken, Task> Run, bool HasToken)
    {
        /// <summary>It completes without a broker where there is nothing to do; <see cref="PendingCallTests"/> gives it
        /// something.</summary>
        public bool HasNothing { get; init; }

        /// <summary>A reader without queues waits for its application, and for no broker.</summary>
        public bool AsksNone { get; init; }

        /// <summary>It needs what only a loop gives, as in <see cref="PendingCallTests"/>.</summary>
        public bool MustNotRun { get; init; }

        public static Call Of<T>(Func<World, CancellationToken, ValueTask<T>> call) =>
            new((world, token) => Safely(() => call(world, token).AsTask()), HasToken: true);

        public static Call Of(Func<World, CancellationToken, ValueTask> call) =>
            new((world, token) => Safely(() => call(world, token).AsTask()), HasToken: true);

        public static Call Each<T>(Func<World, CancellationToken, IAsyncEnumerable<T>> call) => new(
            async (world, token) =>
            {
                await foreach (T? one in call(world, token))
                    _ = one;
            },
            HasToken: true);

        public static Call Blocking(Action<World, CancellationToken> call) =>
            new((world, token) => Task.Factory.StartNew(
                () => call(world, token),
                CancellationToken.None,
                TaskCreationOptions.LongRunning,
                TaskScheduler.Default), HasToken: true);

        public static Call Sync(Action<World> call) => new((world, _) => Task.Run(() => call(world)), HasToken: false);

        private static async Task Safely(Func<Task> call) => await call();
    }

    private sealed class World : IAsyncDisposable
    {
        public World(string address)
        {
            Client = new EQueueClient(new ClientOptions
            {
                Addresses = address,
                RequestTimeout = TimeSpan.FromMinutes(5),
                ConnectFailed = _ => Away.TrySetResult(),
            });
            Producer = Client.CreateProducer();
            Consumer = Client.CreateConsumer("g", ["t"]);
            Reader = Client.CreateReader();
        }

        public TaskCompletionSource Away { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public EQueueClient Client { get; }

        public EQueueAdmin Admin => Client.Admin;

        public Producer Producer { get; }

        public Consumer Consumer { get; }

        public QueueReader Reader { get; }

        public ValueTask DisposeAsync() => Client.DisposeAsync();
    }
}
