namespace EQueue.Broker;

/// <summary>The name under which progress is kept: that of a group, or <c>group/instance</c>.</summary>
internal static class ProgressName
{
    /// <summary>The name of a group's progress, or of one instance's.</summary>
    public static string Of(string group, string? instance) => instance is null ? group : $"{group}/{instance}";

    /// <summary>Group and instance of a name under which progress is kept.</summary>
    public static (string Group, string? Instance) Split(string name) =>
        name.IndexOf('/') is >= 0 and var cut ? (name[..cut], name[(cut + 1)..]) : (name, null);
}
