using System.CommandLine;
using EQueue.Cli.Connecting;
using EQueue.Cli.Watching;

namespace EQueue.Cli.Commands;

/// <summary><c>top</c>: what happens, live on a terminal, once elsewhere.</summary>
internal static class TopCommand
{
    public static Command Create(GlobalOptions options, CliStreams streams)
    {
        var once = new Option<bool>("--once")
        {
            Description = "One look, an interval long, and the end; without a terminal it is always so.",
        };
        Option<TimeSpan> interval = WatchOptions.Interval(TimeSpan.FromSeconds(2));
        var rows = new Option<int>("--rows")
        {
            Description = "The most topics and groups to show.",
            HelpName = "N",
            DefaultValueFactory = _ => 10,
        };
        var command = new Command(
            "top",
            "Shows topics by rate, groups by lag, and connections, until Ctrl-C. Example: equeue top --interval 5s")
        {
            once, interval, rows,
        };
        command.SetAction(async (parsed, cancellationToken) =>
        {
            if (parsed.GetValue(rows) < 1)
                throw new UsageException("--rows must be 1 or more.");
            TimeProvider time = TimeProvider.System;
            await using EQueueClient client = options.CreateClient(parsed);
            EQueueClient[] each =
            [
                .. options.Servers(parsed)
                    .Split(',', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries)
                    .Select(address => options.CreateClient(parsed, address)),
            ];
            try
            {
                EQueueAdmin[] admins = [.. each.Select(one => one.Admin)];
                bool isLive = streams.IsTerminal && !parsed.GetValue(once) && !options.IsJson(parsed);
                Load before = await Load.ReadAsync(client.Admin, admins, time, cancellationToken);
                await Task.Delay(parsed.GetValue(interval), time, cancellationToken);
                return await new Screen(streams, time, isLive).RunAsync(
                    parsed.GetValue(interval),
                    isLive ? null : 1,
                    async token =>
                    {
                        Load now = await Load.ReadAsync(client.Admin, admins, time, token);
                        var report = TopReport.Of(
                            before, now, await GroupLagLine.ReadAsync(client.Admin, [], token),
                            parsed.GetValue(rows), time);
                        before = now;
                        return page => report.Write(page, time.GetUtcNow(), options.IsJson(parsed));
                    },
                    cancellationToken);
            }
            finally
            {
                foreach (EQueueClient one in each)
                    await one.DisposeAsync();
            }
        });
        return command;
    }
}
