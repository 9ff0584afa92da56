using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>What administration asks brokers: with the exceptions that callers expect, and near names where a topic
/// or a group is not known.</summary>
internal sealed class AdminCalls(BrokerDirectory directory)
{
    private static readonly Type Owner = typeof(EQueueClient);

    /// <inheritdoc cref="BrokerDirectory.InvokeAsync"/>
    public ValueTask<TResponse> InvokeAsync<TRequest, TResponse>(
        IRequest<TRequest, TResponse> request, CancellationToken cancellationToken)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse> => PublicCall.RunAsync(
        Owner, () => directory.InvokeAsync(request, cancellationToken), cancellationToken);

    /// <inheritdoc cref="BrokerDirectory.InvokeEachAsync"/>
    public ValueTask<IReadOnlyList<BrokerAnswer<TResponse>>> InvokeEachAsync<TRequest, TResponse>(
        Func<int, TRequest?> requestOf,
        ErrorCode[] absences,
        CancellationToken cancellationToken,
        string? topic = null,
        string? group = null)
        where TRequest : class, IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse> => AskAsync(
        topic,
        () => directory.InvokeEachAsync<TRequest, TResponse>(requestOf, absences, cancellationToken),
        cancellationToken,
        group);

    /// <inheritdoc cref="BrokerDirectory.ListEachAsync"/>
    public IAsyncEnumerable<T> ListEachAsync<T>(
        Func<Seed, T?, CancellationToken, ValueTask<(IReadOnlyList<T> Items, bool HasMore)>> pageOf,
        Func<T, string> nameOf,
        Func<IEnumerable<T>, IEnumerable<T>> unite,
        CancellationToken cancellationToken)
        where T : class => PublicCall.RunAsync(
        Owner, directory.ListEachAsync(pageOf, nameOf, unite, cancellationToken), cancellationToken);

    /// <summary>Waits for a broker's greeting.</summary>
    public ValueTask<HelloResponse> GreetAsync(CancellationToken cancellationToken) => PublicCall.RunAsync(
        Owner,
        async () =>
        {
            Seed seed = await directory.GetAnyAsync(cancellationToken).ConfigureAwait(false);
            return await seed.GetLink()
                .ConnectAsync(directory.Options.RequestTimeout, cancellationToken).ConfigureAwait(false);
        },
        cancellationToken);

    /// <summary>Looks for messages, over connections that last as long as that.</summary>
    public ValueTask<T> FindAsync<T>(
        string topic, Func<MessageFinder, ValueTask<T>> look, CancellationToken cancellationToken) => AskAsync(
        topic,
        async () =>
        {
            MessageFinder finder =
                await MessageFinder.OpenAsync(directory, topic, cancellationToken).ConfigureAwait(false);
            await using (finder.ConfigureAwait(false))
                return await look(finder).ConfigureAwait(false);
        },
        cancellationToken);

    /// <summary>Asks something about a topic, a group, or both; null = about none.</summary>
    public ValueTask<T> AskAsync<T>(
        string? topic, Func<ValueTask<T>> work, CancellationToken cancellationToken, string? group = null) =>
        PublicCall.RunAsync(
            Owner,
            async () =>
            {
                EQueueException unknown;
                try
                {
                    return await work().ConfigureAwait(false);
                }
                catch (EQueueException exception)
                    when (topic is not null && exception.Code == ErrorCode.UnknownTopic
                        || group is not null && exception.Code == ErrorCode.UnknownGroup)
                {
                    unknown = exception;
                }

                throw unknown.Code == ErrorCode.UnknownTopic
                    ? await NearNames.AddAsync(unknown, directory, topic!).ConfigureAwait(false)
                    : await NearNames.AddGroupsAsync(unknown, directory, group!).ConfigureAwait(false);
            },
            cancellationToken);
}
