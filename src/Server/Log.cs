namespace EQueue.Server;

/// <summary>The server's log messages, 6000 to 6999.</summary>
internal static partial class Log
{
    [LoggerMessage(6000, LogLevel.Information, "Opening {DataDirectory} with flush policy {FlushPolicy}")]
    public static partial void Opening(ILogger logger, string dataDirectory, string flushPolicy);

    [LoggerMessage(6001, LogLevel.Information, "Serving health, metrics and the admin API on {EndPoint}")]
    public static partial void AdminServing(ILogger logger, string endPoint);

    [LoggerMessage(6002, LogLevel.Information, "Stopping: answering what was read, then closing the store")]
    public static partial void Stopping(ILogger logger);

    [LoggerMessage(6003, LogLevel.Critical, "The store failed; nothing more is accepted and the process ends")]
    public static partial void StoreFailed(ILogger logger, Exception cause);

    [LoggerMessage(6004, LogLevel.Critical, "Not started: {Reason}")]
    public static partial void NotStarted(ILogger logger, string reason);

    [LoggerMessage(6005, LogLevel.Critical, "Ended by a failure")]
    public static partial void Failed(ILogger logger, Exception cause);

    [LoggerMessage(6006, LogLevel.Information, "Keeping everything in {Bytes} bytes of memory, nothing on disk")]
    public static partial void InMemory(ILogger logger, long bytes);

    [LoggerMessage(6007, LogLevel.Information, "Sending metrics to {EndPoint} over OTLP")]
    public static partial void Exporting(ILogger logger, Uri? endPoint);

    [LoggerMessage(6008, LogLevel.Warning, "Instruments could not be read for /metrics; the others are shown")]
    public static partial void InstrumentsFailed(ILogger logger, Exception cause);

    [LoggerMessage(6009, LogLevel.Error, "{Method} {Path} of the admin port failed")]
    public static partial void ApiFailed(ILogger logger, string method, string path, Exception cause);

    [LoggerMessage(6010, LogLevel.Warning,
        "{Setting} is {Address}, beyond this machine, and serves without credentials: "
        + "Server:AllowUnauthenticatedRemoteAccess permits it")]
    public static partial void OpenToAll(ILogger logger, string setting, string address);

    [LoggerMessage(6011, LogLevel.Information, "{Setting} changed from {Before} to {After}")]
    public static partial void SettingChanged(ILogger logger, string setting, string before, string after);

    [LoggerMessage(6012, LogLevel.Warning,
        "{Setting} changed from {Before} to {After}, which takes effect at the next start")]
    public static partial void SettingWaits(ILogger logger, string setting, string before, string after);

    [LoggerMessage(6013, LogLevel.Warning, "The changed configuration is not used: {Reason}")]
    public static partial void NotReloaded(ILogger logger, string reason);

    [LoggerMessage(6014, LogLevel.Warning, "systemd cannot be told how the server does, at {Address}: {Reason}")]
    public static partial void NotNotified(ILogger logger, string address, string reason);

    [LoggerMessage(
        6100, LogLevel.Warning, "Messages are not taken, or will not be soon, until there is room. {Shortage}")]
    public static partial void NoRoom(ILogger logger, string shortage);

    [LoggerMessage(6101, LogLevel.Warning,
        "{Setting} is {Path}, which {Others} can read and then pretend to be this broker. chmod {Mode} "
        + "{Path} takes that away")]
    public static partial void KeyReadable(ILogger logger, string setting, string path, string others, string mode);

    [LoggerMessage(6102, LogLevel.Warning,
        "The address space is limited to {Bytes} bytes (ulimit -v, LimitAS of a service), and .NET reserves far more "
        + "than it uses: when none is left, the server ends. Take the limit away; memory.max of a control group or "
        + "DOTNET_GCHeapHardLimit bounds memory")]
    public static partial void AddressSpaceLimited(ILogger logger, long bytes);

    [LoggerMessage(6170, LogLevel.Information, "Served without credentials: {Who}")]
    public static partial void ServedWithoutCredentials(ILogger logger, string who);

    [LoggerMessage(6171, LogLevel.Warning,
        "The system does not tell whose a connection over loopback is (neither netlink nor /proc/net): without "
        + "credentials none is served there, also none of the owner's; over a Unix socket they are")]
    public static partial void UsersNotTold(ILogger logger);

    [LoggerMessage(6172, LogLevel.Error, "{Lost} audit lines were lost since the start, for want of room: {Path}")]
    public static partial void AuditLost(ILogger logger, long lost, string path);

    [LoggerMessage(6173, LogLevel.Error, "Audit lines wait, {Path} cannot be written: {Reason}")]
    public static partial void AuditRefused(ILogger logger, string path, string reason);

    [LoggerMessage(6174, LogLevel.Information, "Audit lines are written to {Path} again")]
    public static partial void AuditTaken(ILogger logger, string path);

    [LoggerMessage(6175, LogLevel.Information, "Writing what is administered and refused to {Path}")]
    public static partial void AuditWritten(ILogger logger, string path);

    [LoggerMessage(6176, LogLevel.Critical, "This node takes no part in its cluster and the process ends: {Reason}")]
    public static partial void NodeEnds(ILogger logger, string reason);

    [LoggerMessage(6177, LogLevel.Warning,
        "The first change of the leader to this node will take a second longer: preparing for it failed")]
    public static partial void NotWarm(ILogger logger, Exception cause);
}
