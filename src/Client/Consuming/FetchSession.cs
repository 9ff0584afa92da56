namespace EQueue.Client;

internal sealed class FetchSession
{
}
