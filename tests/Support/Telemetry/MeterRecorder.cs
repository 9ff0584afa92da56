using System.Collections.Concurrent;
using System.Diagnostics.Metrics;

namespace EQueue.Support;

/// <summary>Listens to one meter and keeps what it is told.</summary>
public sealed class MeterRecorder : IDisposable
{
    private readonly MeterListener _listener = new();
    private readonly ConcurrentQueue<Recorded> _recorded = new();
    private readonly ConcurrentQueue<Instrument> _instruments = new();

    /// <param name="name">The meter's name.</param>
    /// <param name="isWanted">Narrows it to one of several of that name.</param>
    public MeterRecorder(string name, Func<Meter, bool>? isWanted = null)
    {
        _listener.InstrumentPublished = (instrument, listener) =>
        {
            if (instrument.Meter.Name != name || isWanted is { } ask && !ask(instrument.Meter))
                return;
            _instruments.Enqueue(instrument);
            listener.EnableMeasurementEvents(instrument);
        };
        _listener.SetMeasurementEventCallback<long>((instrument, value, tags, _) => Keep(instrument, value, tags));
        _listener.SetMeasurementEventCallback<double>(Keep);
        _listener.SetMeasurementEventCallback<int>((instrument, value, tags, _) => Keep(instrument, value, tags));
        _listener.Start();
        void Keep(
            Instrument instrument,
            double value,
            ReadOnlySpan<KeyValuePair<string, object?>> tags,
            object? state = null) =>
            _recorded.Enqueue(new Recorded(instrument, value, tags.ToArray().ToDictionary()));
    }

    /// <summary>Everything told so far.</summary>
    public IReadOnlyList<Recorded> All => [.. _recorded];

    /// <summary>Every instrument of the meter.</summary>
    public IReadOnlyList<Instrument> Instruments => [.. _instruments];

    /// <summary>What was told of an instrument, narrowed to measurements with a tag.</summary>
    public IReadOnlyList<Recorded> Of(string instrument, string? tag = null, object? value = null) =>
    [
        .. _recorded.Where(one => one.Instrument.Name == instrument
            && (tag is null || (one.Tags.TryGetValue(tag, out object? found) && Equals(found, value)))),
    ];

    /// <summary>The sum of what was told of a counter.</summary>
    public double Sum(string instrument, string? tag = null, object? value = null) =>
        Of(instrument, tag, value).Sum(one => one.Value);

    /// <summary>Asks the observable instruments, and gives only what they tell now.</summary>
    public IReadOnlyList<Recorded> Observe(string instrument, string? tag = null, object? value = null)
    {
        IReadOnlyList<Recorded> before = Of(instrument, tag, value);
        _listener.RecordObservableInstruments();
        return [.. Of(instrument, tag, value).Skip(before.Count)];
    }

    public void Dispose() => _listener.Dispose();
}

/// <summary>One measurement.</summary>
public sealed record Recorded(Instrument Instrument, double Value, IReadOnlyDictionary<string, object?> Tags);
