using EQueue.Load.Reporting;

namespace EQueue.Load.Scenarios;

/// <summary>What the brokers of a run say of themselves at one moment, summed over them.</summary>
internal sealed class BrokerStats
{
    private readonly BrokerFigures[] _answers;

    private BrokerStats(BrokerFigures[] answers) => _answers = answers;

    /// <param name="clients">One for each broker.</param>
    public static async Task<BrokerStats> TakeAsync(
        IEnumerable<EQueueClient> clients, CancellationToken cancellationToken) =>
        new(await Task.WhenAll(clients.Select(client => client.Admin.ReadFiguresAsync(cancellationToken).AsTask())));

    /// <summary>The sum of a figure; null when one of them does not tell it.</summary>
    public long? Find(string name) => _answers.Select(answer => answer.Find(name))
        .Aggregate((long?)0, (sum, value) => sum + value);

    /// <summary>Sets what they used and did since an earlier moment.</summary>
    public void SetFigures(Figures figures, BrokerStats start, long messages, double seconds)
    {
        double? Rise(string name) => Find(name) - start.Find(name);
        double? uptimeUs = Rise("process.uptimeMilliseconds") * 1000 / _answers.Length;
        figures[FigureNames.Of(FigureNames.Broker, FigureNames.CpuPercent)] =
            Rise("process.cpuMicroseconds") / uptimeUs * 100;
        figures[FigureNames.Of(FigureNames.Broker, FigureNames.ResidentBytes)] = Find("process.residentBytes");
        figures[FigureNames.Of(FigureNames.Broker, FigureNames.AllocatedBytesPerMessage)] =
            Rise("process.allocatedBytes") / messages;
        figures[FigureNames.BytesWritten] = Rise("store.bytesWritten");
        figures[FigureNames.DiskWriteMBps] = Rise("store.bytesWritten") / seconds / 1e6;
        figures[FigureNames.Fdatasyncs] = Rise("store.fdatasyncs");
        figures[FigureNames.FdatasyncsPerSecond] = Rise("store.fdatasyncs") / seconds;
        figures[FigureNames.MessagesPerFdatasync] = messages / Rise("store.fdatasyncs");
        figures.Note(FigureNames.Broker, "the broker did not tell this figure");
    }
}
