using System.Text;

namespace EQueue.System.Tests.Packaging;

/// <summary>A Dockerfile as its instructions, in order.</summary>
internal sealed class Dockerfile
{
    private Dockerfile(IReadOnlyList<(string Name, string Arguments)> instructions) => Instructions = instructions;

    public IReadOnlyList<(string Name, string Arguments)> Instructions { get; }

    public static Dockerfile Parse(string text)
    {
        var instructions = new List<(string, string)>();
        var line = new StringBuilder();
        foreach (string part in text.Split('\n').Where(one => !one.TrimStart().StartsWith('#')))
        {
            string trimmed = part.Trim();
            line.Append(trimmed.TrimEnd('\\').Trim()).Append(' ');
            if (trimmed.EndsWith('\\'))
                continue;
            string whole = line.ToString().Trim();
            line.Clear();
            if (whole.Length == 0)
                continue;
            int space = whole.IndexOf(' ', StringComparison.Ordinal);
            instructions.Add(space < 0 ? (whole, "") : (whole[..space], whole[(space + 1)..].Trim()));
        }

        return new Dockerfile(instructions);
    }

    public IEnumerable<string> All(string name) => Instructions.Where(one => one.Name == name).Select(one => one.Arguments);
}
