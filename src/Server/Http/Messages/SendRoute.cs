using EQueue.Protocol;

namespace EQueue.Server.Http;

/// <summary>Sends messages: one produce request for each batch, all under way at once, in order.</summary>
internal sealed class SendRoute(TimeProvider time)
{
    private const int MostMessages = 10_000;

    private uint _turn;

    public ApiRoute ToRoute() => ApiRoute.Of<SendBody, ReceiptsBody>(
        "POST", "/api/v1/topics/{topic}/messages", "sendMessages", "Stores messages", SendAsync) with
    {
        OtherStatus = StatusCodes.Status207MultiStatus,
    };

    private async Task<ReceiptsBody> SendAsync(ApiCall call, SendBody body)
    {
        if (body.Messages.Count is < 1 or > MostMessages)
            throw ApiException.OfValue("messages", $"{body.Messages.Count} of them", $"1 to {MostMessages}");
        int most = (int)call.Timeout.TotalMilliseconds;
        if (body.TimeoutMs is { } asked && (asked < 1 || asked > most))
            throw ApiException.OfValue("timeoutMs", $"{asked}", $"1 to {most}");
        // Before a topic is made for it.
        call.Asker.Check(Opcode.Produce, Permission.Write, ResourceKind.Topic, call.Topic);
        PostedMessage[] messages = [.. body.Messages.Select(OutgoingRecord.Read)];
        (IReadOnlyList<QueueRoute> queues, bool isMade) = await RouteAsync(call, body.CreateTopic);
        if (body.Queue is { } queue && (queue < 0 || queue >= queues.Count))
            throw ApiException.OfValue("queue", $"{queue}", $"0 to {queues.Count - 1}");
        HelloResponse limits = await call.AskAsync(link => link.ConnectAsync(call.LongestWait, call.Token));
        var plan = new PostPlan(queues, Interlocked.Increment(ref _turn), limits);
        foreach (PostedMessage message in messages)
            plan.Add(message, body.Queue);
        return new ReceiptsBody(
            await SendAsync(call, plan, (Durability)body.Durability, body.TimeoutMs ?? most), isMade);
    }

    /// <summary>Where the topic's queues are, and whether it was made for that.</summary>
    private static async Task<(IReadOnlyList<QueueRoute> Queues, bool IsMade)> RouteAsync(ApiCall call, bool mayMake)
    {
        try
        {
            return (await TopicRoutes.RouteAsync(call, autoCreate: false), false);
        }
        catch (EQueueException exception) when (mayMake && exception.Code == ErrorCode.UnknownTopic)
        {
            return (await TopicRoutes.RouteAsync(call, autoCreate: true), true);
        }
    }

    private async Task<ReceiptBody[]> SendAsync(ApiCall call, PostPlan plan, Durability durability, int deadlineMs)
    {
        long nowMs = time.GetUtcNow().ToUnixTimeMilliseconds();
        Task<ProduceResult>[] sending =
        [
            .. plan.Batches.Select(batch => call.AskAsync(link => batch.SendAsync(
                link, durability, deadlineMs, nowMs, call.LongestWait, call.Token))),
        ];
        await ((Task)Task.WhenAll(sending)).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        var receipts = new ReceiptBody[plan.Batches.Sum(static batch => batch.Messages.Count)];
        EQueueException? failure = null;
        bool isAnyStored = false;
        for (int i = 0; i < sending.Length; i++)
        {
            PostBatch batch = plan.Batches[i];
            EQueueException? refused = await FindRefusalAsync(sending[i]);
            failure ??= refused;
            isAnyStored |= refused is null;
            for (int delta = 0; delta < batch.Messages.Count; delta++)
            {
                receipts[batch.Messages[delta].Index] = refused is null
                    ? Stored(batch.Queue, await sending[i], delta)
                    : Refused(batch.Queue, refused);
            }
        }

        if (failure is not null && !isAnyStored)
            throw failure;
        if (failure is not null)
            call.UseOtherStatus();
        return receipts;
    }

    /// <summary>Why a batch is not stored, or not known to be; null: it is.</summary>
    private static async Task<EQueueException?> FindRefusalAsync(Task<ProduceResult> sending)
    {
        try
        {
            await sending;
            return null;
        }
        catch (EQueueException exception)
        {
            return exception;
        }
    }

    private static ReceiptBody Stored(int queue, in ProduceResult result, int delta) => new(
        queue,
        result.FirstOffset.Value + delta,
        BodyTime.Of(result.StoredTimeMs),
        (DurabilityWish)result.Level,
        Error: null);

    private static ReceiptBody Refused(int queue, EQueueException refused)
    {
        var problem = ApiProblem.Of(refused);
        return new ReceiptBody(
            queue, null, null, null,
            new ReceiptError(problem.Code, problem.Detail, problem.Retriable, problem.RetryAfterMs));
    }
}
