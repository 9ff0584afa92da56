using EQueue.Cluster.Etcd;

namespace EQueue.Cli.Clusters;

/// <summary>Asks etcd again when it gave no answer in time: what is asked for can be repeated, and happens
/// once.</summary>
internal static class EtcdPatience
{
    private const int MostTries = 5;

    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(200);

    /// <summary>Asks, five times at most.</summary>
    /// <exception cref="EtcdException">No answer that can be used: what was to be written may have been.</exception>
    public static async Task<T> AskAsync<T>(Func<Task<T>> ask, CancellationToken cancellationToken)
    {
        for (int tries = 1; ; tries++)
        {
            try
            {
                return await ask();
            }
            catch (EtcdException exception) when (exception.Kind == EtcdTrouble.Unavailable && tries < MostTries)
            {
                await Task.Delay(Pause, cancellationToken);
            }
        }
    }
}
