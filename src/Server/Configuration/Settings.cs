namespace EQueue.Server.Configuration;

/// <summary>The settings that exist. What is not in this list is refused.</summary>
internal static class Settings
{
    /// <summary>Every setting, in the order that people read them.</summary>
    public static IReadOnlyList<Setting> All { get; } =
    [
        .. ServerSettings.All, .. SecuritySettings.All, .. StoreSettings.All, .. LimitSettings.All,
        .. BrokerSettings.All, .. ClusterSettings.All,
    ];

    /// <summary>The setting of that key, letter case aside.</summary>
    public static Setting? Find(string key)
        => All.FirstOrDefault(setting => string.Equals(setting.Key, key, StringComparison.OrdinalIgnoreCase));
}
