namespace EQueue.Client;

/// <summary>The sends of a topic that wait for its route or for memory: those that go on as soon as some of the route
/// is known, and those with keys, which need the whole of it.</summary>
/// <remarks>Owns both lines and counts the sends in them. Thread-safe.</remarks>
internal sealed class SendLines
{
    private readonly SendLine _line;
    private readonly SendLine _keyedLine;
    private readonly Lock _gate = new();
    private CancellationTokenSource? _noneWaits;
    private int _waiting;

    public SendLines(SendTerms terms, IAdmission topic)
    {
        Terms = terms;
        Topic = topic;
        _keyedLine = new SendLine(this, aside: null);
        _line = new SendLine(this, _keyedLine);
    }

    public SendTerms Terms { get; }

    public IAdmission Topic { get; }

    /// <summary>Whether any send waits.</summary>
    public bool IsWaitedFor => !_line.IsEmpty || !_keyedLine.IsEmpty;

    /// <summary>Sends that wait.</summary>
    public int Count => _line.Count + _keyedLine.Count;

    /// <summary>Whether no send waits that a message would overtake.</summary>
    public bool IsFree(bool isKeyed) => _line.IsEmpty && (!isKeyed || _keyedLine.IsEmpty);

    /// <summary>Has a message wait for its turn, the route and memory.</summary>
    public WaitingSend Add(
        in RecordContent content, SendCallback? callback, object? state, CancellationToken cancellationToken)
    {
        WaitingSend send = new(this, new MessageCopy(content), callback, state, cancellationToken);
        (send.IsKeyed && _line.IsEmpty && !_keyedLine.IsEmpty ? _keyedLine : _line).Add(send);
        return send;
    }

    /// <summary>Waits for all sends that wait already; none continues before the turn is disposed.</summary>
    /// <param name="keysAsWell">False when those that wait for the whole route are not to be waited for.</param>
    /// <param name="cancellationToken">Gives up.</param>
    public async ValueTask<IDisposable> TakeTurnAsync(bool keysAsWell, CancellationToken cancellationToken)
    {
        LineTurn turn = new();
        LineTurn keyedTurn = new();
        BothTurns turns = new(turn, keyedTurn);
        _line.Add(turn);
        try
        {
            await turn.Granted.WaitAsync(cancellationToken).ConfigureAwait(false);

            // From here on no send steps aside.
            if (keysAsWell && !_keyedLine.IsEmpty)
            {
                _keyedLine.Add(keyedTurn);
                await keyedTurn.Granted.WaitAsync(cancellationToken).ConfigureAwait(false);
            }
        }
        catch
        {
            turns.Dispose();
            throw;
        }

        return turns;
    }

    /// <summary>Waits for all sends that wait already; those without keys go on meanwhile.</summary>
    public async ValueTask PassAsync(CancellationToken cancellationToken)
    {
        using (await TakeTurnAsync(keysAsWell: false, cancellationToken).ConfigureAwait(false))
        {
            // What stood before it with a key stands in the other line now.
        }

        using LineTurn turn = new();
        _keyedLine.Add(turn);
        await turn.Granted.WaitAsync(cancellationToken).ConfigureAwait(false);
    }

    /// <inheritdoc cref="SendLine.WhenEmpty"/>
    public async Task WhenEmpty()
    {
        await _line.WhenEmpty().ConfigureAwait(false);
        await _keyedLine.WhenEmpty().ConfigureAwait(false);
    }

    /// <summary>A send begins to wait.</summary>
    public void BeginWait()
    {
        lock (_gate)
            _waiting++;
    }

    /// <summary>It was admitted or gave up.</summary>
    public void EndWait()
    {
        CancellationTokenSource? ended = null;
        lock (_gate)
        {
            if (--_waiting == 0)
                (ended, _noneWaits) = (_noneWaits, null);
        }

        ended?.Cancel();
    }

    /// <summary>Ends when no send waits any more: what is waited for on their behalf is of no use then.</summary>
    public CancellationToken WhileAnyWaits()
    {
        lock (_gate)
        {
            return _waiting == 0
                ? new CancellationToken(canceled: true) : (_noneWaits ??= new CancellationTokenSource()).Token;
        }
    }

    /// <summary>The turn in both lines.</summary>
    private sealed class BothTurns(LineTurn turn, LineTurn keyedTurn) : IDisposable
    {
        public void Dispose()
        {
            turn.Dispose();
            keyedTurn.Dispose();
        }
    }
}
