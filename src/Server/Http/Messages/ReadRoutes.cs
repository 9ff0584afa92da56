using System.Globalization;
using EQueue.Protocol;

namespace EQueue.Server.Http;

/// <summary>The routes that read messages and look them up.</summary>
internal static class ReadRoutes
{
    private const int MostQueues = 64;
    private const int OneBatch = 1;
    private const int PieceBytes = 1 << 20;

    private const string Messages = "/api/v1/topics/{topic}/messages";
    private const string QueueMessages = "/api/v1/topics/{topic}/queues/{queue}/messages";

    private static readonly ApiParameter Encoding =
        ApiParameter.Choice("encoding", "base64: never as text", "text", "base64");

    private static readonly ApiParameter From =
        ApiParameter.Text("from", "begin (unless set), end, an offset, or a time");

    private static readonly ApiParameter OneQueue =
        ApiParameter.Number("queue", "The number of a queue of the topic", 0, int.MaxValue);

    public static IReadOnlyList<ApiRoute> All { get; } =
    [
        ApiRoute.Of("GET", QueueMessages, "readMessages", "Reads messages of a queue", ReadAsync) with
        {
            Memory = static call => call.ReadMemory(call.QueryNumber("maxBytes") ?? PieceBytes),
            Query =
            [
                From,
                ApiParameter.Number("limit", "Messages at most", 1, 1_000, 100),
                ApiParameter.Number("maxBytes", "Bytes of the log at most", 1, ApiCall.MostAnswerBytes, PieceBytes),
                ApiParameter.Number("waitMs", "How long to wait for the first one", 0, 600_000, 0),
                ApiParameter.Text("tag", "Only messages with this tag"),
                Encoding,
            ],
        },
        ApiRoute.Of("GET", $"{QueueMessages}/{{offset}}", "readMessage", "Reads one message", ReadOneAsync) with
        {
            Memory = static call => call.ReadMemory(OneBatch),
            Query = [Encoding],
        },
        ApiRoute.Of("GET", $"{Messages}/latest", "readLatest", "Reads the latest messages", ReadLatestAsync) with
        {
            Memory = static call => call.ReadMemory(ApiCall.MostAnswerBytes),
            Query = [ApiParameter.Number("count", "Messages at most", 1, 100, 20), OneQueue, Encoding],
        },
        ApiRoute.Of("GET", $"{Messages}/by-key", "findByKey", "Finds messages with a key", FindByKeyAsync) with
        {
            Memory = static call => call.ReadMemory(ApiCall.MostAnswerBytes),
            Query =
            [
                ApiParameter.Text("key", "The key as text; it or keyBase64"),
                ApiParameter.Text("keyBase64", "The key as base64"),
                OneQueue with { Description = "A queue's number; unless set, the one that the key belongs to" },
                From,
                ApiParameter.Number("limit", "Messages at most", 1, 100, 20),
                Encoding,
            ],
        },
    ];

    private static async Task<MessagePage> ReadAsync(ApiCall call)
    {
        var wait = TimeSpan.FromMilliseconds((double)call.QueryNumber("waitMs")!);
        if (wait > call.Timeout)
            throw ApiException.OfValue("waitMs", call.Query("waitMs"), $"0 to {call.Timeout.TotalMilliseconds}");
        QueueRead queue = await OpenAsync(call, call.PathNumber("queue", int.MaxValue), call.Query("tag"));
        long from = await FindStartAsync(call, queue);
        int limit = (int)call.QueryNumber("limit")!;
        int maxBytes = Math.Min((int)call.QueryNumber("maxBytes")!, call.AnswerBytes);
        MessagePage page = await queue.ReadAsync(from, limit, maxBytes);
        if (page.Messages.Count > 0 || page.Unreadable.Count > 0 || wait == TimeSpan.Zero)
            return page;
        await call.WaitAsync(queue.WaitAsync(page.NextOffset, wait));
        return await queue.ReadAsync(page.NextOffset, limit, maxBytes);
    }

    private static async Task<MessageBody> ReadOneAsync(ApiCall call)
    {
        QueueRead queue = await OpenAsync(call, call.PathNumber("queue", int.MaxValue), tag: null);
        long offset = call.PathNumber("offset", long.MaxValue);
        (long start, long end) = await queue.FindEndsAsync();
        MessagePage? page = offset >= start && offset < end
            ? await queue.ReadAsync(offset, limit: 1, OneBatch) : null;
        if (page?.Unreadable.FirstOrDefault(range => range.From <= offset && offset < range.To) is { } unreadable)
            throw new EQueueException(ErrorCode.DamagedData, $"Message {offset} cannot be read: {unreadable.Message}.");
        return page?.Messages is [{ } found] && found.Offset == offset
            ? found
            : throw new ApiException(ApiProblem.Of(
                ErrorCode.OffsetOutOfRange,
                $"There is no message {offset}: the queue has offsets {start} to {end}.",
                status: StatusCodes.Status404NotFound));
    }

    private static async Task<LatestBody> ReadLatestAsync(ApiCall call)
    {
        int count = (int)call.QueryNumber("count")!;
        IReadOnlyList<QueueRoute> queues = await TopicRoutes.RouteAsync(call, autoCreate: false);
        if (call.QueryNumber("queue") is { } number)
            queues = [At(queues, number)];
        if (queues.Count > MostQueues)
            throw ApiException.OfValue("queue", null, $"one of the topic's {queues.Count}: of more than {MostQueues}");
        List<MessageBody> found = [];
        var unreadable = new List<UnreadableBody>();
        foreach (QueueRoute route in queues)
        {
            found.AddRange(await ReadTailAsync(
                Open(call, route, tag: null), count, call.AnswerBytes, unreadable));
            found = KeepLatest(found, count, call.AnswerBytes);
        }

        return new LatestBody(found, unreadable);
    }

    /// <summary>The latest messages, as many as may be, oldest first.</summary>
    private static List<MessageBody> KeepLatest(List<MessageBody> found, int count, int mostBytes)
    {
        MessageBody[] latest =
        [
            .. found.OrderBy(static message => message.StoredTime).ThenBy(static message => message.Queue)
                .ThenBy(static message => message.Offset).TakeLast(count),
        ];
        long bytes = 0;
        int first = latest.Length;
        while (first > 0 && (bytes == 0 || bytes + BytesOf(latest[first - 1]) <= mostBytes))
            bytes += BytesOf(latest[--first]);
        return [.. latest.Skip(first)];
    }

    private static int BytesOf(MessageBody message) =>
        1 + (message.Body?.Length ?? 0) + (message.BodyBase64?.Length ?? 0);

    /// <summary>The last messages of one queue.</summary>
    private static async Task<List<MessageBody>> ReadTailAsync(
        QueueRead queue, int count, int mostBytes, List<UnreadableBody> unreadable)
    {
        (long start, long end) = await queue.FindEndsAsync();
        var found = new List<MessageBody>();
        long next = Math.Max(start, end - count);
        while (next < end)
        {
            MessagePage page = await queue.ReadAsync(next, count, Math.Min(PieceBytes, mostBytes));
            found.AddRange(page.Messages.Where(message => message.Offset < end));
            found = KeepLatest(found, count, mostBytes);
            unreadable.AddRange(page.Unreadable);
            if (page.NextOffset <= next)
                break;
            next = page.NextOffset;
        }

        return found;
    }

    private static async Task<KeyPage> FindByKeyAsync(ApiCall call)
    {
        byte[] key = ReadKey(call);
        IReadOnlyList<QueueRoute> queues = await TopicRoutes.RouteAsync(call, autoCreate: false);
        QueueRoute route = At(queues, call.QueryNumber("queue") ?? Murmur2.QueueOf(key, queues.Count));
        QueueRead queue = Open(call, route, tag: null);
        int limit = (int)call.QueryNumber("limit")!;
        FindByKeyResponse found = await queue.FindByKeyAsync(new FindByKeyRequest
        {
            Key = key,
            From = new QueueOffset(await FindStartAsync(call, queue)),
            MaxCount = limit,
        });
        var messages = new List<MessageBody>();
        long next = found.NextOffset.Value;
        long bytes = 0;
        foreach (QueueOffset offset in found.Offsets)
        {
            if (bytes >= call.AnswerBytes)
            {
                next = offset.Value;
                break;
            }

            IReadOnlyList<MessageBody> one = (await queue.ReadAsync(offset.Value, limit: 1, OneBatch)).Messages;
            bytes += one.Sum(BytesOf);
            messages.AddRange(one);
        }

        return new KeyPage(
            route.Number, messages, next, next >= found.VisibleEnd.Value, found.UnreadableCount);
    }

    private static byte[] ReadKey(ApiCall call)
    {
        (string? text, string? base64) = (call.Query("key"), call.Query("keyBase64"));
        if ((text is null) == (base64 is null))
            throw ApiException.OfValue("key, keyBase64", text, "exactly one of the two");
        if (text is not null)
            return System.Text.Encoding.UTF8.GetBytes(text);
        byte[] bytes = new byte[base64!.Length];
        return Convert.TryFromBase64String(base64, bytes, out int written)
            ? bytes[..written] : throw ApiException.OfValue("keyBase64", base64, "base64");
    }

    private static async Task<QueueRead> OpenAsync(ApiCall call, long number, string? tag) =>
        Open(call, At(await TopicRoutes.RouteAsync(call, autoCreate: false), number), tag);

    private static QueueRead Open(ApiCall call, QueueRoute route, string? tag) => new(call, route, tag)
    {
        IsBase64 = call.Query("encoding") switch
        {
            null or "text" => false,
            "base64" => true,
            string other => throw ApiException.OfValue("encoding", other, "text or base64"),
        },
    };

    private static QueueRoute At(IReadOnlyList<QueueRoute> queues, long number) => number < queues.Count
        ? queues[(int)number]
        : throw new ApiException(
            ApiProblem.Of(ErrorCode.UnknownQueue, $"queue is '{number}': allowed is 0 to {queues.Count - 1}.") with
            {
                What = "queue",
                Value = $"{number}",
                Allowed = $"0 to {queues.Count - 1}",
            });

    private static async Task<long> FindStartAsync(ApiCall call, QueueRead queue)
    {
        string? text = call.Query("from");
        if (long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out long offset))
            return offset;
        if (text is null or "begin" or "end" || ApiTime.TryReadMs(text, out _))
            return await queue.FindAsync(TopicRoutes.ReadQuestion("from", text));
        throw ApiException.OfValue("from", text, $"begin, end, an offset, or {ApiTime.Allowed}");
    }
}
