namespace EQueue.Support;

/// <summary>Stands above a test that does what a text of the program tells an operator to do, as it stands.</summary>
/// <remarks>Server.Tests looks for one of each such text in the source of all tests.</remarks>
/// <param name="advice">Parts of the texts, as the source has them.</param>
[AttributeUsage(AttributeTargets.Method)]
public sealed class FollowsAttribute(params string[] advice) : Attribute
{
    public IReadOnlyList<string> Advice { get; } = advice;
}
