namespace EQueue.Client;

/// <summary>A topic of a broker, <c>HOST:PORT/TOPIC</c>; several addresses of it are parted by commas.</summary>
internal sealed record TopicAddress(string Addresses, string Topic)
{
    public override string ToString() => $"{Addresses}/{Topic}";
}
