namespace EQueue.Server.Configuration;

/// <summary>What the server was started for.</summary>
internal enum CommandMode
{
    /// <summary>To serve until it is stopped.</summary>
    Serve = 0,

    /// <summary>To check and print the configuration.</summary>
    CheckConfiguration = 1,

    /// <summary>To print its version.</summary>
    Version = 2,

    /// <summary>To print how it is used.</summary>
    Help = 3,
}
