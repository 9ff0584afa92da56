using System.Reflection;

namespace EQueue.Protocol;

/// <summary>The version of a library as both sides tell it in Hello: whole, with what a pre-release adds.</summary>
public static class SoftwareVersion
{
    /// <summary>Such as <c>3.0.0-alpha.1</c>, without what the build adds behind a plus sign.</summary>
    public static string Of(Assembly assembly)
    {
        ArgumentNullException.ThrowIfNull(assembly);
        string version = assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion
            ?? assembly.GetName().Version?.ToString(3) ?? "0";
        return version.Split('+')[0];
    }
}
