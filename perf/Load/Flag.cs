using System.CommandLine;
using System.CommandLine.Parsing;
using System.Globalization;
using System.Numerics;

namespace EQueue.Load;

/// <summary>Makes flags whose values are checked against bounds.</summary>
internal static class Flag
{
    public static Option<string?> Text(string name, string description) => new(name) { Description = description };

    public static Option<T> Word<T>(string name, string description, T standard)
        where T : struct, Enum
    {
        string words = string.Join('|', Enum.GetNames<T>().Select(word => word.ToLowerInvariant()));
        return new Option<T>(name) { Description = $"{description}: {words}", DefaultValueFactory = _ => standard };
    }

    /// <summary>
    /// A number of the same kind as its bounds: with a fraction only where they are fractions' bounds.
    /// </summary>
    public static Option<T?> Number<T>(string name, string description, T min, T max)
        where T : struct, INumber<T>
    {
        return new Option<T?>(name)
        {
            Description = description,
            CustomParser = result => ParseNumber(result, name, min, max),
        };
    }

    public static Option<double?> Duration(string name, string description, double min) =>
        Fraction(name, description, min, 86_400);

    public static Option<double?> Fraction(string name, string description, double min, double max) =>
        Number(name, description, min, max);

    public static Option<int[]?> List(string name, string description, int min, int max, bool isSingle) => new(name)
    {
        Description = isSingle ? description : $"{description}; several with commas",
        CustomParser = result => ParseList(result, name, min, max, isSingle),
    };

    public static Faults ParseFaults(ArgumentResult result)
    {
        string word = result.Tokens[0].Value;
        if (!int.TryParse(word, CultureInfo.InvariantCulture, out _) && Enum.TryParse(word, true, out Faults faults))
            return faults;
        result.AddError($"--inject '{word}': missing, duplicate, reorder, short, or several with commas");
        return Faults.None;
    }

    private static T? ParseNumber<T>(ArgumentResult result, string name, T min, T max)
        where T : struct, INumber<T>
    {
        string word = result.Tokens[0].Value;
        if (T.TryParse(word, CultureInfo.InvariantCulture, out T value) && value >= min && value <= max)
            return value;
        result.AddError($"{name} '{word}': a number from {min} to {max}");
        return null;
    }

    private static int[]? ParseList(ArgumentResult result, string name, int min, int max, bool isSingle)
    {
        string[] words = [.. result.Tokens.SelectMany(token => token.Value.Split(','))];
        var values = new List<int>();
        foreach (string word in words)
        {
            if (int.TryParse(word, NumberStyles.None, CultureInfo.InvariantCulture, out int value)
                && value >= min && value <= max)
            {
                values.Add(value);
            }
            else
            {
                result.AddError($"{name} '{word}': numbers from {min} to {max}, separated by commas");
                return null;
            }
        }

        if (isSingle && values.Count > 1)
        {
            result.AddError($"{name}: one number here");
            return null;
        }

        return values.Count == 0 ? null : [.. values];
    }
}
