using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>Stands before a broker, and ends the connection in place of the next answer when it is told to.</summary>
internal sealed class AnswerCutter(string broker) : TcpRelay(broker)
{
    private int _toCut;

    /// <summary>Answers still to be cut.</summary>
    public int ToCut
    {
        get => Volatile.Read(ref _toCut);
        set => Volatile.Write(ref _toCut, value);
    }

    protected override ValueTask<bool> PassAsync(Memory<byte> bytes, bool isAnswer, CancellationToken end)
    {
        if (!isAnswer)
            return new(true);
        bool isCut = Interlocked.Decrement(ref _toCut) >= 0;
        if (!isCut)
            Interlocked.Increment(ref _toCut);
        return new(!isCut);
    }
}
