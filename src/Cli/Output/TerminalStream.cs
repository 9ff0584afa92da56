namespace EQueue.Cli.Output;

/// <summary>Results on their way to a terminal: UTF-8, escaped as <see cref="TerminalText"/> says.</summary>
/// <remarks>Up to 3 bytes of a character that is not whole yet are kept until the next write or flush.</remarks>
internal sealed class TerminalStream(Stream output) : OutputStream
{
    private byte[] _rest = [];

    public override void Flush()
    {
        WriteRest();
        output.Flush();
    }

    public override Task FlushAsync(CancellationToken cancellationToken)
    {
        WriteRest();
        return output.FlushAsync(cancellationToken);
    }

    public override void Write(ReadOnlySpan<byte> buffer)
    {
        ReadOnlySpan<byte> bytes = _rest.Length == 0 ? buffer : [.. _rest, .. buffer];
        int written = TerminalText.Write(bytes, isLast: false, output);
        _rest = bytes[written..].ToArray();
    }

    protected override void Dispose(bool disposing)
    {
        if (disposing)
            WriteRest();
        base.Dispose(disposing);
    }

    private void WriteRest()
    {
        if (_rest.Length == 0)
            return;
        byte[] rest = _rest;
        _rest = [];
        TerminalText.Write(rest, isLast: true, output);
    }
}
