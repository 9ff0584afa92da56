using System.Globalization;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text.RegularExpressions;
using System.Xml.Linq;
using EQueue.Broker;
using EQueue.MessageStore;
using EQueue.Remoting;

namespace EQueue.Client.Tests;

/// <summary>The documentation of every public option says its default, and says it right.</summary>
public sealed partial class OptionDefaultTests
{
    private static readonly Assembly[] Libraries =
    [
        typeof(EQueueClient).Assembly, typeof(EQueueBroker).Assembly, typeof(RemotingClientOptions).Assembly,
        typeof(StoreOptions).Assembly,
    ];

    [Fact]
    public void GivenEveryPublicOption_WhenItsDocumentationIsRead_ThenItNamesTheDefaultThatItHas()
    {
        List<string> wrong = [];
        int count = 0;
        foreach (Assembly library in Libraries)
        {
            var documents = XDocument.Load(Path.ChangeExtension(library.Location, ".xml")).Descendants("member")
                .ToDictionary(static member => (string)member.Attribute("name")!, StringComparer.Ordinal);
            foreach (Type? type in library.GetExportedTypes().Where(static type =>
                type is { IsClass: true, IsAbstract: false } && type.Name.EndsWith("Options", StringComparison.Ordinal)))
            {
                foreach (PropertyInfo option in OptionsOf(type))
                {
                    count++;
                    string text = documents.GetValueOrDefault($"P:{type.FullName}.{option.Name}")?.Value ?? "";
                    string told = DefaultPattern().Match(text.ReplaceLineEndings(" ")).Groups["value"].Value;
                    string? expected = WordsOf(option, option.GetValue(MakeDefault(type)));
                    if (told.Length == 0 || (expected is not null && told != expected))
                        wrong.Add($"{type.Name}.{option.Name} says '{told}': 'Default: {expected ?? "..."}.' is right");
                }
            }
        }

        Assert.True(wrong.Count == 0, string.Join(Environment.NewLine, wrong));
        Assert.True(count > 100, $"{count} options were found.");
    }

    /// <summary>Those that can be set and need not be.</summary>
    private static IEnumerable<PropertyInfo> OptionsOf(Type type) => type
        .GetProperties(BindingFlags.Public | BindingFlags.Instance | BindingFlags.DeclaredOnly)
        .Where(static property => property.CanWrite && !property.IsDefined(typeof(RequiredMemberAttribute)));

    private static object MakeDefault(Type type) => Activator.CreateInstance(type)!;

    /// <summary>The default as people read it; null: any words will do, for it is an object or the machine's.</summary>
    private static string? WordsOf(PropertyInfo option, object? value) => value switch
    {
        null => "null",
        bool truth => truth ? "true" : "false",
        Enum name => name.ToString(),
        TimeSpan time => WordsOf(time),
        IFormattable number when value.GetType().IsPrimitive =>
            option.Name.Contains("Bytes", StringComparison.Ordinal) ? SizeOf(Convert.ToInt64(value, null))
                : number.ToString("N0", CultureInfo.InvariantCulture),
        string text when text.Contains(Environment.MachineName, StringComparison.Ordinal) => null,
        string text => text.Length == 0 ? "empty" : text,
        IEnumerable<string> texts => texts.Any() ? string.Join(", ", texts) : "empty",
        StartPosition place when place.Equals(StartPosition.Begin) => "Begin",
        _ => null,
    };

    private static string WordsOf(TimeSpan time)
    {
        (string Unit, long Ticks)[] units =
        [
            ("d", TimeSpan.TicksPerDay), ("h", TimeSpan.TicksPerHour), ("min", TimeSpan.TicksPerMinute),
            ("s", TimeSpan.TicksPerSecond), ("ms", TimeSpan.TicksPerMillisecond),
        ];
        (string unit, long ticks) = units.First(one => time.Ticks % one.Ticks == 0);
        return time == TimeSpan.Zero ? "0" : $"{time.Ticks / ticks} {unit}";
    }

    private static string SizeOf(long bytes)
    {
        (string Unit, long Bytes)[] units = [("GiB", 1L << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        foreach ((string unit, long size) in units)
        {
            if (bytes != 0 && bytes % size == 0)
                return string.Create(CultureInfo.InvariantCulture, $"{bytes / size:N0} {unit}");
        }

        return bytes.ToString("N0", CultureInfo.InvariantCulture);
    }

    [GeneratedRegex(@"Default:\s+(?<value>.+?)\.(?:\s|$)", RegexOptions.CultureInvariant, 1000)]
    private static partial Regex DefaultPattern();
}
