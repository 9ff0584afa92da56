namespace EQueue.Remoting;

/// <content>Cancellation: one registration with a token for all calls that are made with it in a row.</content>
internal sealed partial class InFlightRing
{
    private readonly Stack<WatchedToken> _unused = new();
    private WatchedToken? _watched;

    /// <summary>The watch for a call with this token; not under <see cref="Gate"/>.</summary>
    public Watching WatchFor(CancellationToken cancellationToken)
    {
        if (!cancellationToken.CanBeCanceled)
            return default;
        WatchedToken? watched = Volatile.Read(ref _watched);
        if (watched is not null && watched.Token == cancellationToken)
            return new Watching(watched, IsNew: false, cancellationToken);

        using (Gate.Enter())
            _unused.TryPop(out watched);
        watched ??= new WatchedToken(this);
        watched.Begin(cancellationToken);
        return new Watching(watched, IsNew: true, cancellationToken);
    }

    /// <summary>No slot was taken with this watch.</summary>
    public void GiveUp(in Watching watching)
    {
        if (watching.IsNew)
            EndRegistration(watching.Watched!);
    }

    /// <summary>A cancelled token's calls fail. Those that are made from now on see for themselves.</summary>
    public void FailCancelled(WatchedToken watched)
    {
        Gate.Pass();
        if (watched.HasOne)
        {
            Fail(watched.FirstId, Failures.Cancelled(watched.Token));
            return;
        }

        foreach (PendingCall slot in Volatile.Read(ref _slots))
        {
            uint id = slot.ArmedId;
            if (id != 0 && ReferenceEquals(slot.Watched, watched))
                Fail(id, Failures.Cancelled(watched.Token));
        }
    }

    /// <summary>For the thread that armed a call: fails it if its token was cancelled before that could be
    /// told.</summary>
    public void FailIfCancelled(uint id, CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested)
            Fail(id, Failures.Cancelled(cancellationToken));
    }

    /// <summary>So many calls of a watch are over, and are not yet seen to be.</summary>
    public void Leave(WatchedToken watched, int count)
    {
        if (!watched.Leave(count))
            return;
        using (Gate.Enter())
        {
            if (!watched.TryClose())
                return;
            if (_watched == watched)
                Volatile.Write(ref _watched, null);
        }

        EndRegistration(watched);
    }

    /// <summary>Whether the last of the watch's calls is over meanwhile. Under <see cref="Gate"/>.</summary>
    private static bool IsStale(in Watching watching) => watching is { Watched: { } watched, IsNew: false }
        && (!watched.IsOpen || watched.Token != watching.Token);

    /// <summary>Under <see cref="Gate"/>; not when it is stale.</summary>
    private void Join(in Watching watching, uint id)
    {
        if (!watching.IsNew)
        {
            watching.Watched?.Join();
            return;
        }

        watching.Watched!.Open(id);
        Volatile.Write(ref _watched, watching.Watched);
    }

    private void EndRegistration(WatchedToken watched)
    {
        if (!watched.TryEnd())
            return;
        using (Gate.Enter())
            _unused.Push(watched);
    }

    /// <summary>What a call's token is watched by.</summary>
    /// <param name="Watched"><see langword="null"/> when it cannot be cancelled.</param>
    /// <param name="IsNew">Whether no call has it yet.</param>
    /// <param name="Token">The token.</param>
    internal readonly record struct Watching(WatchedToken? Watched, bool IsNew, CancellationToken Token);
}
