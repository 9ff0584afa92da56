using System.Globalization;
using System.Runtime.InteropServices;

namespace EQueue.Remoting;

/// <summary>Numbers of users, and which of them are to be believed.</summary>
internal static partial class UserIds
{
    private const uint UsualOverflow = 65534;
    private const uint None = uint.MaxValue;
    private const string AllUsers = "4294967295";

    private static readonly Lazy<uint?> SharedNumber = new(FindSharedNumber);

    /// <summary>Of this process; null on Windows.</summary>
    public static uint? Own => OperatingSystem.IsWindows() ? null : GetEffectiveUserId();

    /// <summary>A number that the kernel told, or null when it stands for more than one user: in a user namespace all
    /// those whom it does not map have the same number, which one that it maps may have too (user_namespaces(7)).
    /// </summary>
    public static uint? Know(uint user) => user == None || user == SharedNumber.Value ? null : user;

    /// <summary>Which number stands for more than one user.</summary>
    /// <param name="map">What /proc/self/uid_map says: first number within, first without, how many.</param>
    /// <param name="overflow">What /proc/sys/kernel/overflowuid says.</param>
    /// <exception cref="FormatException">It is no number.</exception>
    public static uint? SharedNumberOf(string map, string overflow) =>
        map.Split((char[]?)null, StringSplitOptions.RemoveEmptyEntries) is [_, _, AllUsers]
            ? null
            : uint.Parse(overflow, CultureInfo.InvariantCulture);

    private static uint? FindSharedNumber()
    {
        try
        {
            return SharedNumberOf(
                File.ReadAllText("/proc/self/uid_map"), File.ReadAllText("/proc/sys/kernel/overflowuid"));
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException or FormatException)
        {
            // A sandbox that hides both: then the usual number is not believed.
            return OperatingSystem.IsLinux() ? UsualOverflow : null;
        }
    }

    [LibraryImport("libc", EntryPoint = "geteuid")]
    private static partial uint GetEffectiveUserId();
}
