using EQueue.Cluster.Etcd;
using EQueue.MessageStore;

namespace EQueue.Cli;

/// <summary>What a command says when it ends. Scripts rely on the numbers.</summary>
internal static class ExitCode
{
    public const int Done = 0;
    public const int Failed = 1;
    public const int Usage = 2;
    public const int NotFound = 3;
    public const int Unreachable = 4;
    public const int Refused = 5;
    public const int Damaged = 6;
    public const int PartlyDone = 7;
    public const int Interrupted = 130;

    /// <summary>The exit code of a failed request.</summary>
    public static int Of(ErrorCode code) => code switch
    {
        ErrorCode.None => Done,
        ErrorCode.UnknownTopic or ErrorCode.UnknownQueue or ErrorCode.UnknownGroup => NotFound,
        ErrorCode.Unreachable or ErrorCode.Timeout or ErrorCode.ConnectionLost or ErrorCode.NotABroker => Unreachable,
        ErrorCode.CorruptBatch or ErrorCode.DamagedData => Damaged,
        ErrorCode.InvalidName => Usage,
        ErrorCode.Cancelled => Interrupted,
        ErrorCode.InternalError or ErrorCode.MalformedRequest or ErrorCode.Disposed => Failed,
        _ => Refused,
    };

    /// <summary>The exit code of an exception that ended a command.</summary>
    public static int Of(Exception exception) => exception switch
    {
        UsageException => Usage,
        PartlyDoneException => PartlyDone,
        NothingFoundException => NotFound,
        AdvisedException advised => advised.ExitCode,
        EtcdException { Kind: EtcdTrouble.Unavailable } => Unreachable,
        EtcdException { Kind: EtcdTrouble.Refused or EtcdTrouble.NoSpace } => Refused,
        EQueueException failure => Of(failure.Code),
        OperationCanceledException => Interrupted,
        FileNotFoundException or DirectoryNotFoundException => NotFound,
        DiskException { Fault: DiskFault.NotFound } => NotFound,
        BackupException { Fault: BackupFault.NoBackup } => NotFound,
        BackupException => Refused,
        StoreFormatException => Damaged,
        _ => Failed,
    };
}
