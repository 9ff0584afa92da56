using System.Text.Json.Nodes;
using EQueue.Server.Configuration;
using EQueue.Server.Engine;
using EQueue.Server.Http;
using TopicRoutes = EQueue.Server.Http.TopicRoutes;

namespace EQueue.Server.Admin;

/// <summary>Serves the routes of the admin port: counts requests, checks them, runs them, and turns what fails into
/// problems.</summary>
/// <remarks>Thread-safe. Routes beside the API's own are handed in.</remarks>
internal sealed class AdminApi : IAsyncDisposable
{
    private const string HeadMark = "equeue-head";

    private readonly BrokerService _broker;
    private readonly AdminOptions _options;
    private readonly TimeProvider _time;
    private readonly ILogger _logger;
    private readonly LiveFigures _live;
    private readonly AskerClients? _clients;
    private readonly HttpIdentity _identity;
    private int _requests;
    private int _streams;

    public AdminApi(
        BrokerService broker, ServerOptions options, IEnumerable<ApiRoute> pages, TimeProvider time, ILogger logger)
    {
        _broker = broker;
        _options = options.Admin;
        _identity = new HttpIdentity(broker, options.Unauthenticated);
        _time = time;
        _logger = logger;
        _clients = broker.InMemory is { } endPoint
            ? new AskerClients(endPoint, broker.MaxFrameBytes, options.Admin.RequestTimeout + ApiCall.Grace) : null;
        _live = new LiveFigures(_clients, time);
        Routes =
        [
            .. pages,
            ApiRoute.Of("GET", "/api/v1/openapi.json", "describeApi", "Describes this API", DescribeAsync) with
            {
                IsPage = true,
            },
            .. new FigureRoutes(_live, time).All,
            .. TopicRoutes.All,
            new SendRoute(time).ToRoute(),
            .. ReadRoutes.All,
            new ExplainRoute(time).ToRoute(),
            .. GroupRoutes.All,
            .. QuotaRoutes.All,
        ];
    }

    /// <summary>Everything that is served.</summary>
    public IReadOnlyList<ApiRoute> Routes { get; }

    /// <summary>Whether the address is one that only this machine reaches.</summary>
    public bool IsLoopback { get; set; } = true;

    /// <summary>Adds the routes to the application.</summary>
    public void Map(WebApplication application)
    {
        application.Use(TakeHead);
        application.UseRouting();
        application.Use(AnswerStrayAsync);
        foreach (ApiRoute route in Routes)
            application.MapMethods(route.Pattern, [route.Method], context => RunAsync(context, route));
    }

    public ValueTask DisposeAsync() => _live.DisposeAsync();

    private Task<JsonObject> DescribeAsync(ApiCall call) => Task.FromResult(OpenApiDocument.Make(
        Routes,
        ServerVersion.Text));

    /// <summary>HEAD is answered as GET is; Kestrel leaves the body out.</summary>
    private static Task TakeHead(HttpContext context, RequestDelegate next)
    {
        if (HttpMethods.IsHead(context.Request.Method))
        {
            context.Items[HeadMark] = HeadMark;
            context.Request.Method = HttpMethods.Get;
        }

        return next(context);
    }

    /// <summary>What no route takes is a problem too, but for OPTIONS, which tells what the place takes and permits
    /// nothing to other sites.</summary>
    private static async Task AnswerStrayAsync(HttpContext context, RequestDelegate next)
    {
        string asked = context.Request.Method;
        await next(context);
        if (!context.Response.HasStarted && context.Response.StatusCode == StatusCodes.Status405MethodNotAllowed)
        {
            context.Response.Headers.Allow = AllowedOf(context.Response.Headers.Allow.ToString());
            if (HttpMethods.IsOptions(asked))
                context.Response.StatusCode = StatusCodes.Status204NoContent;
        }

        if (context.Response.HasStarted || !context.Request.Path.StartsWithSegments("/api", StringComparison.Ordinal))
            return;
        ApiProblem? problem = context.Response.StatusCode switch
        {
            StatusCodes.Status404NotFound => ApiProblem.Of(
                ErrorCode.UnknownOperation,
                $"There is no {context.Request.Path}; /api/v1/openapi.json describes what there is.",
                status: StatusCodes.Status404NotFound),
            StatusCodes.Status405MethodNotAllowed => ApiProblem.OfValue(
                "the method", context.Request.Method, $"{context.Response.Headers.Allow}") with
            {
                Status = StatusCodes.Status405MethodNotAllowed,
            },
            _ => null,
        };
        if (problem is not null)
            await WriteAsync(context, problem);
    }

    /// <summary>The methods of the routes of a path, and those that every path with them takes.</summary>
    private static string AllowedOf(string routed)
    {
        string[] methods = routed.Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
        string[] head = methods.Contains(HttpMethods.Get) ? [HttpMethods.Head] : [];
        return string.Join(
            ", ", methods.Concat(head).Append(HttpMethods.Options).Distinct().Order(StringComparer.Ordinal));
    }

    private async Task RunAsync(HttpContext context, ApiRoute route)
    {
        context.Response.Headers.XContentTypeOptions = "nosniff";
        using HttpAsker? asker = await AdmitAsync(context, route);
        if (asker is null)
            return;
        if (route.IsStream && context.Items.ContainsKey(HeadMark))
        {
            // A stream without its body would have no end.
            context.Response.ContentType = route.ContentType;
            return;
        }

        if (route.IsPage)
        {
            await RunAsync(context, route, asker, context.RequestAborted);
            return;
        }

        ref int count = ref route.IsStream ? ref _streams : ref _requests;
        int most = route.IsStream ? _options.MaxStreams : _options.MaxRequests;
        if (Interlocked.Increment(ref count) <= most)
        {
            await RunCountedAsync(context, route, asker);
            return;
        }

        Interlocked.Decrement(ref count);
        await WriteAsync(context, Busy(route.IsStream ? "streams of live figures" : "requests", most));
    }

    /// <summary>Finds out who asks, before anything is done or read for them.</summary>
    /// <returns>Null when the request was refused, and answered.</returns>
    private async Task<HttpAsker?> AdmitAsync(HttpContext context, ApiRoute route)
    {
        if (route.IsProbe)
            return HttpAsker.Probe;
        HttpAsker? asker = null;
        try
        {
            // Who shows a token is no browser that was led here by a page.
            bool isForBrowsers = !HttpIdentity.ShowsCredentials(context.Request);
            BrowserGuard.Check(
                context.Request, isForBrowsers && (IsLoopback || HttpIdentity.IsFromLoopback(context)));
            asker = _identity.Admit(context);
            if (route.TellsFigures)
                _identity.CheckFigures(asker);
            return asker;
        }
        catch (ApiException exception)
        {
            await WriteAsync(context, exception.Problem);
        }
        catch (EQueueException exception)
        {
            await WriteAsync(context, ApiProblem.Of(exception));
        }

        asker?.Dispose();
        return null;
    }

    private async Task RunCountedAsync(HttpContext context, ApiRoute route, HttpAsker asker)
    {
        AdminPlace? place = context.Features.Get<AdminPlace>();
        try
        {
            if (place is not null)
                place.IsHeld = true;

            // A stream ends with the server; a request under way is answered, as those of other clients are.
            using var ending = CancellationTokenSource.CreateLinkedTokenSource(
                context.RequestAborted, route.IsStream ? _broker.Stopping : CancellationToken.None);
            await RunAsync(context, route, asker, ending.Token);
        }
        finally
        {
            if (place is not null)
                place.IsHeld = false;
            if (route.IsStream)
                Interlocked.Decrement(ref _streams);
            else
                Interlocked.Decrement(ref _requests);
        }
    }

    private async Task RunAsync(HttpContext context, ApiRoute route, HttpAsker asker, CancellationToken ending)
    {
        TimeSpan patience = route.IsStream ? Timeout.InfiniteTimeSpan : _options.RequestTimeout + (2 * ApiCall.Grace);
        using var late = new CancellationTokenSource(patience, _time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(late.Token, ending, asker.Ended);
        await using var call = new ApiCall(context, route, asker, _clients, _options, either.Token);
        try
        {
            if (!route.IsPage)
            {
                _broker.CheckServing();
                call.CheckQuery();
            }

            if (!route.IsPage && !route.IsStream && _broker.Serving is { } serving)
                await call.TakeMemoryAsync(serving);
            await route.Run(call);
        }
        catch (ApiException exception)
        {
            await WriteAsync(context, exception.Problem);
        }
        catch (EQueueException exception)
        {
            await WriteAsync(context, ApiProblem.Of(await call.AddNearNamesAsync(exception)));
        }
        catch (BadHttpRequestException exception)
        {
            await WriteAsync(context, Explain(exception));
        }
        catch (IOException) when (context.RequestAborted.IsCancellationRequested || context.Response.HasStarted)
        {
            // The peer is gone.
            context.Abort();
        }
        catch (IOException exception)
        {
            await WriteAsync(context, ApiProblem.Of(
                ErrorCode.MalformedRequest, $"The request cannot be read: {exception.Message}"));
        }
        catch (OperationCanceledException) when (ending.IsCancellationRequested)
        {
            // The client is gone, or the stream is over.
        }
        catch (OperationCanceledException) when (asker.EndReason is { } reason)
        {
            // A stream just ends; an answer that has begun must not look whole.
            if (!route.IsStream || !context.Response.HasStarted)
                await WriteAsync(context, ApiProblem.Of(reason));
        }
        catch (OperationCanceledException)
        {
            await WriteAsync(context, ApiProblem.Of(
                ErrorCode.Timeout, $"No answer within {call.LongestWait}; what was asked may be done all the same."));
        }
        catch (Exception exception)
        {
            Log.ApiFailed(_logger, context.Request.Method, context.Request.Path, exception);
            await WriteAsync(
                context, ApiProblem.Of(ErrorCode.InternalError, "The request failed; the server's log says why."));
        }
    }

    private ApiProblem Explain(BadHttpRequestException exception) =>
        exception.StatusCode == StatusCodes.Status413PayloadTooLarge
            ? ApiProblem.Of(
                ErrorCode.FrameTooLarge, $"The body is too long: allowed is up to {_options.MaxBodyBytes} bytes.") with
            {
                What = "the body",
                Allowed = $"up to {_options.MaxBodyBytes} bytes",
            }
            : ApiProblem.Of(ErrorCode.MalformedRequest, exception.Message, status: exception.StatusCode);

    private static ApiProblem Busy(string what, int most) => ApiProblem.Of(
        ErrorCode.LimitReached,
        $"{most} {what} are under way, as many as may be at once.",
        TimeSpan.FromSeconds(1),
        StatusCodes.Status503ServiceUnavailable);

    /// <summary>How to ask again (RFC 6750).</summary>
    private static string ChallengeOf(ApiProblem problem) =>
        problem.Code == nameof(ErrorCode.AuthenticationFailed) ? "Bearer error=\"invalid_token\"" : "Bearer";

    private static async Task WriteAsync(HttpContext context, ApiProblem problem)
    {
        if (context.Response.HasStarted)
        {
            context.Abort();
            return;
        }

        context.Response.StatusCode = problem.Status;
        if (problem.Status == StatusCodes.Status401Unauthorized)
            context.Response.Headers.WWWAuthenticate = ChallengeOf(problem);
        if (problem.RetryAfterMs is { } delay)
            context.Response.Headers.RetryAfter = $"{(delay + 999) / 1_000}";
        else if (problem is { Retriable: true, Status: >= 429 })
            context.Response.Headers.RetryAfter = "1";
        await context.Response.WriteAsJsonAsync(problem, ApiJson.Options, ApiJson.ProblemType, context.RequestAborted);
    }
}
