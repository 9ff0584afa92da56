using EQueue.Broker;
using EQueue.Server.Configuration;

namespace EQueue.Server.Security;

/// <summary>The audit file of a server, if it is to have one, from before its broker starts until after it
/// stopped.</summary>
internal sealed class AuditTrail(ServerOptions options, TimeProvider time, ILogger logger) : IDisposable
{
    private AuditFile? _file;
    private bool _isOpen;

    /// <summary>Begins to take records, before the broker starts.</summary>
    /// <returns>Null: there is to be none.</returns>
    /// <exception cref="ConfigurationException">The file cannot be opened.</exception>
    public IAuditSink? Begin()
    {
        if (options.AuditPath is not { } path)
            return null;
        _file = new AuditFile(path, options.AuditFiles, time, logger);

        // The data directory is the store's to make, and may be another process's.
        if (!IsInData(path))
            Open();
        return _file;
    }

    /// <summary>Opens the file when it is not yet; after the broker has started.</summary>
    /// <exception cref="ConfigurationException">It cannot be opened.</exception>
    public void Open()
    {
        if (_file is null || _isOpen)
            return;
        try
        {
            _file.Open();
            _isOpen = true;
            Log.AuditWritten(logger, options.AuditPath!);
        }
        catch (Exception exception) when (exception is UnauthorizedAccessException or DirectoryNotFoundException)
        {
            throw new ConfigurationException(
                $"Security:AuditFile is '{options.AuditPath}', which cannot be written: {exception.Message}",
                exception);
        }
        catch (IOException exception)
        {
            // A disk without room, say: the broker serves all the same.
            Log.AuditRefused(logger, options.AuditPath!, exception.Message);
        }
    }

    /// <summary>Writes what waits.</summary>
    public void Dispose() => _file?.Dispose();

    private bool IsInData(string path) =>
        Path.GetDirectoryName(path)
            == Path.TrimEndingDirectorySeparator(Path.GetFullPath(options.Broker.DataDirectory));
}
