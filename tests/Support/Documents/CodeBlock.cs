namespace EQueue.Support;

/// <summary>A fenced block of a document.</summary>
/// <param name="Name">What the comment in the line before it says, as in <c>&lt;!-- tour --&gt;</c>; empty without one.</param>
/// <param name="Language">What stands behind the fence.</param>
/// <param name="Lines">The lines between the fences.</param>
public sealed record CodeBlock(string Name, string Language, IReadOnlyList<string> Lines)
{
    public string Text => string.Join('\n', Lines) + "\n";

    /// <summary>The block as a person types it: a line that begins with <c>$ </c> is a command, the others its output.</summary>
    public IReadOnlyList<TourStep> Steps
    {
        get
        {
            var steps = new List<(string Command, List<string> Output)>();
            foreach (string line in Lines)
            {
                if (line.StartsWith("$ ", StringComparison.Ordinal))
                    steps.Add((line[2..], []));
                else
                    steps[^1].Output.Add(line);
            }

            return [.. steps.Select(step => new TourStep(step.Command, step.Output))];
        }
    }
}
