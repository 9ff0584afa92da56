namespace EQueue.Remoting;

/// <summary>How TLS begins on the wire, to tell it from frames (RFC 8446, sections 5.1, 4 and 6).</summary>
/// <remarks>
/// <code>
/// greeting  0 u8 22 handshake | 1 u8 3 | 2 u8 0..4 | 3 u16 length | 5 u8 1 ClientHello | 6 u24 length - 4 | 9 u8 3
/// alert     0 u8 21 alert     | 1 u8 3 | 2 u8 0..4 | 3 u16 2      | 5 u8 level         | 6 u8 description
/// </code>
/// </remarks>
internal static class TlsRecord
{
    private const byte Alert = 21;
    private const byte Handshake = 22;
    private const byte ClientHello = 1;
    private const byte FirstType = 20;
    private const byte LastType = 23;

    /// <summary>Tells a peer without TLS that this end speaks it: a fatal alert, protocol_version.</summary>
    public static ReadOnlyMemory<byte> PlainRefused { get; } = new byte[] { Alert, 3, 3, 0, 2, 2, 70 };

    /// <summary>Whether these are the first bytes of a TLS client, and of no frame: the tenth byte would be part of a
    /// correlation id, the others of a length, opcode, version and flags that are never sent.</summary>
    public static bool IsGreeting(ReadOnlySpan<byte> bytes) => bytes is [Handshake, 3, <= 4, var high, var low,
        ClientHello, 0, var innerHigh, var innerLow, 3, ..]
        && (high << 8 | low) == (innerHigh << 8 | innerLow) + 4;

    /// <summary>Whether these are the first bytes of a TLS server that was not spoken to in TLS.</summary>
    public static bool IsAlert(ReadOnlySpan<byte> bytes) => bytes is [Alert, 3, <= 4, 0, 2, ..];

    /// <summary>Whether a TLS peer may begin with this byte.</summary>
    public static bool IsType(int first) => first is >= FirstType and <= LastType;

    /// <summary>Whether a TLS client begins with this byte.</summary>
    public static bool IsHandshake(byte first) => first == Handshake;
}
