namespace EQueue.Support;

/// <summary>The admin port's routes that its own description leaves out; RouteAccessTests holds them against what is
/// served.</summary>
public static class AdminPaths
{
    public static IReadOnlyList<string> Pages { get; } = ["/", "/health/live", "/health/ready", "/stats", "/metrics"];
}
