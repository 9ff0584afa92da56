using EQueue.MessageStore;
using Spectre.Console;

namespace EQueue.Cli.Output;

/// <summary>Shows how far long work on files has come: to people at a terminal alone, on standard error.</summary>
internal static class ProgressBar
{
    /// <summary>Does the work, with a bar where one is wanted. The bar goes when the work ends.</summary>
    /// <param name="streams">Both ends must be terminals.</param>
    /// <param name="isJson">Never a bar then.</param>
    /// <param name="title">What is done.</param>
    /// <param name="work">Tells its progress, if it is given something to tell it to.</param>
    public static T Run<T>(CliStreams streams, bool isJson, string title, Func<Action<FileProgress>?, T> work)
    {
        if (isJson || !streams.IsTerminal || !streams.IsErrorTerminal)
            return work(null);
        IAnsiConsole console = AnsiConsole.Create(
            new AnsiConsoleSettings { Out = new AnsiConsoleOutput(streams.ExactError) });
        return console.Progress()
            .AutoClear(true)
            .Columns(
                new TaskDescriptionColumn(), new ProgressBarColumn(), new PercentageColumn(),
                new TransferSpeedColumn(), new RemainingTimeColumn())
            .Start(context =>
            {
                ProgressTask task = context.AddTask(Markup.Escape(title));
                return work(progress =>
                {
                    task.MaxValue = Math.Max(1, progress.TotalBytes);
                    task.Value = progress.DoneBytes;
                });
            });
    }
}
