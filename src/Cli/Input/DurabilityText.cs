using System.CommandLine;

namespace EQueue.Cli.Input;

/// <summary>How safe a message is, in a word: <c>written</c>, <c>durable</c>.</summary>
internal static class DurabilityText
{
    private const string Written = "written";
    private const string Durable = "durable";

    /// <summary>The option <c>--durability</c>.</summary>
    public static Option<string?> Option(string description)
    {
        var option = new Option<string?>("--durability") { Description = description, HelpName = "written|durable" };
        option.AcceptOnlyFromAmong(Written, Durable);
        return option;
    }

    /// <param name="text">A word of the option; null for the broker's flush policy.</param>
    public static Durability Read(string? text) => text switch
    {
        Written => Durability.Written,
        Durable => Durability.Durable,
        _ => Durability.Policy,
    };

    /// <summary>The word for what a receipt tells.</summary>
    public static string Of(Durability durability) => durability == Durability.Durable ? Durable : Written;
}
