using EQueue.Broker;
using EQueue.Remoting;
using EQueue.Server.Configuration;

namespace EQueue.Server.Security;

/// <summary>What the log says at the start of who is served without credentials.</summary>
internal static class IdentityNotice
{
    public static void Write(ServerOptions options, ILogger logger)
    {
        UnauthenticatedAccess served = options.Unauthenticated;
        Log.ServedWithoutCredentials(logger, Describe(served, LoopbackPeer.OwnUser));
        if (served == UnauthenticatedAccess.Owner && OperatingSystem.IsLinux() && !LoopbackPeer.IsTold)
            Log.UsersNotTold(logger);
    }

    /// <summary>Who is, in words.</summary>
    /// <param name="served">By the settings.</param>
    /// <param name="owner">The number of the user who runs the broker; null: the system does not tell.</param>
    public static string Describe(UnauthenticatedAccess served, uint? owner) => served switch
    {
        UnauthenticatedAccess.Anywhere =>
            "everybody who reaches a port (Server:AllowUnauthenticatedRemoteAccess)",
        UnauthenticatedAccess.Local =>
            "all users of this machine (Server:AllowUnauthenticatedLocalAccess)",
        _ when !OperatingSystem.IsLinux() =>
            "all users of this machine: the system does not tell whose a connection is",
        _ when owner is null =>
            "root on this machine alone: the number of the broker's own user stands for others too",
        _ when owner == 0 => "root on this machine",
        _ => $"the user who runs the broker ({owner}) and root, on this machine",
    };
}
