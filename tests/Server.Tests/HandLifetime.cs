using Microsoft.Extensions.Hosting;

namespace EQueue.Server.Tests;

/// <summary>The life of a host that is not there: it stops when the test says so.</summary>
internal sealed class HandLifetime : IHostApplicationLifetime, IDisposable
{
    private readonly CancellationTokenSource _stopping = new();

    public CancellationToken ApplicationStarted => CancellationToken.None;

    public CancellationToken ApplicationStopping => _stopping.Token;

    public CancellationToken ApplicationStopped => CancellationToken.None;

    public void StopApplication() => _stopping.Cancel();

    public void Dispose() => _stopping.Dispose();
}
