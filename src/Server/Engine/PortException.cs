using System.Net.Sockets;

namespace EQueue.Server.Engine;

/// <summary>An address cannot be listened on; says which one, and which setting it is from.</summary>
/// <param name="setting">As in <c>Server:AdminListen</c>.</param>
/// <param name="address">As it is set.</param>
/// <param name="cause">What the system says.</param>
internal sealed class PortException(string setting, string address, SocketException cause)
    : Exception(Describe(setting, address, cause), cause)
{
    public bool IsInUse { get; } = cause.SocketErrorCode == SocketError.AddressAlreadyInUse;

    private static string Describe(string setting, string address, SocketException cause)
    {
        string why = cause.Message.TrimEnd('.');
        return cause.SocketErrorCode switch
        {
            SocketError.AddressAlreadyInUse =>
                $"{setting} is '{address}', which is in use: {why}. End what listens there, or set another address; "
                + "port 0 takes any free one.",
            SocketError.AddressNotAvailable => $"{setting} is '{address}', which is not this machine's: {why}.",
            SocketError.AccessDenied => $"{setting} is '{address}', where this user may not listen: {why}.",
            _ => $"{setting} is '{address}', where nothing can listen: {why}.",
        };
    }
}
