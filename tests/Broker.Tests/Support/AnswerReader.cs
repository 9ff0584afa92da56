using System.Threading.Channels;
using EQueue.Remoting;

namespace EQueue.Broker.Tests;

/// <summary>The answers to one request that takes several.</summary>
internal sealed class AnswerReader : IAnswersSink
{
    private readonly Channel<(Fetched? Answer, bool IsFollowed, Exception? Failure)> _answers =
        Channel.CreateUnbounded<(Fetched?, bool, Exception?)>();

    TimeSpan IAnswersSink.LongestPause => TestPeer.Patience;

    /// <summary>The next answer, and whether the broker says that another follows.</summary>
    public async Task<(Fetched Answer, bool IsFollowed)> NextAsync()
    {
        (Fetched? answer, bool isFollowed, Exception? failure) =
            await _answers.Reader.ReadAsync().AsTask().WaitAsync(TestPeer.Patience);
        return failure is null ? (answer!, isFollowed) : throw failure;
    }

    void IResponseSink.OnResponse(long token, ResponseFrame response)
    {
        bool isFollowed = response.Header.Flags.HasFlag(FrameFlags.More);
        try
        {
            _answers.Writer.TryWrite((Messages.ReadFetched(response), isFollowed, null));
        }
        catch (Exception exception)
        {
            _answers.Writer.TryWrite((null, false, exception));
        }
    }

    void IResponseSink.OnFailure(long token, RemotingException exception) =>
        _answers.Writer.TryWrite((null, false, exception));
}
