using System.Text;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Remoting.Tests;

/// <summary>The README's example, word for word; a test compares and runs it.</summary>
internal static class ReadmeExample
{
    public static async Task<string> RunAsync()
    {
        // example begins
        await using var server = new RemotingServer(new RemotingServerOptions(), new Shouter(), NullLoggerFactory.Instance);
        await server.StartAsync(CancellationToken.None);
        await using var client = new RemotingClient(server.LocalEndPoint, new RemotingClientOptions(), NullLoggerFactory.Instance);
        var request = FrameBuffer.Rent();
        request.Advance(Encoding.UTF8.GetBytes("hello", request.GetSpan(5)));
        using ResponseFrame answer = await client.InvokeAsync(request, opcode: 1, version: 1, TimeSpan.FromSeconds(5), CancellationToken.None);
        return Encoding.UTF8.GetString(answer.PayloadSpan); // HELLO
        // example ends
    }

    // handler begins
    private sealed class Shouter : IConnectionHandler
    {
        public void OnConnected(FrameConnection connection) { }
        public void OnDisconnected(FrameConnection connection, Exception? cause) { }
        public ValueTask OnFrameAsync(FrameConnection connection, FrameHeader header, ReadOnlyMemory<byte> payload)
        {
            var answer = FrameBuffer.Rent(payload.Length);
            answer.Advance(Encoding.ASCII.GetBytes(Encoding.ASCII.GetString(payload.Span).ToUpperInvariant(), answer.GetSpan(payload.Length)));
            connection.Send(answer, header.Opcode, 1, FrameFlags.Response, header.CorrelationId, error: 0, inlineAllowed: true);
            return ValueTask.CompletedTask;
        }
    }
    // handler ends
}
