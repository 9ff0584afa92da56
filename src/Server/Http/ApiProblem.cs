using System.ComponentModel;
using EQueue.Protocol;

namespace EQueue.Server.Http;

/// <summary>The body of every error (RFC 9457).</summary>
internal sealed record ApiProblem(
    [property: Description("urn:equeue:error: and the code")] string Type,
    [property: Description("What the code means")] string Title,
    [property: Description("The HTTP status")] int Status,
    [property: Description("The facts: what, expected, found")] string Detail,
    [property: Description("The broker's error code, by name")] string Code,
    [property: Description("Whether the same request can succeed later")] bool Retriable,
    [property: Description("When another try is worth its while, in ms; null: not known")] int? RetryAfterMs,
    [property: Description("What was wrong in the request; null: the detail says it")] string? What,
    [property: Description("What it was")] string? Value,
    [property: Description("What is allowed")] string? Allowed)
{
    /// <summary>What the code means, with the facts.</summary>
    public static ApiProblem Of(
        ErrorCode code, string detail, TimeSpan retryAfter = default, int? status = null) => new(
        $"urn:equeue:error:{code}",
        ErrorCodes.Describe(code),
        status ?? ProblemStatus.Of(code),
        detail,
        code.ToString(),
        ErrorCodes.IsRetriable(code),
        retryAfter > TimeSpan.Zero ? (int)Math.Ceiling(retryAfter.TotalMilliseconds) : null,
        What: null,
        Value: null,
        Allowed: null);

    public static ApiProblem Of(EQueueException exception) =>
        Of(exception.Code, exception.Message, exception.RetryAfter);

    /// <summary>A value of the request that cannot be.</summary>
    public static ApiProblem OfValue(string what, string? value, string allowed) =>
        Of(ErrorCode.InvalidArgument, $"{what} is {Quote(value)}: allowed is {allowed}.") with
        {
            What = what,
            Value = value,
            Allowed = allowed,
        };

    private static string Quote(string? value) => value is null ? "missing" : $"'{value}'";
}

/// <summary>Ends a request with a problem.</summary>
internal sealed class ApiException(ApiProblem problem) : Exception(problem.Detail)
{
    public ApiProblem Problem { get; } = problem;

    /// <summary>A value of the request that cannot be.</summary>
    public static ApiException OfValue(string what, string? value, string allowed) =>
        new(ApiProblem.OfValue(what, value, allowed));
}
