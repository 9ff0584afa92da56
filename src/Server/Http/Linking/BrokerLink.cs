using EQueue.Protocol;
using EQueue.Remoting;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Server.Http;

/// <summary>A connection to the broker of this process, in memory: what goes through it goes through the dispatcher,
/// as everything that clients ask.</summary>
/// <remarks>Used by one request at a time.</remarks>
internal sealed class BrokerLink : IAsyncDisposable
{
    /// <summary>What the broker calls who asks over HTTP; quotas may name it.</summary>
    public const string ClientName = "equeue-admin-http";

    private readonly int _maxFrameBytes;
    private readonly RemotingClient _remoting;
    private HelloResponse? _hello;

    /// <param name="endPoint">Where the broker is.</param>
    /// <param name="maxFrameBytes">The longest frame that it may send.</param>
    /// <param name="asker">Whose requests go through the link: the broker takes this process's word for it, over
    /// memory alone.</param>
    public BrokerLink(InMemoryEndPoint endPoint, int maxFrameBytes, InProcessWord asker)
    {
        Asker = asker;
        _maxFrameBytes = maxFrameBytes;
        // The broker logs its side of the connection, and whoever asked is told of failures.
        _remoting = new RemotingClient(
            endPoint,
            new RemotingClientOptions { HandshakeAsync = ShakeHandsAsync, MaxFrameBytes = maxFrameBytes },
            NullLoggerFactory.Instance);
    }

    /// <summary>Whose requests go through the link.</summary>
    public InProcessWord Asker { get; }

    /// <summary>What the broker said of itself.</summary>
    /// <exception cref="EQueueException">There is no connection.</exception>
    public async ValueTask<HelloResponse> GreetAsync(CancellationToken cancellationToken)
    {
        try
        {
            await _remoting.WaitConnectedAsync(cancellationToken);
            return _hello!;
        }
        catch (RemotingException exception)
        {
            throw ToFault(exception, cancellationToken);
        }
    }

    /// <summary>Asks and reads the answer.</summary>
    /// <exception cref="EQueueException">The broker refused, or there is no connection.</exception>
    public async ValueTask<TResponse> InvokeAsync<TRequest, TResponse>(
        IRequest<TRequest, TResponse> request, TimeSpan timeout, CancellationToken cancellationToken)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse>
    {
        using ResponseFrame response = await SendAsync(
            TRequest.Opcode, Encode(request), timeout, cancellationToken);
        return Payload.TryRead(response.PayloadSpan, out TResponse answer) ? answer : throw Malformed(TRequest.Opcode);
    }

    /// <summary>Asks; the answer is the caller's, to read and to dispose.</summary>
    /// <param name="opcode">Which operation.</param>
    /// <param name="request">Its body; the link's from here on.</param>
    /// <param name="timeout">Until the answer.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <exception cref="EQueueException">The broker refused, or there is no connection.</exception>
    public async ValueTask<ResponseFrame> SendAsync(
        Opcode opcode, FrameBuffer request, TimeSpan timeout, CancellationToken cancellationToken)
    {
        try
        {
            ResponseFrame response =
                await _remoting.InvokeAsync(request, (byte)opcode, 0, timeout, cancellationToken);
            if (response.Header.Error == 0)
                return response;
            using (response)
                throw ReadRefusal(response);
        }
        catch (RemotingException exception)
        {
            throw ToFault(exception, cancellationToken);
        }
    }

    public static EQueueException Malformed(Opcode opcode) =>
        new(ErrorCode.InternalError, $"The broker's answer to {opcode} does not follow the protocol.");

    /// <exception cref="EQueueException">A text is longer than requests can carry.</exception>
    public static FrameBuffer Encode<T>(IPayload<T> request)
        where T : IPayload<T>
    {
        var frame = FrameBuffer.Rent();
        try
        {
            request.Write(new PayloadWriter(frame));
            return frame;
        }
        catch (ArgumentException exception)
        {
            frame.Dispose();
            throw new EQueueException(ErrorCode.InvalidArgument, exception.Message, exception);
        }
    }

    public ValueTask DisposeAsync() => _remoting.DisposeAsync();

    private async ValueTask ShakeHandsAsync(IHandshakeChannel channel, CancellationToken cancellationToken)
    {
        var hello = new HelloRequest
        {
            ClientInstanceId = Guid.NewGuid(),
            ClientName = ClientName,
            ClientVersion = "EQueue.Server",
            Mechanism = Mechanisms.InProcess,
            Credentials = Asker.Encode(),
            MaxFrameBytes = (uint)_maxFrameBytes,
        };
        using ResponseFrame response =
            await channel.InvokeAsync(Encode(hello), (byte)Opcode.Hello, 0, cancellationToken);
        if (response.Header.Error != 0)
            throw ReadRefusal(response);
        _hello = Payload.TryRead(response.PayloadSpan, out HelloResponse answer)
            ? answer
            : throw Malformed(Opcode.Hello);
    }

    private static EQueueException ReadRefusal(in ResponseFrame response) =>
        ErrorDetail.ToException((ErrorCode)response.Header.Error, response.PayloadSpan);

    private static Exception ToFault(RemotingException exception, CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested)
            return new OperationCanceledException(exception.Message, exception, cancellationToken);
        ErrorCode code = exception.Error switch
        {
            RemotingError.Unreachable => ErrorCode.Unreachable,
            RemotingError.Timeout => ErrorCode.Timeout,
            RemotingError.Disposed => ErrorCode.ShuttingDown,
            RemotingError.TooLarge => ErrorCode.MessageTooLarge,
            _ => ErrorCode.ConnectionLost,
        };
        return new EQueueException(code, exception.Message, exception);
    }
}
