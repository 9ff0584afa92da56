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

    private static uint? FindSharedNumber()
    {
        try
        {
            string[] map = File.ReadAllText("/proc/self/uid_map").Split((char[]?)null, StringSplitOptions.RemoveEmptyEntries);
            if (map is [_, _, AllUsers]) return null;
            return uint.Parse(File.ReadAllText("/proc/sys/kernel/overflowuid"), CultureInfo.InvariantCulture);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException or FormatException)
        {
            // No user namespaces, or a sandbox that hides which: then the usual number is not believed.
            return OperatingSystem.IsLinux() ? UsualOverflow : null;
        }
    }

    [LibraryImport("libc", EntryPoint = "geteuid")]
    private static partial uint GetEffectiveUserId();
}
