using EQueue.Protocol;
using EQueue.Remoting;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Cli.Clusters;

/// <summary>Asks a node who leads, and whether it serves clients itself; without a login.</summary>
internal static class NodeProbe
{
    private static readonly TimeSpan Bound = TimeSpan.FromSeconds(1);

    /// <summary>Asks one node; the answer is there within a second or not at all.</summary>
    /// <param name="address">Where it listens.</param>
    /// <param name="tls">How TLS is spoken with it; null without.</param>
    /// <param name="cancellationToken">Gives up.</param>
    public static async Task<NodeAnswer> AskAsync(string address, TlsOptions? tls, CancellationToken cancellationToken)
    {
        Task<WatchLeaderResponse?> told = CallAsync(
            address, tls, Opcode.WatchLeader, new WatchLeaderRequest(Epoch: 0, TimeSpan.Zero), static response =>
                response.Header.Error == 0 && Payload.TryRead(response.PayloadSpan, out WatchLeaderResponse read)
                    ? read : null, cancellationToken);
        // A node that does not serve refuses a client's greeting; an engine answers it, even if it asks for a login.
        Task<bool> serving = CallAsync(
            address,
            tls,
            Opcode.Hello,
            new HelloRequest { Features = HelloFeatures.Cluster, ClientName = "equeue/status" },
            static response => (ErrorCode)response.Header.Error != ErrorCode.NotLeader, cancellationToken);
        try
        {
            WatchLeaderResponse? read = await told;
            return read is null
                ? new NodeAnswer(null, "no node of a cluster answers there", await OrFalseAsync(serving))
                : new NodeAnswer(read, null, await OrFalseAsync(serving));
        }
        catch (Exception exception) when (exception is RemotingException or FormatException)
        {
            await OrFalseAsync(serving);
            return new NodeAnswer(null, exception.Message.TrimEnd('.'), IsServing: false);
        }
    }

    private static async Task<bool> OrFalseAsync(Task<bool> serving)
    {
        try
        {
            return await serving;
        }
        catch (Exception exception) when (exception is RemotingException or FormatException)
        {
            return false;
        }
    }

    private static async Task<TResult> CallAsync<TRequest, TResult>(
        string address,
        TlsOptions? tls,
        Opcode opcode,
        TRequest request,
        Func<ResponseFrame, TResult> read,
        CancellationToken cancellationToken)
        where TRequest : IPayload<TRequest>
    {
        await using var client = new RemotingClient(
            HostPort.Parse(address),
            new RemotingClientOptions { Tls = tls, ConnectTimeout = Bound, RequestTimeout = Bound },
            NullLoggerFactory.Instance);
        var frame = FrameBuffer.Rent();
        request.Write(new PayloadWriter(frame));
        try
        {
            using ResponseFrame response = await client.InvokeAsync(
                frame, (byte)opcode, 0, Bound, cancellationToken);
            return read(response);
        }
        catch (RemotingException exception)
        {
            string why = client.LastFault is { Attempts: > 0 } fault ? fault.Reason
                : exception.Error == RemotingError.Timeout ? "no answer within a second" : exception.Message;
            throw new RemotingException(exception.Error, why, exception);
        }
    }
}
