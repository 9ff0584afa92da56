using Microsoft.Extensions.Logging;

namespace EQueue.Remoting;

/// <summary>Makes loggers in whose lines text of a peer is printable, as with <see cref="GuardedLogger"/>; nothing is
/// counted instead of logged. Thread-safe.</summary>
/// <param name="factory">Where it all goes; its owner disposes it.</param>
/// <param name="time">For the loggers.</param>
public sealed class PrintableLoggerFactory(ILoggerFactory factory, TimeProvider time) : ILoggerFactory
{
    /// <inheritdoc/>
    public ILogger CreateLogger(string categoryName) =>
        new GuardedLogger(factory.CreateLogger(categoryName), time) { IsCounting = false };

    /// <inheritdoc/>
    public void AddProvider(ILoggerProvider provider) => factory.AddProvider(provider);

    /// <summary>Nothing: the factory within is its owner's.</summary>
    public void Dispose()
    {
        // There is nothing of its own.
    }
}
