using System.Buffers;
using System.Globalization;
using System.IO.Pipelines;
using EQueue.Broker;
using EQueue.Protocol;
using EQueue.Server.Configuration;

namespace EQueue.Server.Http;

/// <summary>One request of the API: its parameters, its body, the broker, and its answer.</summary>
/// <remarks>Used by one flow at a time.</remarks>
internal sealed partial class ApiCall(
    HttpContext http,
    ApiRoute route,
    HttpAsker asker,
    AskerClients? clients,
    AdminOptions options,
    CancellationToken cancellationToken)
    : IAsyncDisposable
{
    /// <summary>What a request may take beyond what it waits.</summary>
    public static readonly TimeSpan Grace = TimeSpan.FromSeconds(5);

    /// <summary>Bytes of messages that one answer may hold anywhere.</summary>
    public const int MostAnswerBytes = 8 << 20;

    private const int PieceBytes = 64 << 10;

    /// <summary>What a byte of the log takes when it is read into objects and written as JSON: one in the broker's
    /// answer, two as text, and up to three escaped.</summary>
    private const int AnswerFactor = 6;

    private AskerClient? _client;
    private EQueueBroker? _lender;
    private long _takenBytes;
    private int _longestMessage;
    private volatile bool _isLeftOpen;
    private int _status;

    public HttpContext Http { get; } = http;

    public ApiRoute Route { get; } = route;

    /// <summary>Who asks.</summary>
    public HttpAsker Asker { get; } = asker;

    /// <summary>How long the request may wait at the broker.</summary>
    public TimeSpan Timeout { get; } = options.RequestTimeout;

    /// <summary>When the broker is given up: it keeps its own deadlines before.</summary>
    public TimeSpan LongestWait => Timeout + Grace;

    /// <summary>The asker is gone or not admitted any more, the time is over, or the server stops.</summary>
    public CancellationToken Token { get; } = cancellationToken;

    public string Topic => PathValue("topic");

    public string Group => PathValue("group");

    /// <summary>The way to the broker, of this request alone.</summary>
    public AskerClient Client => _client ??= (clients ?? throw new EQueueException(ErrorCode.Unreachable)).Rent(
        new InProcessWord(Asker.Principal, Asker.Address), KeptClient);

    private KeptClient KeptClient => AdminPlace.Of(Http).Client;

    /// <summary>Bytes of messages that one answer holds at most; a single larger message is given whole.</summary>
    public int AnswerBytes { get; private set; } = MostAnswerBytes;

    /// <summary>What reading messages may take in memory.</summary>
    /// <param name="bytes">Wanted of the log.</param>
    public long ReadMemory(long bytes) =>
        AnswerFactor * Math.Max(Math.Min(bytes, AnswerBytes), _longestMessage);

    /// <summary>Waits for the memory that the request may take.</summary>
    /// <param name="broker">Whose memory.</param>
    public async Task TakeMemoryAsync(EQueueBroker broker)
    {
        AnswerBytes = (int)Math.Min(MostAnswerBytes, broker.AdminMemoryBytes / AnswerFactor);
        _longestMessage = broker.MaxMessageBytes;
        long bytes = Route.Memory(this);
        await broker.TakeAdminMemoryAsync(bytes, Token);
        (_lender, _takenBytes) = (broker, bytes);
    }

    /// <summary>Runs something that waits, without the memory of the request.</summary>
    public async Task WaitAsync(Task waiting)
    {
        EQueueBroker? lender = _lender;
        GiveMemory();
        await waiting;
        if (lender is not null)
            await TakeMemoryAsync(lender);
    }

    /// <summary>Bytes of the body: those that are announced, or as many as may be.</summary>
    public long BodyBytes => Route.RequestType is null ? 0 : Http.Request.ContentLength ?? options.MaxBodyBytes;

    /// <summary>Asks the broker.</summary>
    public Task<TResponse> InvokeAsync<TRequest, TResponse>(IRequest<TRequest, TResponse> request)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse> =>
        AskAsync(link => link.InvokeAsync(request, LongestWait, Token));

    /// <summary>Asks the broker over the request's connection.</summary>
    public Task<T> AskAsync<T>(Func<BrokerLink, ValueTask<T>> ask) => ObserveAsync(Client.AskAsync(ask, Token));

    /// <summary>Asks the broker as any program does.</summary>
    public Task<T> AdministerAsync<T>(Func<EQueueAdmin, ValueTask<T>> ask) => ObserveAsync(ask(Client.Admin));

    /// <summary>A failure with near names where the path or the query names what does not exist, of those that the
    /// asker may list.</summary>
    public async Task<EQueueException> AddNearNamesAsync(EQueueException failure) => failure.Code switch
    {
        // The client has added them.
        _ when failure.InnerException is EQueueException => failure,
        ErrorCode.UnknownTopic when FindName("topic") is { } topic =>
            await NearNames.AddAsync(failure, Client.Directory, topic),
        ErrorCode.UnknownGroup when FindName("group") is { } group =>
            await NearNames.AddGroupsAsync(failure, Client.Directory, group),
        _ => failure,
    };

    /// <summary>Answers with JSON and the route's status, or the other one.</summary>
    public async Task AnswerAsync<T>(T body)
    {
        PipeReader reader = await ApiJson.WriteAsync(body);
        try
        {
            ReadOnlySequence<byte> bytes = (await reader.ReadAsync(Token)).Buffer;
            KeepMemory(bytes.Length);
            Http.Response.StatusCode = _status == 0 ? Route.Status : _status;
            Http.Response.ContentType = ApiJson.ContentType;
            Http.Response.ContentLength = bytes.Length;
            foreach (ReadOnlyMemory<byte> piece in bytes)
                await WriteAsync(piece);
        }
        finally
        {
            await reader.CompleteAsync();
        }
    }

    /// <summary>Writes to the body, in pieces: a peer that takes none of one for
    /// <see cref="AdminOptions.SlowPeerGrace"/> is cut, however long the answer is.</summary>
    public async Task WriteAsync(ReadOnlyMemory<byte> bytes)
    {
        for (int at = 0; at < bytes.Length; at += PieceBytes)
        {
            ReadOnlyMemory<byte> piece = bytes.Slice(at, Math.Min(PieceBytes, bytes.Length - at));
            Task writing = Http.Response.Body.WriteAsync(piece, Http.RequestAborted).AsTask();
            try
            {
                await writing.WaitAsync(options.SlowPeerGrace);
            }
            catch (TimeoutException)
            {
                Http.Abort();
                await writing;
            }
        }
    }

    /// <summary>Has the answer leave with the route's other status.</summary>
    public void UseOtherStatus() => _status = Route.OtherStatus ?? Route.Status;

    /// <summary>A client whose last request was answered is kept for the next one of the connection.</summary>
    public async ValueTask DisposeAsync()
    {
        GiveMemory();
        if (_client is { } client)
            await AskerClients.ReturnAsync(client, isAtRest: !_isLeftOpen, KeptClient);
    }

    /// <summary>What the path, or else the query, calls by this name; null: nothing.</summary>
    public string? FindName(string name) => Http.Request.RouteValues[name] as string ?? Http.Request.Query[name];

    public string PathValue(string name) => (string)Http.Request.RouteValues[name]!;

    /// <summary>A whole number of the path.</summary>
    public long PathNumber(string name, long most)
    {
        string text = PathValue(name);
        return ReadNumber(name, text, 0, most);
    }

    /// <summary>A parameter of the query; null when it is not there.</summary>
    public string? Query(string name)
    {
        Microsoft.Extensions.Primitives.StringValues values = Http.Request.Query[name];
        return values.Count switch
        {
            0 => null,
            1 => values[0],
            _ => throw ApiException.OfValue(name, string.Join(", ", values!), "one value"),
        };
    }

    /// <summary>A whole number of the query, within what the route's description says.</summary>
    public long? QueryNumber(string name)
    {
        System.Text.Json.Nodes.JsonObject schema = Route.Query.Single(parameter => parameter.Name == name).Schema();
        return Query(name) is { } text
            ? ReadNumber(name, text, (long)schema["minimum"]!, (long)schema["maximum"]!)
            : (long?)schema["default"];
    }

    public bool QueryFlag(string name) => Query(name) switch
    {
        null or "false" => false,
        "true" => true,
        string other => throw ApiException.OfValue(name, other, "true or false"),
    };

    /// <summary>Refuses parameters that the route does not have.</summary>
    public void CheckQuery()
    {
        foreach (string name in Http.Request.Query.Keys)
        {
            if (Route.Query.All(parameter => parameter.Name != name))
            {
                string[] known = [.. Route.Query.Select(static parameter => parameter.Name)];
                string allowed = known.Length == 0 ? "no parameter" : string.Join(", ", known);
                throw new ApiException(ApiProblem.Of(
                    ErrorCode.InvalidArgument,
                    $"unknown parameter '{name}': allowed is {allowed}.{NearName.Hint(name, known)}") with
                {
                    What = "the parameter",
                    Value = name,
                    Allowed = allowed,
                });
            }
        }
    }

    private void GiveMemory()
    {
        KeepMemory(0);
        _lender = null;
    }

    /// <summary>Gives back what is more than that: an answer that waits for its peer is bytes alone.</summary>
    private void KeepMemory(long bytes)
    {
        if (_takenBytes <= bytes)
            return;
        _lender?.GiveAdminMemory(_takenBytes - bytes);
        _takenBytes = bytes;
    }

    /// <summary>Notes when an answer did not come: the client is not at rest then.</summary>
    private async Task<T> ObserveAsync<T>(ValueTask<T> asking)
    {
        try
        {
            return await asking;
        }
        catch (ArgumentException exception)
        {
            // A text is longer than requests can carry.
            throw new EQueueException(ErrorCode.InvalidArgument, exception.Message, exception);
        }
        catch (Exception exception) when (exception is not EQueueException { Code: not ErrorCode.Timeout })
        {
            _isLeftOpen = true;
            throw;
        }
    }

    private static long ReadNumber(string name, string text, long least, long most) =>
        long.TryParse(text, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long value)
            && value >= least && value <= most
            ? value
            : throw ApiException.OfValue(name, text, $"{least} to {most}");
}
