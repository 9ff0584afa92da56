using System.Text.RegularExpressions;

namespace EQueue.Server.Http;

/// <summary>One route of the admin port: what serves it, and what its description says.</summary>
internal sealed partial record ApiRoute
{
    /// <summary>What any request takes.</summary>
    public const long OwnBytes = 2 << 20;

    private const long BodyFactor = 8;

    public required string Method { get; init; }

    /// <summary>Its path, with names in braces.</summary>
    public required string Pattern { get; init; }

    /// <summary>Its name in the description, unique.</summary>
    public required string Name { get; init; }

    public required string Summary { get; init; }

    public required Func<ApiCall, Task> Run { get; init; }

    /// <summary>The parameters of the query; others are refused.</summary>
    public IReadOnlyList<ApiParameter> Query { get; init; } = [];

    public Type? RequestType { get; init; }

    /// <summary>Null: no body, or one that is no JSON.</summary>
    public Type? ResponseType { get; init; }

    public int Status { get; init; } = StatusCodes.Status200OK;

    /// <summary>Another status with the same body, if there is one.</summary>
    public int? OtherStatus { get; init; }

    public string? ContentType { get; init; }

    /// <summary>Whether it stands outside the API: not counted, and never refused for a limit.</summary>
    public bool IsPage { get; init; }

    /// <summary>What a request may take in memory while it is answered: its body is read into objects, and so is the
    /// broker's answer.</summary>
    public Func<ApiCall, long> Memory { get; init; } = static call => OwnBytes + (BodyFactor * call.BodyBytes);

    /// <summary>Whether it answers all, under any name of this machine, as probes need it; it tells one word. Every
    /// other route answers those alone who are known.</summary>
    public bool IsProbe { get; init; }

    /// <summary>Whether it tells the broker's figures: then the asker has to be allowed to describe the broker, which
    /// nothing else would look at.</summary>
    public bool TellsFigures { get; init; }

    /// <summary>Whether it lasts: counted with the streams.</summary>
    public bool IsStream { get; init; }

    /// <summary>The parameters of the path.</summary>
    public IEnumerable<ApiParameter> Path =>
        PathPattern().Matches(Pattern).Select(static match => ApiParameter.OfPath(match.Groups["name"].Value));

    /// <summary>A route that answers JSON.</summary>
    public static ApiRoute Of<TResponse>(
        string method, string pattern, string name, string summary, Func<ApiCall, Task<TResponse>> answer)
        where TResponse : class => new()
        {
            Method = method,
            Pattern = pattern,
            Name = name,
            Summary = summary,
            ResponseType = typeof(TResponse),
            ContentType = "application/json",
            Run = async call => await call.AnswerAsync(await answer(call)),
        };

    /// <summary>A route that takes and answers JSON.</summary>
    public static ApiRoute Of<TRequest, TResponse>(
        string method, string pattern, string name, string summary, Func<ApiCall, TRequest, Task<TResponse>> answer)
        where TRequest : class
        where TResponse : class =>
        Of(method, pattern, name, summary, async call => await answer(call, await call.ReadBodyAsync<TRequest>())) with
        {
            RequestType = typeof(TRequest),
        };

    /// <summary>A route that answers with nothing but that it was done.</summary>
    public static ApiRoute OfDone(
        string method, string pattern, string name, string summary, Func<ApiCall, Task> run) => new()
        {
            Method = method,
            Pattern = pattern,
            Name = name,
            Summary = summary,
            Status = StatusCodes.Status204NoContent,
            Run = async call =>
            {
                await run(call);
                call.Http.Response.StatusCode = StatusCodes.Status204NoContent;
            },
        };

    [GeneratedRegex(@"\{(?<name>\w+)\}", RegexOptions.ExplicitCapture, matchTimeoutMilliseconds: 1_000)]
    private static partial Regex PathPattern();
}
