using System.Text;

namespace EQueue.Support;

/// <summary>How a program ended and what it wrote.</summary>
public sealed record ProgramResult(int ExitCode, byte[] Output, string Error)
{
    public string OutputText => Encoding.UTF8.GetString(Output);
}
