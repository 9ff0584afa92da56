using EQueue.Remoting;
using EQueue.Server.Admin;
using EQueue.Server.Configuration;
using EQueue.Server.Engine;

namespace EQueue.Server.Hosting;

/// <summary>
/// Says on standard output, once, that the server has recovered and serves. Nothing else is written there.
/// </summary>
internal sealed class ReadyLine(ServerOptions options, BrokerService broker, AdminService admin) : IHostedService
{
    public async Task StartAsync(CancellationToken cancellationToken)
    {
        if (!broker.IsReady || broker.EndPoint is not { } endPoint)
            return;
        string line = $"ready data={HostPort.Format(endPoint)} admin={admin.EndPoint ?? ServerOptions.NoAdmin} "
            + $"pid={Environment.ProcessId} dir={options.Broker.DataDirectory}";
        await Console.Out.WriteLineAsync(line.AsMemory(), cancellationToken);
        await Console.Out.FlushAsync(cancellationToken);
    }

    public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;
}
