using System.Runtime.InteropServices;
using System.Text.Json;

namespace EQueue.Load.Roles;

/// <summary>
/// The inside of a role's process: reads one command per line from standard input, answers one line on standard output.
/// The end of standard input (the load program stopped or died) ends the process, whatever it is doing.
/// </summary>
internal static class RoleHost
{
    private static readonly TimeSpan StopGrace = TimeSpan.FromSeconds(5);

    public static async Task<int> RunAsync(string name)
    {
        if (RoleList.Create(name) is not { } role)
        {
            await Console.Error.WriteLineAsync($"unknown role: {name}");
            return LoadExit.Usage;
        }

        // Ctrl-C reaches the whole group of processes; the load program decides and closes our input.
        using var interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, context => context.Cancel = true);
        using var stop = new CancellationTokenSource();
        await using (role)
        {
            await ServeAsync(role, stop);
        }

        return LoadExit.Ok;
    }

    private static async Task ServeAsync(IRole role, CancellationTokenSource stop)
    {
        using var input = new StreamReader(Console.OpenStandardInput());
        await using var output = new StreamWriter(Console.OpenStandardOutput()) { AutoFlush = true };
        Task<string?> next = input.ReadLineAsync(CancellationToken.None).AsTask();
        while (await next is { } line)
        {
            next = input.ReadLineAsync(CancellationToken.None).AsTask();
            Task<RoleAnswer> answer = AnswerAsync(role, line, stop.Token);
            if (await Task.WhenAny(answer, next) == next && await next is null)
            {
                await stop.CancelAsync();
                await Task.WhenAny(answer, Task.Delay(StopGrace));
                if (!answer.IsCompleted)
                    Environment.Exit(LoadExit.Failed);
                return;
            }

            await output.WriteLineAsync(JsonSerializer.Serialize(await answer, RoleJson.Options));
        }
    }

    private static async Task<RoleAnswer> AnswerAsync(IRole role, string line, CancellationToken cancellationToken)
    {
        try
        {
            RoleCommand command = JsonSerializer.Deserialize<RoleCommand>(line, RoleJson.Options)!;
            object? result = await role.HandleAsync(command.Name, command.Argument, cancellationToken);
            return new RoleAnswer(null, LoadExit.Ok, JsonSerializer.SerializeToElement(result, RoleJson.Options));
        }
        catch (LoadException exception)
        {
            return new RoleAnswer(exception.Message, exception.ExitCode, RoleJson.Nothing);
        }
        catch (IOException exception) when (DiskIsFull(exception))
        {
            string text = $"machine limit met: disk: {exception.Message}";
            return new RoleAnswer(text, LoadExit.MachineLimit, RoleJson.Nothing);
        }
        catch (Exception exception) when (exception is not OutOfMemoryException)
        {
            return new RoleAnswer(exception.ToString(), LoadExit.Failed, RoleJson.Nothing);
        }
    }

    private static bool DiskIsFull(IOException exception)
    {
        const int noSpace = 28;
        return (exception.HResult & 0xFFFF) == noSpace && OperatingSystem.IsLinux();
    }
}
