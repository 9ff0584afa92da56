using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;

namespace EQueue.Remoting.Tests;

/// <summary>With EQUEUE_TEST_SYSTEM_SOCKETS=1 the tests run as on systems without the poller: all sockets are the
/// runtime's.</summary>
internal static class SystemSockets
{
    public static bool AreChosen { get; } = Environment.GetEnvironmentVariable("EQUEUE_TEST_SYSTEM_SOCKETS") == "1";

    [ModuleInitializer]
    [SuppressMessage("Usage", "CA2255", Justification = "It must be set before the first socket of the process.")]
    internal static void Choose()
    {
        if (AreChosen)
            AppContext.SetSwitch(SocketPoller.Switch, isEnabled: false);
    }
}
