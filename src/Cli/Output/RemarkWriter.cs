using System.Text;

namespace EQueue.Cli.Output;

/// <summary>Errors and remarks on standard error, escaped as <see cref="TerminalText"/> says: what a line is given is
/// one line, whatever it holds.</summary>
/// <remarks>Also where no terminal reads: a log of it may be shown on one later.</remarks>
internal sealed class RemarkWriter(TextWriter error) : TextWriter
{
    public override Encoding Encoding => error.Encoding;

    public override void Write(char value) => error.Write(TerminalText.Lines(value.ToString()));

    public override void Write(string? value) => error.Write(TerminalText.Lines(value ?? ""));

    public override void Write(char[] buffer, int index, int count) =>
        error.Write(TerminalText.Lines(new string(buffer, index, count)));

    public override void WriteLine(string? value) => error.WriteLine(TerminalText.OneLine(value ?? ""));

    public override Task WriteLineAsync(string? value) => error.WriteLineAsync(TerminalText.OneLine(value ?? ""));

    public override void Flush() => error.Flush();

    public override Task FlushAsync() => error.FlushAsync();
}
