using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;

namespace EQueue.Remoting;

/// <summary>The outcome of one blocking call; each thread has one of its own and uses it again.</summary>
[SuppressMessage("Design", "CA1001", Justification = "Lives as long as its thread.")]
internal sealed class BlockingCall : IResponseSink
{
    [ThreadStatic]
    private static BlockingCall? _ofThread;

    private readonly ManualResetEventSlim _done = new(initialState: false);
    private ResponseFrame _response;
    private RemotingException? _exception;

    /// <summary>The calling thread's own; it blocks in one call at a time.</summary>
    public static BlockingCall OfThread => _ofThread ??= new BlockingCall();

    /// <inheritdoc/>
    public void OnResponse(long token, ResponseFrame response)
    {
        _response = response;
        _done.Set();
    }

    /// <inheritdoc/>
    public void OnFailure(long token, RemotingException exception)
    {
        _exception = exception;
        _done.Set();
    }

    /// <summary>Waits for the outcome. The call's own timeout ends it, or this thread when the timer is
    /// late.</summary>
    public ResponseFrame Wait(InFlightRing ring, uint id, TimeSpan timeout)
    {
        try
        {
            if (!_done.Wait(timeout))
            {
                ring.Fail(id, Failures.TimedOut($"no answer within {timeout}"));
                _done.Wait();
            }
        }
        catch (ThreadInterruptedException)
        {
            // The answer may be on its way to this object: the thread's next call gets another one.
            _ofThread = null;
            ring.Fail(id, Failures.TimedOut("the calling thread was interrupted"));
            if (_done.IsSet)
                _response.Dispose();
            throw;
        }

        (ResponseFrame response, RemotingException? exception) = (_response, _exception);
        Debug.Assert(_done.IsSet, "The outcome is there.");
        (_response, _exception) = (default, null);
        _done.Reset();
        return exception is null ? response : throw exception;
    }
}
