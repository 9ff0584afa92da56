using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>Tells offsets of queues: begin, end, by time, by key.</summary>
internal sealed partial class OffsetHandler(QueueStore store, TopicCatalogue catalogue)
{
    private const int MaxQuestions = 100_000;

    public async ValueTask<FindOffsetsResponse> FindAsync(
        BrokerConnection peer, FindOffsetsRequest request, CancellationToken cancellationToken)
    {
        if (request.Questions.Count > MaxQuestions)
        {
            throw RequestRules.Invalid(
                $"At most {MaxQuestions} queues are asked for at once; asked for {request.Questions.Count}.");
        }

        var access = PeerAccess.Of(peer);
        var answers = new OffsetAnswer[request.Questions.Count];
        for (int i = 0; i < answers.Length; i++)
            answers[i] = await FindAsync(access, request.Questions[i], cancellationToken);
        return new FindOffsetsResponse(answers);
    }

    private async ValueTask<OffsetAnswer> FindAsync(
        PeerAccess access, OffsetQuestion question, CancellationToken cancellationToken)
    {
        QueueId queue = question.Queue.Id;
        if (question.Queue.Log != 0
            || !catalogue.TryFindByQueue(queue, out Topic? topic)
            || !store.TryGetQueue(queue, out QueueView view))
        {
            return new OffsetAnswer(ErrorCode.UnknownQueue, new QueueOffset(-1));
        }

        if (!access.Permit(Opcode.FindOffsets, Permission.Describe, ResourceKind.Topic, topic.Name))
            return new OffsetAnswer(ErrorCode.NotAuthorized, new QueueOffset(-1));
        switch (question.TimeMs)
        {
            case OffsetQuestion.Begin:
                return new OffsetAnswer(ErrorCode.None, view.Start);
            case OffsetQuestion.End:
                return new OffsetAnswer(ErrorCode.None, view.End);
            case < 0:
                throw RequestRules.Invalid(
                    $"A time is -2 (begin), -1 (end) or 0 and more; asked for {question.TimeMs}.");
        }

        try
        {
            return new OffsetAnswer(
                ErrorCode.None, await store.FindOffsetAsync(queue, question.TimeMs, cancellationToken));
        }
        catch (EQueueException exception) when (exception.Code is ErrorCode.UnknownQueue or ErrorCode.DamagedData)
        {
            return new OffsetAnswer(exception.Code, new QueueOffset(-1));
        }
    }
}
