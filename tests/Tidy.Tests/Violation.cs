namespace EQueue.Tidy.Tests;

/// <summary>One place where a rule of the house is broken.</summary>
internal sealed record Violation(string Rule, string Path, int Line, string What)
{
    public override string ToString() => $"{Rule} | {Path}:{Line} | {What}";
}
