using System.Text;

namespace EQueue.Cli.Input;

/// <summary>Asks a person for a password, which the terminal does not show.</summary>
/// <param name="error">Where it is asked.</param>
/// <param name="interrupted">Ends the wait for an answer.</param>
internal sealed class SecretPrompt(TextWriter error, CancellationToken interrupted)
{
    private const char EndOfText = '\u0004';
    private const char EraseLine = '\u0015';

    /// <summary>Asks on the terminal, and waits until a line is typed.</summary>
    /// <exception cref="OperationCanceledException">The person pressed Ctrl-C.</exception>
    public string Ask(string question)
    {
        error.Write(question);
        error.Flush();
        try
        {
            // The system's read cannot be ended: after Ctrl-C the process ends with it.
            return Task.Run(ReadLine, CancellationToken.None).WaitAsync(interrupted).GetAwaiter().GetResult();
        }
        finally
        {
            error.WriteLine();
        }
    }

    private static string ReadLine()
    {
        var typed = new StringBuilder();
        while (true)
        {
            ConsoleKeyInfo key = Console.ReadKey(intercept: true);
            if (key.Key == ConsoleKey.Enter || key.KeyChar is '\r' or '\n' or EndOfText)
                return typed.ToString();
            if (key.Key == ConsoleKey.Backspace)
                Erase(typed);
            else if (key.KeyChar == EraseLine)
                typed.Clear();
            else if (!char.IsControl(key.KeyChar))
                typed.Append(key.KeyChar);
        }
    }

    private static void Erase(StringBuilder typed)
    {
        if (typed.Length == 0)
            return;
        bool isPair = char.IsLowSurrogate(typed[^1]) && typed.Length > 1;
        typed.Length -= isPair ? 2 : 1;
    }
}
