using EQueue.Cluster;
using EQueue.MessageStore;
using EQueue.Server.Configuration;

namespace EQueue.Server.Engine;

/// <summary>Tells from an exception at start which exit code it is and what to say.</summary>
internal static class StartFailure
{
    public static (int ExitCode, string Reason) Explain(Exception failure)
    {
        for (Exception? cause = failure; cause is not null; cause = cause.InnerException)
        {
            if (CodeOf(cause) is { } code)
                return (code, Describe(cause));
        }

        return (ExitCode.Other, failure.Message);
    }

    private static int? CodeOf(Exception cause) => cause switch
    {
        ConfigurationException or ClusterException or StoreFitException => ExitCode.Configuration,
        PortException { IsInUse: true } => ExitCode.PortInUse,
        PortException => ExitCode.Configuration,
        StoreFormatException or InvalidDataException => ExitCode.DataDirectory,
        VolumeFullException => ExitCode.DataDirectory,
        DiskException { Fault: DiskFault.Io } => ExitCode.StoreFault,
        DiskException => ExitCode.DataDirectory,
        UnauthorizedAccessException => ExitCode.DataDirectory,
        _ => null,
    };

    private static string Describe(Exception cause) => cause switch
    {
        DiskException { Fault: DiskFault.Locked } locked
            => $"{locked.Path} is locked: another process uses this data directory.",
        _ => cause.Message,
    };
}
