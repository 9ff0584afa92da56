using System.CommandLine;
using System.CommandLine.Parsing;
using EQueue.Cluster;

namespace EQueue.Cli.Commands;

/// <summary>The names of a cluster's nodes, and its flush policy, as people write them.</summary>
internal static class NodeNames
{
    private const string Sync = "sync";
    private const string Async = "async";

    /// <summary><c>--nodes a,b,c</c>.</summary>
    public static Option<string[]> ListOption() => new("--nodes")
    {
        Description = "The names of all nodes, separated by commas; three is usual. The first one begins the log.",
        HelpName = "NAME[,NAME]",
        Required = true,
        CustomParser = ParseList,
    };

    /// <summary><c>--flush sync|async</c>.</summary>
    public static Option<string> FlushOption()
    {
        var option = new Option<string>("--flush")
        {
            Description =
                "When a message counts at a node: once it is durable (sync) or written (async). All nodes have "
                + "the same Store:FlushPolicy.",
            HelpName = "sync|async",
            DefaultValueFactory = _ => Sync,
            CustomParser = ParseFlush,
        };
        option.CompletionSources.Add(Sync, Async);
        return option;
    }

    /// <summary>What <see cref="FlushOption"/> says.</summary>
    public static bool IsSync(ParseResult parsed, Option<string> flush) => parsed.GetValue(flush) == Sync;

    private static string[] ParseList(ArgumentResult result)
    {
        string text = result.Tokens[0].Value;
        string[] names = text.Split(',', StringSplitOptions.TrimEntries);
        string? wrong = names.FirstOrDefault(static name => !ClusterOptions.IsName(name));
        string? twice = names.GroupBy(static name => name, StringComparer.Ordinal)
            .FirstOrDefault(static same => same.Count() > 1)?.Key;
        if (wrong is not null)
            result.AddError($"'{wrong}' is no node's name: 1 to 63 letters, digits, '.', '_' and '-'.");
        else if (twice is not null)
            result.AddError($"The node {twice} is named twice in '{text}'.");
        else if (names.Length > ClusterOptions.MostNodes)
            result.AddError($"{names.Length} nodes are named; a cluster has at most {ClusterOptions.MostNodes}.");
        return names;
    }

    private static string ParseFlush(ArgumentResult result)
    {
        string word = result.Tokens[0].Value;
        if (word is not (Sync or Async))
            result.AddError($"--flush is {Sync} or {Async}; found '{word}'.");
        return word;
    }
}
