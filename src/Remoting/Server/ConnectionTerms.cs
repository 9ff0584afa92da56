using Microsoft.Extensions.Logging;

namespace EQueue.Remoting;

/// <summary>What all connections of a server have in common.</summary>
/// <param name="Options">The server's.</param>
/// <param name="ReceiveBudget">Bounds the memory of what has come and was not read.</param>
/// <param name="SendBudget">Bounds the memory of what the peers have not taken.</param>
/// <param name="Logger">Where to log.</param>
/// <param name="Time">Measures timeouts.</param>
internal sealed record ConnectionTerms(
    RemotingServerOptions Options,
    ReceiveBudget ReceiveBudget,
    SendBudget SendBudget,
    ILogger Logger,
    TimeProvider Time);
