namespace EQueue.Support;

/// <summary>A document of the repository, read for what it promises.</summary>
public sealed class DocumentFile
{
    private DocumentFile(string path, IReadOnlyList<CodeBlock> blocks) => (Path, Blocks) = (path, blocks);

    /// <summary>Its path from the root.</summary>
    public string Path { get; }

    /// <summary>Every fenced block, in order.</summary>
    public IReadOnlyList<CodeBlock> Blocks { get; }

    /// <summary>Reads a document.</summary>
    /// <param name="path">From the root, as in <c>docs/client.md</c>.</param>
    public static DocumentFile Read(string path)
    {
        var blocks = new List<CodeBlock>();
        List<string>? open = null;
        string previous = "", name = "", language = "";
        foreach (string line in File.ReadLines(System.IO.Path.Combine(ProgramFiles.Root, path)))
        {
            bool isFence = line.StartsWith("```", StringComparison.Ordinal);
            if (isFence && open is null)
            {
                (name, language, open) = (CommentOf(previous), line[3..], []);
            }
            else if (isFence)
            {
                blocks.Add(new CodeBlock(name, language, open!));
                open = null;
            }
            else
            {
                open?.Add(line);
            }

            previous = line;
        }

        return open is null ? new DocumentFile(path, blocks) : throw new InvalidDataException($"{path} ends within a block.");
    }

    /// <summary>The one block with that name.</summary>
    public CodeBlock Block(string name) => Blocks.Single(block => block.Name == name);

    private static string CommentOf(string line)
        => line.StartsWith("<!-- ", StringComparison.Ordinal) && line.EndsWith(" -->", StringComparison.Ordinal)
            ? line[5..^4]
            : "";
}
