using System.Net.Sockets;

namespace EQueue.Remoting;

/// <summary>The right to listen on a Unix socket's path: a lock on a file beside it, held as long as the server
/// lives.</summary>
/// <remarks>
/// A server that was killed leaves its socket and an unlocked <c>.lock</c>: that socket is replaced. A file without a
/// <c>.lock</c> was made by another program and is never touched. The empty <c>.lock</c> stays when the server stops:
/// removing it could hand the right to two servers that start at the same moment.
/// </remarks>
internal sealed class UnixSocketFile : IDisposable
{
    private readonly string _path;
    private readonly FileStream _lock;

    private UnixSocketFile(string path, FileStream locked)
    {
        _path = path;
        _lock = locked;
    }

    /// <summary>Takes the right, and removes what a dead server left.</summary>
    /// <exception cref="SocketException">AddressAlreadyInUse: a server lives there, or the file is not a server's.
    /// AccessDenied, AddressNotAvailable: the directory cannot be written, or is not there.</exception>
    public static UnixSocketFile Claim(string path)
    {
        string lockPath = path + ".lock";
        bool wasOurs = File.Exists(lockPath);
        FileStream locked = Lock(path, lockPath);
        try
        {
            if (File.Exists(path))
            {
                if (!wasOurs)
                {
                    File.Delete(lockPath);
                    throw Refused(SocketError.AddressAlreadyInUse, path, "there is a file that no server made");
                }

                File.Delete(path);
            }

            return new UnixSocketFile(path, locked);
        }
        catch
        {
            locked.Dispose();
            throw;
        }
    }

    /// <summary>Removes the socket and gives the right back. The socket is closed by now.</summary>
    public void Dispose()
    {
        try
        {
            File.Delete(_path);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // Its directory has gone or changed hands; the next server replaces the file, or says that it cannot.
        }

        _lock.Dispose();
    }

    private static FileStream Lock(string path, string lockPath)
    {
        try
        {
            var options = new FileStreamOptions
            {
                Mode = FileMode.OpenOrCreate,
                Access = FileAccess.ReadWrite,
                Share = FileShare.None,
            };
            if (!OperatingSystem.IsWindows())
                options.UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite;
            return new FileStream(lockPath, options);
        }
        catch (DirectoryNotFoundException)
        {
            throw Refused(SocketError.AddressNotAvailable, path, "there is no such directory");
        }
        catch (UnauthorizedAccessException exception)
        {
            throw Refused(SocketError.AccessDenied, path, exception.Message);
        }
        catch (IOException)
        {
            throw Refused(SocketError.AddressAlreadyInUse, path, "another server listens there");
        }
    }

    private static SocketException Refused(SocketError error, string path, string reason) =>
        new((int)error, $"{HostPort.UnixPrefix}{path}: {reason}");
}
