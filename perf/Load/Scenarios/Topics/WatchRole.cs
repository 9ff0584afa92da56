using System.Text.Json;
using EQueue.Load.Roles;

namespace EQueue.Load.Scenarios;

/// <summary>
/// One reader that waits for a message in any of very many queues: <c>watch</c> with a <see cref="WatchOrder"/>, then
/// <c>expect</c> a message of a topic.
/// </summary>
internal sealed class WatchRole : IRole
{
    private readonly CancellationTokenSource _stop = new();
    private QueueWatch? _watch;
    private Task<string>? _found;

    public async Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken)
    {
        if (command == "expect")
            return await _found!.WaitAsync(cancellationToken) == RoleJson.Read<string>(argument);
        WatchOrder order = RoleJson.Read<WatchOrder>(argument);
        _watch = new QueueWatch(order.Server);
        int queues = await _watch.BeginAsync(order.Topics, cancellationToken);
        _found = _watch.WaitAsync(_stop.Token);
        return new WatchResult(queues);
    }

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        if (_found is not null)
            await _found.ContinueWith(static _ => { }, TaskScheduler.Default);
        if (_watch is not null)
            await _watch.DisposeAsync();
        _stop.Dispose();
    }
}

/// <summary>The topics whose queues are to be waited for, all of them.</summary>
internal sealed record WatchOrder(string Server, IReadOnlyList<string> Topics);

/// <summary>A reader that waits for so many queues.</summary>
internal sealed record WatchResult(int Queues);
