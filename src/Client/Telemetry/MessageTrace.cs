using System.Diagnostics;
using System.Text;

namespace EQueue.Client;

/// <summary>Reads the sender's trace context out of messages.</summary>
public static class MessageTrace
{
    /// <summary>The context that a record carries.</summary>
    /// <returns>False when it has none, or none that W3C's rules allow.</returns>
    public static bool TryRead(in RecordView record, out ActivityContext context) =>
        TryRead(record.Properties, out context);

    /// <inheritdoc cref="TryRead(in RecordView, out ActivityContext)"/>
    internal static bool TryRead(RecordPropertyReader properties, out ActivityContext context)
    {
        string? parent = null;
        string? state = null;
        foreach (RecordProperty property in properties)
        {
            if (property.Name.SequenceEqual("traceparent"u8))
                parent ??= Text(property.Value);
            else if (property.Name.SequenceEqual("tracestate"u8))
                state ??= Text(property.Value);
        }

        return TryParse(parent, state, out context);
    }

    /// <summary>The context that the application put into the properties of a message to be sent.</summary>
    /// <returns>False when there is none; the context is <c>default</c> when W3C's rules do not allow it.</returns>
    internal static bool TryRead(RecordProperties? properties, out ActivityContext context)
    {
        context = default;
        if (properties is null || !properties.TryGet("traceparent"u8, out OptionalBytes parent))
            return false;
        properties.TryGet("tracestate"u8, out OptionalBytes state);
        if (!TryParse(Text(parent), Text(state), out context))
            context = default;
        return true;
    }

    /// <summary>Reads W3C's spelling; false when there is none, or it is not allowed.</summary>
    internal static bool TryParse(string? parent, string? state, out ActivityContext context)
    {
        context = default;
        return parent is not null && ActivityContext.TryParse(parent, state, isRemote: true, out context);
    }

    /// <summary>The text of the first property of a name; null when there is none.</summary>
    internal static string? Find(RecordPropertyReader properties, scoped ReadOnlySpan<byte> name) =>
        TryFind(properties, name, out OptionalBytes value) ? Text(value) : null;

    /// <summary>The first property of a name; false when there is none.</summary>
    internal static bool TryFind(
        RecordPropertyReader properties, scoped ReadOnlySpan<byte> name, out OptionalBytes value)
    {
        foreach (RecordProperty property in properties)
        {
            if (property.Name.SequenceEqual(name))
            {
                value = property.Value;
                return true;
            }
        }

        value = default;
        return false;
    }

    private static string? Text(scoped OptionalBytes bytes) =>
        bytes.HasValue ? Encoding.UTF8.GetString(bytes.Value) : null;
}
