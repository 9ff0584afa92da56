namespace EQueue.MessageStore;

/// <summary>Why a backup or a restore was refused. Nothing was changed.</summary>
public enum BackupFault
{
    /// <summary>The folder holds no finished backup.</summary>
    NoBackup,

    /// <summary>The folder holds something else, or is inside of the other one.</summary>
    WrongDirectory,

    /// <summary>The folder holds the backup of another store.</summary>
    OtherStore,

    /// <summary>Another process is using the folder: a broker, a backup or a restore.</summary>
    InUse,
}
