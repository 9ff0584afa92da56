using EQueue.MessageStore;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>What all modules of one broker share; made when its store is open.</summary>
internal sealed class ModuleContext
{
    /// <param name="options">How the broker runs.</param>
    /// <param name="store">Its store.</param>
    /// <param name="state">Its state, as the store has brought it back.</param>
    /// <param name="time">Its clock.</param>
    /// <param name="logger">Where it logs.</param>
    /// <param name="isNode">Whether it serves for a node of a cluster.</param>
    public ModuleContext(
        BrokerOptions options,
        QueueStore store,
        BrokerState state,
        TimeProvider time,
        GuardedLogger logger,
        bool isNode)
    {
        (Options, Store, State, Time, Logger, IsNode) = (options, store, state, time, logger, isNode);
        Ledger = new MemoryLedger(options.Limits, store, state.Groups);
        Failures = new FailureAnswers(Counters, logger);
    }

    public BrokerOptions Options { get; }

    public LimitOptions Limits => Options.Limits;

    public QueueStore Store { get; }

    public BrokerState State { get; }

    public TimeProvider Time { get; }

    public GuardedLogger Logger { get; }

    /// <summary>Whether it serves for a node of a cluster.</summary>
    public bool IsNode { get; }

    /// <summary>What the broker counts.</summary>
    public BrokerCounters Counters { get; } = new();

    /// <summary>The memory that it keeps for peers.</summary>
    public MemoryLedger Ledger { get; }

    /// <summary>Answers requests that fail.</summary>
    public FailureAnswers Failures { get; }
}
