using EQueue.Load.Limit;
using EQueue.Load.Roles;

namespace EQueue.Load.Sockets;

/// <summary>
/// What the same machine does with two processes and one socket between them, without any of our code's layers.
/// </summary>
internal static class SocketReference
{
    public static Task<EchoResult> EchoAsync(
        LoadSession session, EchoOrder order, CancellationToken cancellationToken) =>
        MeasureAsync<EchoResult>(session, "echo", port => order with { Port = port }, cancellationToken);

    public static Task<StreamResult> StreamAsync(
        LoadSession session, double seconds, CancellationToken cancellationToken) =>
        MeasureAsync<StreamResult>(session, "stream", port => new StreamOrder(port, seconds), cancellationToken);

    private static async Task<TResult> MeasureAsync<TResult>(
        LoadSession session, string command, Func<int, object> order, CancellationToken cancellationToken)
    {
        await using RoleProcess server = session.Start(RoleList.SocketServer);
        await using RoleProcess client = session.Start(RoleList.SocketClient);
        ListenResult listen = await server.CallAsync<ListenResult>("listen", null, cancellationToken);
        return await client.CallAsync<TResult>(command, order(listen.Port), cancellationToken);
    }
}
