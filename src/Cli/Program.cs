using System.Runtime.InteropServices;
using EQueue.Cli;
using EQueue.Cli.Input;
using EQueue.Cli.Output;

using var interrupted = new CancellationTokenSource();
using var onInterrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, Interrupt);
using var onTerminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, Interrupt);

await using Stream input = Console.OpenStandardInput();
await using Stream output = StandardOutput.Open();
bool isTerminal = !Console.IsOutputRedirected;
var streams = new CliStreams(input, output, Console.Error, isTerminal)
{
    IsErrorTerminal = !Console.IsErrorRedirected,
    IsInputTerminal = !Console.IsInputRedirected,
    AskSecret = new SecretPrompt(Console.Error, interrupted.Token).Ask,
    IsReaderGone = StandardOutput.IsReaderGone,
    Width = isTerminal && Console.WindowWidth > 0 ? Console.WindowWidth : 120,
};
return await CliProgram.RunAsync(args, streams, interrupted.Token);

// The first signal asks the command to finish what it holds; a second one ends the process.
void Interrupt(PosixSignalContext signal)
{
    if (interrupted.IsCancellationRequested)
        return;
    signal.Cancel = true;
    interrupted.Cancel();
}
