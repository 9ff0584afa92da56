using System.Buffers.Binary;
using System.Net;
using System.Text.Json;
using EQueue.Load.Measuring;
using EQueue.Load.Roles;
using EQueue.Load.Sending;
using EQueue.Remoting;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Load.Scenarios;

/// <summary>
/// One client process with one connection: <c>call</c> with a <see cref="CallOrder"/>, as often as wanted.
/// </summary>
internal sealed class RemotingClientRole : IRole
{
    private const byte Opcode = 1;
    private const byte Version = 1;
    private const int SampleMask = 1023;
    private const int ClockCheckMask = 63;

    private static readonly TimeSpan Timeout = TimeSpan.FromSeconds(30);

    private readonly LatencyHistogram _latency = new();
    private RemotingClient? _client;
    private byte[] _body = [];
    private long _next;
    private long _wrongAnswers;
    private long _deadlineNs;
    private long _end;

    public async Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken)
    {
        CallOrder order = RoleJson.Read<CallOrder>(argument);
        if (_client is null)
        {
            _body = new byte[order.Size];
            BodyBytes.Fill(_body, order.Size, 0, 0);
            _client = new RemotingClient(
                new IPEndPoint(IPAddress.Loopback, order.Port),
                new RemotingClientOptions(),
                NullLoggerFactory.Instance);
            await _client.WaitConnectedAsync(cancellationToken);
        }

        _latency.Clear();
        long before = _next;
        var start = ProcessFigures.Take();
        long firstSentNs = Clock.NowNs;
        _deadlineNs = order.Calls is null ? firstSentNs + (long)(order.Seconds * 1e9) : long.MaxValue;
        _end = order.Calls is { } calls ? _next + calls : long.MaxValue;
        await (order.Mode switch
        {
            CallMode.Oneway => Task.Run(() => SendOnewayAsync(_client, cancellationToken), cancellationToken),
            CallMode.Async => Task.Run(
                () => InvokeManyAsync(_client, order.InFlight, cancellationToken), cancellationToken),
            _ => BlockingLoop.RunAsync(() => InvokeInTurn(_client)),
        });
        long lastDoneNs = Clock.NowNs;
        return new CallResult(
            _next - before, _next, _wrongAnswers, firstSentNs, lastDoneNs, _latency.ToCounts(), start,
            ProcessFigures.Take());
    }

    public async ValueTask DisposeAsync()
    {
        if (_client is not null)
            await _client.DisposeAsync();
    }

    private async Task SendOnewayAsync(RemotingClient client, CancellationToken cancellationToken)
    {
        while (TryNumberBody())
            await client.SendOnewayAsync(_body, Opcode, Version, cancellationToken);
    }

    private async Task InvokeManyAsync(RemotingClient client, int inFlight, CancellationToken cancellationToken)
    {
        var calls = new ValueTask<ResponseFrame>[inFlight];
        int place = 0;
        long oldest = _next;
        while (true)
        {
            bool isSampled = (_next & SampleMask) == 0;
            if (!TryNumberBody())
                break;
            ValueTask<ResponseFrame> call = client.InvokeAsync(_body, Opcode, Version, Timeout, cancellationToken);
            calls[place] = isSampled ? new ValueTask<ResponseFrame>(TimeAsync(call, Clock.NowNs)) : call;
            place = After(place);
            if (_next - oldest == inFlight)
                Take(await calls[place], oldest++);
        }

        place = (place + inFlight - (int)(_next - oldest)) % inFlight;
        for (; oldest < _next; place = After(place))
            Take(await calls[place], oldest++);

        int After(int used) => used + 1 == inFlight ? 0 : used + 1;
    }

    private void InvokeInTurn(RemotingClient client)
    {
        while (TryNumberBody())
        {
            long startNs = Clock.NowNs;
            ResponseFrame answer = client.Invoke(FrameBuffer.Of(_body), Opcode, Version, Timeout);
            _latency.Record(Clock.NowNs - startNs);
            Take(answer, _next - 1);
        }
    }

    /// <summary>The next body, unless it is the end.</summary>
    private bool TryNumberBody()
    {
        if (_next == _end || ((_next & ClockCheckMask) == 0 && Clock.NowNs >= _deadlineNs))
            return false;
        BinaryPrimitives.WriteInt64LittleEndian(_body, _next++);
        return true;
    }

    private void Take(ResponseFrame answer, long number)
    {
        using (answer)
        {
            ReadOnlySpan<byte> payload = answer.PayloadSpan;
            if (payload.Length != sizeof(long) || BinaryPrimitives.ReadInt64LittleEndian(payload) != number)
                _wrongAnswers++;
        }
    }

    private async Task<ResponseFrame> TimeAsync(ValueTask<ResponseFrame> call, long startNs)
    {
        ResponseFrame answer = await call;
        _latency.Record(Clock.NowNs - startNs);
        return answer;
    }
}
