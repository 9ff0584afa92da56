using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>
/// What the broker keeps with a connection: who is there, its unanswered requests, and what features keep there.
/// </summary>
/// <remarks>Frames come on the connection's receive loop alone; answers leave from any thread.</remarks>
internal sealed class BrokerConnection(FrameConnection transport, int maxRequestsInFlight)
{
    private static readonly TimeSpan RetryAfter = TimeSpan.FromSeconds(1);

    private readonly Lock _gate = new();
    private TaskCompletionSource? _room;
    private int _inFlight;
    private object[] _features = [];

    public FrameConnection Transport { get; } = transport;

    /// <summary>Null until the handshake is done.</summary>
    public ClientIdentity? Client { get; private set; }

    /// <summary>Longest frame that both sides take.</summary>
    public int MaxFrameBytes { get; set; }

    public bool IsClosed => Transport.Closed.IsCancellationRequested;

    public CancellationToken Closed => Transport.Closed;

    public long Id => Transport.Id;

    /// <summary>How messages for people name the peer.</summary>
    public string Peer => $"'{Client?.Name}' at {Transport.RemoteEndPoint}";

    /// <summary>The handshake is done: the connection may stay. On its receive loop.</summary>
    public void Admit(ClientIdentity client)
    {
        Client = client;
        Transport.Admit();
    }

    /// <summary>What a feature keeps with the connection, made when it is first asked for. Thread-safe; features are
    /// few, and found one after the other.</summary>
    /// <typeparam name="T">The feature's own class.</typeparam>
    public T Feature<T>()
        where T : class, new()
    {
        if (FindFeature<T>() is { } found)
            return found;
        lock (_gate)
        {
            if (FindFeature<T>() is { } made)
                return made;
            var feature = new T();
            Keep(feature);
            return feature;
        }
    }

    /// <summary>What a feature keeps with the connection; null = nothing yet.</summary>
    public T? FindFeature<T>()
        where T : class
    {
        foreach (object feature in Volatile.Read(ref _features))
        {
            if (feature is T found)
                return found;
        }

        return null;
    }

    /// <summary>Keeps what a feature has made for the connection; one of each class.</summary>
    public void Keep(object feature)
    {
        lock (_gate)
            Volatile.Write(ref _features, [.. _features, feature]);
    }

    /// <summary>Counts a request whose answer comes later. At the limit the receive loop waits for the task.</summary>
    public ValueTask BeginRequestAsync()
    {
        if (Interlocked.Increment(ref _inFlight) <= maxRequestsInFlight)
            return ValueTask.CompletedTask;
        lock (_gate)
        {
            if (Volatile.Read(ref _inFlight) <= maxRequestsInFlight)
                return ValueTask.CompletedTask;
            _room ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            return new ValueTask(_room.Task.WaitAsync(Closed));
        }
    }

    /// <summary>Counts an answer.</summary>
    public void EndRequest()
    {
        if (Interlocked.Decrement(ref _inFlight) != maxRequestsInFlight)
            return;
        lock (_gate)
        {
            _room?.TrySetResult();
            _room = null;
        }
    }

    /// <summary>Answers a request; the frame is the connection's from here on.</summary>
    /// <param name="request">Its header.</param>
    /// <param name="body">Of the answer.</param>
    /// <param name="maySendHere">Whether the receive loop, or this thread, may send it; if not, the pool does.</param>
    /// <param name="mark">A flag beside that of an answer.</param>
    public void Answer(
        in FrameHeader request, FrameBuffer body, bool maySendHere, FrameFlags mark = FrameFlags.None) =>
        Transport.Send(
            body,
            request.Opcode,
            request.Version,
            FrameFlags.Response | mark,
            request.CorrelationId,
            0,
            maySendHere);

    /// <summary>
    /// Answers a request with an encoded value, or with LimitReached when it does not fit into a frame or into the
    /// memory for unsent answers: writing it ends there.
    /// </summary>
    public void Answer<T>(in FrameHeader request, T value)
        where T : IPayload<T>
    {
        var body = FrameBuffer.Rent();
        try
        {
            body.Bound(MaxFrameBytes, Transport.SendBudget);
            value.Write(new PayloadWriter(body));
        }
        catch (SendMemoryException exception)
        {
            body.Dispose();
            RefuseForMemory(request, exception);
            return;
        }
        catch
        {
            body.Dispose();
            throw;
        }

        Answer(request, body, maySendHere: false);
    }

    /// <summary>Answers a request with an error; a oneway request gets none.</summary>
    public void Refuse(in FrameHeader request, ErrorCode error, string? message, TimeSpan retryAfter = default)
    {
        if (request.IsOneway)
            return;
        var body = FrameBuffer.Rent();
        new ErrorDetail(message, retryAfter).Write(new PayloadWriter(body));
        Transport.Send(
            body, request.Opcode, request.Version, FrameFlags.Response, request.CorrelationId, (ushort)error);
    }

    private void RefuseForMemory(in FrameHeader request, SendMemoryException exception)
    {
        if (exception.IsTooLong)
        {
            Refuse(
                request,
                ErrorCode.LimitReached,
                $"The answer is longer than a frame of {MaxFrameBytes} bytes: ask for less.");
        }
        else
        {
            Refuse(
                request,
                ErrorCode.LimitReached,
                $"The memory for answers that were not taken is spent: {exception.Message} (Limits:MemoryBytes).",
                RetryAfter);
        }
    }
}
