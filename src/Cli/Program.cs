using System.Runtime.InteropServices;
using EQueue.Cli;

using var interrupted = new CancellationTokenSource();
using PosixSignalRegistration onInterrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, Interrupt);
using PosixSignalRegistration onTerminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, Interrupt);

await using Stream input = Console.OpenStandardInput();
await using Stream output = Console.OpenStandardOutput();
var streams = new CliStreams(input, output, Console.Error, IsTerminal: !Console.IsOutputRedirected)
{
    IsErrorTerminal = !Console.IsErrorRedirected,
};
return await CliProgram.RunAsync(args, streams, interrupted.Token);

// The first signal asks the command to finish what it holds; a second one ends the process.
void Interrupt(PosixSignalContext signal)
{
    if (interrupted.IsCancellationRequested) return;
    signal.Cancel = true;
    interrupted.Cancel();
}
