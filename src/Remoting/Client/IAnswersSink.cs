namespace EQueue.Remoting;

/// <summary>Receives several answers to one request, which is sent with <see cref="FrameFlags.More"/>.</summary>
/// <remarks>Each answer but the last has that flag too: the call goes on, and <see cref="IResponseSink.OnResponse"/> is
/// called again. The last call of the sink is for an answer without it, or for a failure; an answer that was on its way
/// when the call failed may still come after that, under the token of the call. A peer that does not know the flag
/// answers once.</remarks>
public interface IAnswersSink : IResponseSink
{
    /// <summary>How long the next answer may take after one that another follows; zero = the request is an ordinary
    /// one.</summary>
    TimeSpan LongestPause { get; }
}
