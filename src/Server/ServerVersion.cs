using System.Reflection;

namespace EQueue.Server;

/// <summary>The version of this program.</summary>
internal static class ServerVersion
{
    /// <summary>Whole, as in <c>3.0.0-alpha.1</c>, with the commit behind a plus sign if it is known.</summary>
    public static string Text { get; } = typeof(ServerVersion).Assembly
        .GetCustomAttribute<AssemblyInformationalVersionAttribute>()!.InformationalVersion;
}
