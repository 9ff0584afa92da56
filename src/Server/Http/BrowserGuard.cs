using System.Net;

namespace EQueue.Server.Http;

/// <summary>Refuses what a browser sends for another site's page: no peer is asked who it is, and a browser on this
/// machine reaches its loopback address.</summary>
internal static class BrowserGuard
{
    /// <exception cref="ApiException">The request is another site's.</exception>
    public static void Check(HttpRequest request, bool isLoopback)
    {
        if (isLoopback && !IsAddressOrLocal(request.Host.Host))
        {
            throw new ApiException(Refuse(
                StatusCodes.Status421MisdirectedRequest, "Host", request.Host.Value, "an IP address or localhost"));
        }

        string? origin = request.Headers.Origin;
        if (origin is not null && origin != $"{request.Scheme}://{request.Host.Value}")
        {
            throw new ApiException(Refuse(
                StatusCodes.Status403Forbidden, "Origin", origin, $"none, or {request.Scheme}://{request.Host.Value}"));
        }
    }

    private static bool IsAddressOrLocal(string host) =>
        host.Equals("localhost", StringComparison.OrdinalIgnoreCase) || IPAddress.TryParse(host.Trim('[', ']'), out _);

    private static ApiProblem Refuse(int status, string what, string? value, string allowed) =>
        ApiProblem.Of(ErrorCode.NotAuthorized, $"{what} is '{value}': allowed is {allowed}.", status: status) with
        {
            What = what,
            Value = value,
            Allowed = allowed,
        };
}
