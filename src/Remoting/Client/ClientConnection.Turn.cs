using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace EQueue.Remoting;

/// <content>Whose turn it is to receive: usually the loop's; between blocking calls, one after the other, the caller's
/// who waits anyway. That spares the hand-over from the loop's thread to the caller's.</content>
internal sealed partial class ClientConnection
{
    private const int LoopsTurn = 0;
    private const int FreeTurn = 1;
    private const int CallersTurn = 2;

    private static readonly TimeSpan LongestWait = TimeSpan.FromMilliseconds(50);

    private int _turn;
    private TaskCompletionSource _resume = new();
    private Task<bool>? _filling;
    private PromptPeer _peer;
    private bool _isCalledInTurn;
    private bool _isFreeSinceWatch;

    /// <summary>Sends the request of an armed slot and blocks until its call is over, or the time is.</summary>
    public void SendAndReceive(
        FrameBuffer request, byte opcode, byte version, uint id, BlockingCall call, TimeSpan timeout)
    {
        SendAlone(request, opcode, version, id, inline: true);
        if (Interlocked.CompareExchange(ref _turn, CallersTurn, FreeTurn) == FreeTurn)
            ReceiveFor(call, timeout);
    }

    /// <summary>Notes whether the last answer was a blocking call's. Written only when that changes: who calls reads
    /// what lies beside it.</summary>
    private void NoteTurn(bool isCalledInTurn)
    {
        if (_isCalledInTurn != isCalledInTurn)
            _isCalledInTurn = isCalledInTurn;
    }

    /// <summary>The loop's wait for something to read. After the answer to a lone blocking call it lets the turn go,
    /// and waits until it is the loop's again.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<bool> FillAsync()
    {
        if (!_isCalledInTurn || !_wire.IsBare || _ring.InFlight > 0)
            return await _reader.FillAsync().ConfigureAwait(false);

        _isCalledInTurn = false;
        _resume = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        LetTurnGo();
        await _resume.Task.ConfigureAwait(false);
        Task<bool>? filling = _filling;
        _filling = null;
        return await (filling ?? _reader.FillAsync().AsTask()).ConfigureAwait(false);
    }

    /// <summary>The caller receives and hands out what comes, its own answer and others', until its call is
    /// over.</summary>
    private void ReceiveFor(BlockingCall call, TimeSpan timeout)
    {
        long began = _time.GetTimestamp();
        try
        {
            while (!call.IsOver && _filling is null && !IsOver(began, timeout))
            {
                long waiting = Stopwatch.GetTimestamp();
                if (!_peer.Spin(_wire) && !_wire.Wait(LongestWait))
                    continue;
                _peer.Note(Stopwatch.GetElapsedTime(waiting));
                Task<bool> filling = _reader.FillAsync().AsTask();
                if (filling.IsCompletedSuccessfully && filling.Result)
                    ReadFrames();
                else
                    _filling = filling;
            }
        }
        catch (Exception exception)
        {
            _filling = Task.FromException<bool>(exception);
        }

        if (_filling is null)
        {
            LetTurnGo();
            return;
        }

        // What is not there yet, the end and errors are the loop's.
        Volatile.Write(ref _turn, LoopsTurn);
        _resume.SetResult();
    }

    private bool IsOver(long began, TimeSpan timeout) =>
        timeout >= TimeSpan.Zero && _time.GetElapsedTime(began) >= timeout;

    /// <summary>The turn is free until the next call. A caller that came in between, not in turn, needs the
    /// loop.</summary>
    private void LetTurnGo()
    {
        Volatile.Write(ref _isFreeSinceWatch, false);
        Interlocked.Exchange(ref _turn, FreeTurn);
        _watchSoon();
        _ring.Gate.Pass();
        if (_ring.InFlight > 0 || IsClosed)
            ResumeLoop();
    }

    private void ResumeLoop()
    {
        if (Interlocked.CompareExchange(ref _turn, LoopsTurn, FreeTurn) == FreeTurn)
            _resume.SetResult();
    }

    /// <summary>Called by the client's timer: between calls that are not one after the other the loop receives, for the
    /// peer may have something to say.</summary>
    /// <returns>Whether the turn is free.</returns>
    private bool WatchTurn()
    {
        if (Volatile.Read(ref _turn) != FreeTurn)
            return false;
        if (_isFreeSinceWatch)
            ResumeLoop();
        else
            Volatile.Write(ref _isFreeSinceWatch, true);
        return true;
    }
}
