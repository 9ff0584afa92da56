using System.Reflection;

namespace EQueue.Server.Configuration;

/// <summary>Section Serilog of the settings, held to what its reader would otherwise pass over in silence: sections,
/// sinks and their arguments that do not exist.</summary>
internal static class LogSection
{
    public const string Name = "Serilog";

    private static readonly string[] Sections =
    [
        "Using", "MinimumLevel", "LevelSwitches", "FilterSwitches", "WriteTo", "AuditTo", "Enrich", "Filter",
        "Destructure", "Properties",
    ];

    private static readonly string[] LevelParts = ["Default", "Override", "ControlledBy"];

    /// <summary>The sections that name methods, and what those extend.</summary>
    private static readonly (string Section, string Extended)[] Calling =
    [
        ("WriteTo", "Serilog.Configuration.LoggerSinkConfiguration"),
        ("AuditTo", "Serilog.Configuration.LoggerAuditSinkConfiguration"),
        ("Enrich", "Serilog.Configuration.LoggerEnrichmentConfiguration"),
        ("Filter", "Serilog.Configuration.LoggerFilterConfiguration"),
    ];

    /// <exception cref="ConfigurationException">Names what does not exist and what does.</exception>
    public static void Check(IConfiguration configuration)
    {
        LogLevels.Check(configuration);
        IConfigurationSection log = configuration.GetSection(Name);
        CheckNames(log, Sections);
        CheckNames(log.GetSection("MinimumLevel"), LevelParts);
        Assembly[]? assemblies = null;
        foreach ((string section, string extended) in Calling)
        {
            foreach (IConfigurationSection call in log.GetSection(section).GetChildren())
                CheckCall(call, MethodsOf(extended, assemblies ??= FindAssemblies(log)));
        }
    }

    private static void CheckNames(IConfigurationSection parent, string[] allowed)
    {
        foreach (IConfigurationSection child in parent.GetChildren())
        {
            if (!allowed.Contains(child.Key, StringComparer.OrdinalIgnoreCase))
                throw Refuse($"{child.Path} is not a setting", child.Key, allowed);
        }
    }

    /// <summary>A name alone, or an object with a name and arguments.</summary>
    private static void CheckCall(IConfigurationSection call, MethodInfo[] methods)
    {
        string? name = call.Value ?? call["Name"];
        if (string.IsNullOrEmpty(name))
            throw new ConfigurationException($"{call.Path}:Name is missing: allowed is {List(NamesOf(methods))}.");
        MethodInfo[] called =
            [.. methods.Where(method => method.Name.Equals(name, StringComparison.OrdinalIgnoreCase))];
        if (called.Length == 0)
            throw Refuse($"{call.Path} is '{name}'", name, NamesOf(methods));
        string[] given = [.. call.GetSection("Args").GetChildren().Select(static argument => argument.Key)];
        // What a class itself has is called through other methods, whose arguments are not to be seen here.
        if (called.Any(static method => !method.IsStatic) || called.Any(method => Takes(method, given)))
            return;
        string[] known = [.. called.SelectMany(ArgumentsOf).Distinct(StringComparer.OrdinalIgnoreCase)];
        string? unknown = given.FirstOrDefault(one => !known.Contains(one, StringComparer.OrdinalIgnoreCase));
        throw unknown is not null
            ? Refuse($"{call.Path}:Args:{unknown} is not an argument of {name}", unknown, known)
            : new ConfigurationException($"{call.Path}:Args has {(given.Length == 0 ? "nothing" : List(given))}, which "
                + $"{name} cannot be called with: its arguments are {List(known)}.");
    }

    private static bool Takes(MethodInfo method, string[] given)
    {
        string[] known = [.. ArgumentsOf(method)];
        return given.All(one => known.Contains(one, StringComparer.OrdinalIgnoreCase))
            && method.GetParameters().Skip(1).All(parameter => parameter.HasDefaultValue
                || typeof(IConfiguration).IsAssignableFrom(parameter.ParameterType)
                || given.Contains(parameter.Name, StringComparer.OrdinalIgnoreCase));
    }

    private static IEnumerable<string> ArgumentsOf(MethodInfo method) =>
        method.GetParameters().Skip(1).Select(static parameter => parameter.Name!);

    private static string[] NamesOf(MethodInfo[] methods) =>
        [.. methods.Select(static method => method.Name).Distinct().Order(StringComparer.Ordinal)];

    private static MethodInfo[] MethodsOf(string extended, Assembly[] assemblies) =>
    [
        .. assemblies.SelectMany(static assembly => assembly.GetExportedTypes()).SelectMany(type =>
            type.FullName == extended
                ? type.GetMethods(BindingFlags.Public | BindingFlags.Instance | BindingFlags.DeclaredOnly)
                    .Where(static method => !method.IsSpecialName)
                : type.GetMethods(BindingFlags.Public | BindingFlags.Static).Where(method =>
                    method.GetParameters() is [{ } first, ..] && first.ParameterType.FullName == extended)),
    ];

    /// <summary>The log's own assemblies beside the program, and those that the settings name.</summary>
    private static Assembly[] FindAssemblies(IConfigurationSection log)
    {
        IEnumerable<string> beside = Directory.EnumerateFiles(AppContext.BaseDirectory, $"{Name}*.dll")
            .Select(static path => Path.GetFileNameWithoutExtension(path));
        IEnumerable<string> named = log.GetSection("Using").GetChildren().Select(static one => one.Value ?? "");
        return [.. beside.Concat(named).Where(static name => name.Length > 0).Distinct().Select(Load)];
    }

    private static Assembly Load(string name)
    {
        try
        {
            return Assembly.Load(new AssemblyName(name));
        }
        catch (Exception exception) when (exception is IOException or BadImageFormatException)
        {
            throw new ConfigurationException(
                $"{Name}:Using names '{name}': allowed is an assembly beside the program. {exception.Message}",
                exception);
        }
    }

    private static ConfigurationException Refuse(string what, string wrong, string[] allowed) =>
        new($"{what}: allowed is {List(allowed)}.{NearName.Hint(wrong, allowed)}");

    private static string List(string[] names) => string.Join(", ", names);
}
