using System.CommandLine.Parsing;
using EQueue.Protocol;

namespace EQueue.Cli.Input;

/// <summary>Reads the topic of a broker, <c>HOST:PORT/TOPIC</c>.</summary>
internal static class TopicAddressText
{
    public static TopicAddress? TryRead(string text)
    {
        int slash = text.LastIndexOf('/');
        return slash > 0 && NameRules.IsValid(text.AsSpan(slash + 1))
            ? new TopicAddress(text[..slash], text[(slash + 1)..]) : null;
    }

    /// <summary>For an option's parser.</summary>
    public static TopicAddress? Parse(ArgumentResult result)
    {
        string text = result.Tokens[0].Value;
        if (TryRead(text) is { } address)
            return address;
        result.AddError($"'{text}' is no topic of a broker: write HOST:PORT/TOPIC.");
        return null;
    }
}
