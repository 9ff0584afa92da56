namespace EQueue.Support;

/// <summary>Stands above a test that shows what a server's setting does, with one of the values that it may have.</summary>
/// <remarks>Server.Tests looks for one of each setting in the source of all tests.</remarks>
/// <param name="keys">The settings as docs/configuration.md names them, such as <c>Store:FlushPolicy</c>.</param>
[AttributeUsage(AttributeTargets.Method)]
public sealed class EffectOfAttribute(params string[] keys) : Attribute
{
    public IReadOnlyList<string> Keys { get; } = keys;
}
