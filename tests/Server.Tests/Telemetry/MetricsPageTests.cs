using System.Diagnostics.Metrics;
using System.Text;
using EQueue.Server.Telemetry;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Server.Tests;

public sealed class MetricsPageTests : IDisposable
{
    private readonly Meter _meter = new("EQueue.Tests." + Guid.NewGuid());
    private readonly MetricsPage _page;

    public MetricsPageTests() => _page = new MetricsPage(meter => meter == _meter, NullLogger.Instance);

    public void Dispose()
    {
        _page.Dispose();
        _meter.Dispose();
    }

    [Fact]
    public void GivenACounter_WhenThePageIsWritten_ThenItIsWhatPrometheusReads()
    {
        Counter<long> counter = _meter.CreateCounter<long>("equeue.tests.sent.size", "By", "Bytes sent.");
        counter.Add(5);
        counter.Add(7);
        Assert.Equal(
            """
            # HELP equeue_tests_sent_size_bytes_total Bytes sent.
            # TYPE equeue_tests_sent_size_bytes_total counter
            equeue_tests_sent_size_bytes_total 12

            """,
            Write());
    }

    [Fact]
    public void GivenLabelsThatNeedEscapes_WhenThePageIsWritten_ThenTheyAreEscapedAndInOneOrder()
    {
        Counter<int> counter = _meter.CreateCounter<int>("tests", null, "A \\ and\na line.");
        counter.Add(1, new("b.name", "a \"quote\""), new("a-name", "back\\slash\nline"));
        counter.Add(2, new("a-name", "back\\slash\nline"), new("b.name", "a \"quote\""));
        counter.Add(4, new KeyValuePair<string, object?>("1st", null));
        Assert.Equal(
            """
            # HELP tests_total A \\ and\na line.
            # TYPE tests_total counter
            tests_total{a_name="back\\slash\nline",b_name="a \"quote\""} 3
            tests_total{_1st=""} 4

            """,
            Write());
    }

    [Fact]
    public void GivenAHistogram_WhenThePageIsWritten_ThenBucketsAddUpAndBoundsBelongToTheirBucket()
    {
        Histogram<double> histogram = _meter.CreateHistogram(
            "took", "s", "Time.", null, new InstrumentAdvice<double> { HistogramBucketBoundaries = [0.5, 1] });
        foreach (double value in (double[])[0.25, 0.5, 0.75, 1, 8])
            histogram.Record(value, new KeyValuePair<string, object?>("disk", "a"));
        Assert.Equal(
            """
            # HELP took_seconds Time.
            # TYPE took_seconds histogram
            took_seconds_bucket{disk="a",le="0.5"} 2
            took_seconds_bucket{disk="a",le="1"} 4
            took_seconds_bucket{disk="a",le="+Inf"} 5
            took_seconds_sum{disk="a"} 10.5
            took_seconds_count{disk="a"} 5

            """,
            Write());
    }

    [Fact]
    public void GivenObservableInstruments_WhenThePageIsWrittenTwice_ThenEachTellsWhatIsNow()
    {
        long level = 3;
        _meter.CreateObservableUpDownCounter("up.down", () => level, "{thing}", "A level.");
        _meter.CreateObservableGauge("gauge", () => new Measurement<double>[]
        {
            new(1.5, new KeyValuePair<string, object?>("is", "there")),
            new(level, new KeyValuePair<string, object?>("only", level)),
        });
        _meter.CreateObservableCounter("counted", () => level * 10);
        Assert.Contains("\nup_down 3\n", Write(), StringComparison.Ordinal);
        level = 4;
        Assert.Equal(
            """
            # TYPE counted_total counter
            counted_total 40
            # TYPE gauge gauge
            gauge{is="there"} 1.5
            gauge{only="4"} 4
            # HELP up_down A level.
            # TYPE up_down gauge
            up_down 4

            """,
            Write());
    }

    [Fact]
    public void GivenAnInstrumentThatThrows_WhenThePageIsWritten_ThenTheOthersAreThere()
    {
        _meter.CreateObservableGauge("broken", (Func<int>)(static () => throw new InvalidOperationException("Mine.")));
        _meter.CreateObservableGauge("whole", static () => 1);
        Assert.Contains("\nwhole 1\n", Write(), StringComparison.Ordinal);
    }

    [Fact]
    public void GivenAMeterThatIsDisposed_WhenThePageIsWritten_ThenItsInstrumentsAreGone()
    {
        _meter.CreateObservableGauge("gauge", static () => 1);
        Assert.NotEmpty(Write());
        _meter.Dispose();
        Assert.Empty(Write());
    }

    [Fact]
    public void GivenMoreLabelsThanAreKept_WhenAreTold_ThenThePageStaysBounded()
    {
        Counter<long> counter = _meter.CreateCounter<long>("many");
        for (int i = 0; i < InstrumentSeries.MostSeries + 100; i++)
            counter.Add(1, new KeyValuePair<string, object?>("n", i));
        Assert.Equal(InstrumentSeries.MostSeries, Write().Split('\n').Count(line => line.StartsWith("many", StringComparison.Ordinal)));
    }

    [Theory]
    [InlineData(0.1, "0.1")]
    [InlineData(1e21, "1E+21")]
    [InlineData(double.PositiveInfinity, "+Inf")]
    [InlineData(double.NegativeInfinity, "-Inf")]
    [InlineData(double.NaN, "NaN")]
    public void GivenANumber_WhenSpelt_ThenPrometheusReadsIt(double value, string expected)
        => Assert.Equal(expected, PrometheusNames.OfNumber(value));

    private string Write() => Encoding.UTF8.GetString(_page.Write(isShown: null));
}
