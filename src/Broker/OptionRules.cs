namespace EQueue.Broker;

/// <summary>Says in one voice which setting is wrong.</summary>
internal static class OptionRules
{
    public static void Require(bool holds, string setting, string range, object? found)
    {
        if (!holds)
            throw new ArgumentException($"{setting} must be {range}; found {found ?? "nothing"}.", setting);
    }
}
