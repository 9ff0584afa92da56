namespace EQueue.Cli.Clusters;

/// <summary>Says in words whether a cluster takes messages, and what to do.</summary>
internal static class StatusSentences
{
    private const string Lost = "If their directories are lost for good: equeue cluster elect --help.";

    /// <summary>One line; the last of <c>cluster status</c>.</summary>
    public static string Of(ClusterStatus status)
    {
        if (status.State is not { } state)
            return $"The log has not begun: no messages are taken. Start node {status.Nodes[0].Name}, which begins it.";
        NodeStatus[] dead = [.. status.DeadSeats];
        int live = status.LiveSeats.Count();
        if (status.Leader is null && live == 0)
        {
            string they = dead.Length == 1 ? "If it runs, wait: it has" : "If they run, wait: they have";
            return $"No seat answers ({Names(dead)}): no messages are taken. {Start(dead)} {they} what was "
                + $"acknowledged. {Lost}";
        }

        string seats = $"{live} of {status.WantedSeats} seats";
        if (dead.Length > 0 && live < state.Min)
        {
            return $"{seats}: {Nodes(dead)} "
                + $"{(dead.Length == 1 ? "has a seat and does" : "have seats and do")} not answer; "
                + $"no messages are taken, since {state.Min} seats must have each. {Start(dead)} {Lost}";
        }

        if (dead.Length > 0)
        {
            return $"{seats}: {Nodes(dead)} "
                + $"{(dead.Length == 1 ? "has a seat and does" : "have seats and do")} not answer; "
                + $"messages wait until the others go on without, some seconds. Ask again; {Lower(Start(dead))}";
        }

        if (status.Leader is null)
            return $"{seats}, and none leads yet: no messages are taken. One of them claims within seconds: ask again.";
        NodeStatus[] away = [.. status.Nodes.Where(static node => !node.HasSeat && !node.IsThere)];
        NodeStatus[] behind = [.. status.Nodes.Where(static node => !node.HasSeat && node.IsThere)];
        if (live >= status.WantedSeats)
            return $"{seats}: messages are taken. Nothing is to be done.";
        string missing = away.Length > 0
            ? $"{Nodes(away)} {(away.Length == 1 ? "is" : "are")} not there"
            : $"{Nodes(behind)} {(behind.Length == 1 ? "copies" : "copy")} the log";
        string todo = away.Length > 0 ? Start(away)
            : behind.Length == 1 ? "Wait: it gets its seat by itself."
            : "Wait: they get their seats by themselves.";
        return $"{seats}: {missing}; messages are taken. {todo}";
    }

    private static string Start(NodeStatus[] nodes) => $"Start {Nodes(nodes)}.";

    private static string Lower(string sentence) => char.ToLowerInvariant(sentence[0]) + sentence[1..];

    private static string Nodes(NodeStatus[] nodes) => (nodes.Length == 1 ? "node " : "nodes ") + Names(nodes);

    private static string Names(NodeStatus[] nodes) => nodes.Length < 2
        ? string.Concat(nodes.Select(static node => node.Name))
        : string.Join(", ", nodes[..^1].Select(static node => node.Name)) + " and " + nodes[^1].Name;
}
