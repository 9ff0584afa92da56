using System.Globalization;

namespace EQueue.Server.Engine;

/// <summary>The limit of the process's address space (ulimit -v, RLIMIT_AS). .NET reserves far more than it uses:
/// under such a limit it does not start, or ends the process when no address is left, however little memory is
/// used.</summary>
internal static class AddressSpace
{
    private const string Field = "Max address space";

    /// <summary>Bytes that this process may address; null: as many as there are, or the system does not tell.</summary>
    public static long? FindLimit()
    {
        try
        {
            string? line = File.ReadLines("/proc/self/limits")
                .FirstOrDefault(static one => one.StartsWith(Field, StringComparison.Ordinal));
            string? soft = line?[Field.Length..].Split(' ', StringSplitOptions.RemoveEmptyEntries).FirstOrDefault();
            return long.TryParse(soft, NumberStyles.None, CultureInfo.InvariantCulture, out long bytes) ? bytes : null;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // No such system, or nothing for this process to see.
            return null;
        }
    }
}
