namespace EQueue.Broker;

/// <summary>Says in one voice which setting is wrong.</summary>
internal static class OptionRules
{
    public static void Require(bool holds, string setting, string range, object? found)
    {
        if (!holds)
            throw new ArgumentException($"{setting} must be {range}; found {found ?? "nothing"}.", setting);
    }

    /// <summary>A setting that was read and cannot be used, with the reason.</summary>
    public static ArgumentException Wrong(string setting, string found, FormatException cause) =>
        new($"{setting} is '{found}': {cause.Message}.", setting, cause);
}
