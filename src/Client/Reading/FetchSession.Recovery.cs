namespace EQueue.Client;

/// <content>After a failure: a new session, when there is a connection again.</content>
internal sealed partial class FetchSession
{
    /// <summary>In a row: of the recovery, which has no fetch beside it, and reset by an answer.</summary>
    private int _failures;

    /// <summary>
    /// Begins a new session: at once where the old one ended in order, else with a connection and a pause.
    /// </summary>
    private void Recover(EQueueException failure)
    {
        if (failure.Code == ErrorCode.ConnectionLost)
            Member?.OnConnectionLost();
        lock (_gate)
        {
            _sessionId = 0;
            if (_isClosed || _isRecovering)
                return;
            if (failure.Code is not (ErrorCode.UnknownFetchSession or ErrorCode.DivergingEpoch))
            {
                _isRecovering = true;
                Task previous = _recovery;
                _recovery = Task.Run(() => RecoverAsync(failure, previous));
                return;
            }
        }

        Pump();
    }

    private async Task RecoverAsync(EQueueException failure, Task previous)
    {
        await previous.ConfigureAwait(false);
        EQueueException? fault =
            Link.IsStale || !(failure.IsRetriable || failure.Code == ErrorCode.InternalError) ? failure : null;
        try
        {
            if (fault is null)
            {
                Log.FetchInterrupted(_logger, Link.Address, failure.Message);
                int failures = failure.Code == ErrorCode.ConnectionLost ? _failures++ : ++_failures;
                await _client.PauseAsync(failures, _closing.Token, failure.RetryAfter).ConfigureAwait(false);
                await Link.ConnectAsync(Timeout.InfiniteTimeSpan, _closing.Token).ConfigureAwait(false);
            }
        }
        catch (OperationCanceledException)
        {
            return;
        }
        catch (EQueueException exception)
        {
            if (_closing.IsCancellationRequested)
                return;
            fault = exception;
        }

        lock (_gate)
        {
            _isRecovering = false;
            _hasFailed = fault is not null;
        }

        if (fault is null)
            Pump();
        else
            _stream.Fail(fault);
    }
}
