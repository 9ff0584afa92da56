using System.Collections;

namespace EQueue.Remoting;

/// <summary>The values of a log event, texts among them printable.</summary>
internal sealed class PrintableState : IReadOnlyList<KeyValuePair<string, object?>>
{
    private const string Template = "{OriginalFormat}";

    private readonly KeyValuePair<string, object?>[] _values;
    private readonly string _text;

    /// <param name="state">The event's own.</param>
    /// <param name="text">Its formatted message, printable.</param>
    public PrintableState(object? state, string text)
    {
        _text = text;
        _values = state is IEnumerable<KeyValuePair<string, object?>> values
            ? [.. values.Select(static value => KeyValuePair.Create(value.Key, PrintableOf(value)))]
            : [];
    }

    public int Count => _values.Length;

    public KeyValuePair<string, object?> this[int index] => _values[index];

    public IEnumerator<KeyValuePair<string, object?>> GetEnumerator() =>
        ((IEnumerable<KeyValuePair<string, object?>>)_values).GetEnumerator();

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    public override string ToString() => _text;

    private static object? PrintableOf(KeyValuePair<string, object?> value) => value switch
    {
        { Key: Template } => value.Value,
        { Value: string text } => PrintableText.Of(text),

        // A list of texts, or what says itself in its own words.
        { Value: { } other } when other.ToString() is { } text && !PrintableText.Is(text) => PrintableText.Of(text),
        { Value: IEnumerable<string> texts } => texts.Select(PrintableText.Of).ToArray(),
        _ => value.Value,
    };
}
