using EQueue.Cluster.Etcd;
using EQueue.MessageStore;

namespace EQueue.Cli.Output;

/// <summary>What a person may do about an error.</summary>
/// <remarks>A command that is named here changes nothing, whatever it is given, or ends with <c>--help</c>.</remarks>
internal static class NextStep
{
    /// <param name="exception">The error.</param>
    /// <param name="identity">As whom the command came, for people; "" without credentials, null when it came to no
    /// broker.</param>
    /// <returns>A sentence; null when the error says it all.</returns>
    public static string? Of(Exception exception, string? identity = null) => exception switch
    {
        PartlyDoneException { InnerException: EQueueException cause } => Of(cause, identity),
        EQueueException { Code: ErrorCode.Timeout, InnerException: EQueueException last } =>
            Of(last, identity) ?? Of(ErrorCode.Timeout),
        EQueueException failure => OfIdentity(failure.Code, identity ?? "") ?? Of(failure.Code),
        BackupException refusal => Of(refusal.Fault),
        AdvisedException advised => advised.Next,
        EtcdException failure => Of(failure.Kind),
        DiskException { Fault: DiskFault.Full } =>
            "make room on that disk and run it again; a backup continues where it was",
        _ => null,
    };

    private static string? Of(BackupFault fault) => fault switch
    {
        BackupFault.NoBackup => "equeue backup --help tells how one is made",
        BackupFault.WrongDirectory => "name another directory, which is new or empty",
        BackupFault.OtherStore => "each broker needs a backup directory of its own: name another one",
        BackupFault.InUse => "wait until it has ended, or stop it, and try again",
        _ => null,
    };

    private static string? Of(EtcdTrouble trouble) => trouble switch
    {
        EtcdTrouble.Unavailable => "is etcd running there? --etcd URL[,URL] names its members",
        EtcdTrouble.Refused => "--etcd-user and --etcd-password-file log in; docs/cluster.md tells what the user needs",
        EtcdTrouble.NoSpace => "make room in etcd: etcdctl compact, etcdctl defrag, etcdctl alarm disarm",
        EtcdTrouble.Malformed => "docs/cluster.md tells what each key holds",
        _ => null,
    };

    /// <summary>What to do about who one is.</summary>
    private static string? OfIdentity(ErrorCode code, string identity)
    {
        string came = identity.Length > 0 ? $"you came as {identity}" : "you came without credentials";
        return code switch
        {
            ErrorCode.Unauthenticated when identity.Length == 0 =>
                $"{came}: --user NAME and --token-file FILE log in, --tls-cert FILE shows a certificate, and the user "
                + "who runs the broker needs none on its machine",
            ErrorCode.Unauthenticated =>
                $"{came}, which the broker does not take: the broker's owner sees in equeue user list and equeue token "
                + "list whether it ended",
            ErrorCode.AuthenticationFailed when identity.Length > 0 =>
                $"{came}: is it the right password, token or certificate? The broker's owner sees in equeue user list "
                + "and equeue token list whether it ended; for TLS see --tls-ca, --tls-cert and --tls-key",
            ErrorCode.NotAuthorized =>
                $"{came}; equeue acl test me OPERATION RESOURCE tells by which rule, and who administers the broker "
                + "can set others",
            _ => null,
        };
    }

    private static string? Of(ErrorCode code) => code switch
    {
        ErrorCode.Unreachable =>
            "is a broker running there? equeue-server starts one, --server HOST:PORT names another",
        ErrorCode.Timeout => "try again, or wait longer: --timeout 2m, for messages --delivery-timeout 5m",
        ErrorCode.ConnectionLost => "try again: the broker may have been started anew",
        ErrorCode.AuthenticationFailed => "see --tls, --tls-ca, --tls-cert and --tls-key, and the broker's log",
        ErrorCode.UnknownTopic => "equeue topic list shows those there are",
        ErrorCode.UnknownQueue => "equeue topic describe TOPIC shows those there are",
        ErrorCode.UnknownGroup => "equeue group list shows those there are",
        ErrorCode.TopicExists => "equeue topic describe TOPIC shows it",
        ErrorCode.GroupBusy => "stop its readers, which equeue group describe GROUP shows, and try again",
        ErrorCode.QueueNotReadable => "equeue topic alter-queues --help tells how queues are opened",
        ErrorCode.QueueNotWritable => "equeue topic alter-queues --help tells how queues are opened",
        ErrorCode.MessageTooLarge =>
            "equeue topic describe TOPIC shows the limit; equeue topic alter --help tells how it is raised",
        ErrorCode.QueueFull => "equeue group lag shows who is behind",
        ErrorCode.StorageFull =>
            "make room on the broker's disk, or keep less: equeue topic alter --help",
        ErrorCode.StoreFaulted => "look at the broker's log and disk, then start it again",
        ErrorCode.DamagedData or ErrorCode.CorruptBatch => "equeue log verify DIR tells what is damaged",
        ErrorCode.UnknownOperation or ErrorCode.UnsupportedVersion => "the broker is of another version: renew it",
        _ => null,
    };
}
