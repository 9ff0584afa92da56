using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>A broker's own figures at one moment. New names may come with newer brokers.</summary>
/// <param name="All">In the broker's order.</param>
public sealed record BrokerFigures(IReadOnlyList<BrokerFigure> All)
{
    /// <summary>The figure of a name; null when the broker does not tell it.</summary>
    /// <param name="name">Its name, letter by letter: <c>broker.connections</c>.</param>
    public long? Find(string name)
    {
        foreach (BrokerFigure figure in All)
        {
            if (figure.Name == name)
                return figure.Value;
        }

        return null;
    }

    internal static BrokerFigures Of(StatsResponse stats) =>
        new([.. stats.Figures.Select(static figure => new BrokerFigure(figure.Name, figure.Value))]);
}
