using EQueue.Server;
using EQueue.Server.Configuration;
using EQueue.Server.Hosting;
using EQueue.Server.Services;
using Serilog;
using Serilog.Core;
using Serilog.Debugging;
using Serilog.Events;

try
{
    if (ServiceRequest.IsMeantBy(args))
    {
        var request = ServiceRequest.Parse(args);
        var machine = new ServiceMachine();
        return OperatingSystem.IsWindows()
            ? await new WindowsService(request, machine, Console.Out, Console.Error).RunAsync()
            : await new SystemdService(request, machine, Console.Out, Console.Error).RunAsync();
    }

    var commandLine = CommandLine.Parse(args);
    switch (commandLine.Mode)
    {
        case CommandMode.Help:
            Console.WriteLine(CommandLine.Usage);
            return ExitCode.Clean;
        case CommandMode.Version:
            Console.WriteLine($"equeue-server {ServerVersion.Text}");
            return ExitCode.Clean;
    }

    IConfigurationRoot configuration = SettingsSource.Load(commandLine);
    ServerOptions options = SettingsSource.Read(configuration);
    if (commandLine.Mode == CommandMode.CheckConfiguration)
    {
        foreach (Setting setting in Settings.All)
            Console.WriteLine($"{setting.Key} = {setting.Show(options)}");
        return ExitCode.Clean;
    }

    using IDisposable? ignored = FileSizeSignal.Ignore();
    var live = new LiveConfiguration(configuration);
    return await ServerHost.RunAsync(options, commandLine, live, logging => AddSerilog(logging, live.Root));
}
catch (ConfigurationException exception)
{
    await Console.Error.WriteLineAsync($"equeue-server: {exception.Message}");
    return ExitCode.Configuration;
}

// The log goes to standard error; section Serilog of the configuration sets levels, which follow its reloads, and adds
// files.
static void AddSerilog(ILoggingBuilder logging, IConfiguration configuration)
{
    // What its sections ask for and it cannot do, such as a file that cannot be written, it tells here alone.
    var complaints = new StringWriter();
    SelfLog.Enable(TextWriter.Synchronized(complaints));
    try
    {
        Serilog.ILogger logger = new LoggerConfiguration()
            .MinimumLevel.Information()
            .MinimumLevel.Override("Microsoft", LogEventLevel.Warning)
            // A failed start is told once, by ServerHost.
            .MinimumLevel.Override("Microsoft.Extensions.Hosting.Internal.Host", LogEventLevel.Fatal)
            .Enrich.With(new EventNumber())
            .WriteTo.Console(
                outputTemplate: "{Timestamp:yyyy-MM-dd HH:mm:ss.fff zzz} {Level:u3} {EventNumber} {SourceContext} "
                    + "{Message:lj}{NewLine}{Exception}",
                standardErrorFromLevel: LevelAlias.Minimum)
            .ReadFrom.Configuration(configuration)
            .CreateLogger();
        if (complaints.ToString() is { Length: > 0 } said)
            throw new ConfigurationException($"Section Serilog cannot be used: {said.Trim()}");
        logging.ClearProviders();
        logging.SetMinimumLevel(LogLevel.Trace);
        logging.AddSerilog(logger, dispose: true);
    }
    catch (Exception exception) when (exception is InvalidOperationException or ArgumentException or FormatException)
    {
        throw new ConfigurationException($"Section Serilog cannot be used: {exception.Message}", exception);
    }
    finally
    {
        SelfLog.Disable();
    }
}

#pragma warning disable MA0047 // Behind top-level statements no namespace can be declared for a file.
/// <summary>Gives each line of the log the number of its event, which the documents name, as
/// <c>EventNumber</c>.</summary>
internal sealed class EventNumber : ILogEventEnricher
{
    public void Enrich(LogEvent logEvent, ILogEventPropertyFactory propertyFactory)
    {
        object? number = logEvent.Properties.TryGetValue("EventId", out LogEventPropertyValue? id)
            && id is StructureValue structure
            && structure.Properties.FirstOrDefault(static part => part.Name == "Id") is { Value: ScalarValue scalar }
                ? scalar.Value
                : 0;
        logEvent.AddPropertyIfAbsent(propertyFactory.CreateProperty(nameof(EventNumber), number));
    }
}
