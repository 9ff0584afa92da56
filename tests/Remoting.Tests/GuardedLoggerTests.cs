using System.Net;
using System.Reflection;
using EQueue.Support;
using Microsoft.Extensions.Logging;

namespace EQueue.Remoting.Tests;

/// <summary>What peers can write into a log.</summary>
public sealed class GuardedLoggerTests
{
    private const string Forged = "me\n2026-01-01 [INF] \u001b[31mforged\u0085\u2028\u202e";

    private static readonly MethodInfo[] Events = [.. typeof(RemotingServer).Assembly.GetType("EQueue.Remoting.Log")!
        .GetMethods(BindingFlags.Static | BindingFlags.Public)
        .Where(method => method.GetCustomAttribute<LoggerMessageAttribute>() is not null)];

    [Fact]
    public void GivenTextOfAPeerInAnyEvent_WhenLogged_ThenItIsOneLineWithoutControls()
    {
        Assert.NotEmpty(Events);
        foreach (MethodInfo one in Events)
        {
            var log = new ValuesLog();
            using var guarded = new GuardedLogger(log, TimeProvider.System);
            LogEvent.Write(one, guarded, Forged);
            foreach (string text in log.Texts)
                Assert.True(PrintableText.Is(text), $"{one.Name}: {text}");
        }
    }

    [Fact]
    public void GivenAnyEventAThousandTimes_WhenLogged_ThenAFewLinesAndACountAreThere()
    {
        foreach (MethodInfo one in Events)
        {
            LoggerMessageAttribute attribute = one.GetCustomAttribute<LoggerMessageAttribute>()!;
            if (attribute.Level is LogLevel.Debug or LogLevel.None)
                continue;
            var log = new CollectedLog();
            var guarded = new GuardedLogger(log, TimeProvider.System);
            for (int i = 0; i < 1_000; i++)
                LogEvent.Write(one, guarded, "text");
            guarded.Dispose();
            int most = attribute.Level == LogLevel.Information
                ? GuardedLogger.MostOthersOfAnEvent
                : GuardedLogger.MostWarningsOfAnEvent;
            Assert.Equal(most, log.CountOf(attribute.EventId));
            LogLine held = Assert.Single(log.Lines, line => line.Id is 1105 or 1106);
            Assert.StartsWith($"{1_000 - most} more of event {attribute.EventId} ", held.Text, StringComparison.Ordinal);
            Assert.Equal(attribute.Level, held.Level);
        }
    }

    [Fact]
    public void GivenWarningsOfManyKinds_WhenLogged_ThenTheyAreBoundedTogether()
    {
        var log = new CollectedLog();
        var guarded = new GuardedLogger(log, TimeProvider.System);
        for (int i = 0; i < 1_000; i++)
            guarded.Log(LogLevel.Warning, new EventId(i % 100), "event {Number}", i);
        Assert.Equal(GuardedLogger.MostWarnings, log.Lines.Count);
        guarded.Dispose();
        Assert.Equal(950, log.Lines.Skip(GuardedLogger.MostWarnings).Sum(line => CountIn(line.Text)));
    }

    [Fact]
    public void GivenAFloodFromThreeAddresses_WhenItEnds_ThenOneLineSaysHowManyMoreAndFromWhere()
    {
        var time = new HandClock();
        var log = new CollectedLog();
        using var guarded = new GuardedLogger(log, time);
        for (int i = 0; i < 1_134; i++)
            Log.BadFrame(guarded, i, new IPEndPoint(IPAddress.Parse($"203.0.113.{i % 3}"), i), "bad");
        Assert.Equal(10, log.Lines.Count);
        time.Fire();
        Assert.Equal(
            "1124 more of event 1004 from 3 addresses came within 10 s and are not logged.", log.Lines[^1].Text);
        Log.BadFrame(guarded, 1, new IPEndPoint(IPAddress.Loopback, 1), "bad");
        Assert.Equal(12, log.Lines.Count);
    }

    [Fact]
    public async Task GivenAThousandBadFrames_WhenTheServerRefusesThem_ThenTheLogStaysShort()
    {
        var log = new CollectedLog();
        await using (var server = new RemotingServer(new RemotingServerOptions(), new ScriptedHandler(), log))
        {
            await server.StartAsync(TestContext.Current.CancellationToken);
            for (int i = 0; i < 300; i++)
            {
                using var peer = new System.Net.Sockets.Socket(
                    System.Net.Sockets.SocketType.Stream, System.Net.Sockets.ProtocolType.Tcp);
                await peer.ConnectAsync(server.LocalEndPoint);
                await peer.SendAsync(new byte[16]);
                Assert.Empty(await peer.ReadToEndAsync());
            }
        }

        Assert.InRange(log.CountOf(1004), 1, 100);
        Assert.Contains(log.Texts, text => text.Contains("more of event 1004 from 1 addresses", StringComparison.Ordinal));
    }

    [Fact]
    public void GivenAnExceptionWithAPeersText_WhenLogged_ThenItAndItsCausesArePrintable()
    {
        var log = new CollectedLog();
        using var guarded = new GuardedLogger(log, TimeProvider.System);
        var exception = new InvalidOperationException("outer", new InvalidOperationException(Forged));
        guarded.LogError(exception, "It failed");
        Exception logged = Assert.Single(log.Lines).Exception!;
        Assert.Contains("me\\n2026", logged.ToString(), StringComparison.Ordinal);
        Assert.DoesNotContain('\u001b', logged.ToString());
        Assert.True(PrintableText.Is(logged.InnerException!.Message));
    }

    [Fact]
    public void GivenPlainText_WhenMadePrintable_ThenItIsTheSame()
    {
        const string plain = "Grüße, 世界 \\ 'x' €";
        Assert.Same(plain, PrintableText.Of(plain));
        Assert.Equal("a\\nb\\u001Bc\\u202E", PrintableText.Of("a\nb\u001bc\u202e"));
    }

    private static int CountIn(string text) => int.Parse(text.Split(' ')[0]);

    /// <summary>All texts that a sink could show: the line, its values, its exception.</summary>
    private sealed class ValuesLog : ILogger
    {
        public List<string> Texts { get; } = [];

        public bool IsEnabled(LogLevel logLevel) => true;

        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => null;

        public void Log<TState>(
            LogLevel logLevel,
            EventId eventId,
            TState state,
            Exception? exception,
            Func<TState, Exception?, string> formatter)
        {
            Texts.Add(formatter(state, exception));
            if (exception is not null)
                Texts.Add(exception.Message);
            foreach (KeyValuePair<string, object?> value in (IEnumerable<KeyValuePair<string, object?>>)state!)
                Texts.Add(value.Value?.ToString() ?? "");
        }
    }

    /// <summary>A clock that stands still, and its one timer.</summary>
    private sealed class HandClock : TimeProvider
    {
        private Action? _fire;

        public void Fire() => _fire!();

        public override long GetTimestamp() => 1;

        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
        {
            _fire = () => callback(state);
            return new HandTimer();
        }

        private sealed class HandTimer : ITimer
        {
            public bool Change(TimeSpan dueTime, TimeSpan period) => true;

            public void Dispose()
            {
                // Nothing runs.
            }

            public ValueTask DisposeAsync() => ValueTask.CompletedTask;
        }
    }
}
