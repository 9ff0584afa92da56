using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Says which topics or groups have a name near one that does not exist.</summary>
internal static class NearNames
{
    /// <summary>Topics, or groups, that are looked at: one page.</summary>
    private const int MostListed = 1000;

    private const int MostNames = 3;

    /// <summary>A failure must not become slow for the sake of its words.</summary>
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(2);

    /// <summary>The failure with near names behind its words, if there are any; otherwise itself.</summary>
    /// <param name="failure">UnknownTopic.</param>
    /// <param name="directory">Which brokers may know others.</param>
    /// <param name="topic">The name that none has.</param>
    public static async ValueTask<EQueueException> AddAsync(
        EQueueException failure, BrokerDirectory directory, string topic)
    {
        return Add(failure, await FindAsync(directory, topic).ConfigureAwait(false));
    }

    /// <summary>The same for a group.</summary>
    /// <param name="failure">UnknownGroup.</param>
    /// <param name="directory">Which brokers may know others.</param>
    /// <param name="group">The name that none has.</param>
    public static async ValueTask<EQueueException> AddGroupsAsync(
        EQueueException failure, BrokerDirectory directory, string group)
    {
        string[] near = await FindAsync(
            directory,
            group,
            new ListGroupsRequest(null, MostListed),
            static page => page.Groups.Select(static listing => listing.Group)).ConfigureAwait(false);
        return Add(failure, near);
    }

    /// <summary>Makes a call about a topic; that it does not exist is told with near names.</summary>
    public static async ValueTask HelpAsync(BrokerDirectory directory, string topic, Func<ValueTask> work)
    {
        EQueueException unknown;
        try
        {
            await work().ConfigureAwait(false);
            return;
        }
        catch (EQueueException exception) when (exception.Code == ErrorCode.UnknownTopic)
        {
            unknown = exception;
        }

        throw await AddAsync(unknown, directory, topic).ConfigureAwait(false);
    }

    /// <summary>Names of topics near one, the nearest first; empty when there are none, or no list is to be
    /// had.</summary>
    public static ValueTask<string[]> FindAsync(BrokerDirectory directory, string topic) => FindAsync(
        directory,
        topic,
        new ListTopicsRequest(null, MostListed),
        static page => page.Topics.Select(static listing => listing.Topic));

    private static async ValueTask<string[]> FindAsync<TRequest, TResponse>(
        BrokerDirectory directory,
        string name,
        IRequest<TRequest, TResponse> request,
        Func<TResponse, IEnumerable<string>> namesOf)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse>
    {
        using var patience = new CancellationTokenSource(Patience, directory.Options.TimeProvider);
        try
        {
            return Nearest(name, namesOf(await directory.InvokeAsync(request, patience.Token).ConfigureAwait(false)));
        }
        catch (EQueueException)
        {
            // The names are a help; what failed is told without them.
            return [];
        }
    }

    private static EQueueException Add(EQueueException failure, string[] near) => near.Length == 0
        ? failure : new EQueueException(failure.Code, $"{failure.Message} {Ask(near)}", failure);

    /// <summary>A question in the words of a message.</summary>
    public static string Ask(string[] names) =>
        $"Did you mean {string.Join(" or ", names.Select(static name => $"'{name}'"))}?";

    /// <summary>Those that differ from a name in few letters, or in case alone.</summary>
    internal static string[] Nearest(string name, IEnumerable<string> candidates) =>
    [
        .. Within(name, candidates, Math.Max(1, Math.Min(3, name.Length / 3)))
            .Take(MostNames).Select(static one => one.Candidate),
    ];

    /// <summary>Other words than one that are made of it by so many changes, the nearest first, equally near ones in
    /// ordinal order.</summary>
    internal static IEnumerable<(string Candidate, int Distance)> Within(
        string word, IEnumerable<string> candidates, int most) =>
        candidates
            .Where(candidate => candidate != word)
            .Select(candidate => (Candidate: candidate, Distance: DistanceOf(word, candidate)))
            .Where(one => one.Distance <= most)
            .OrderBy(static one => one.Distance)
            .ThenBy(static one => one.Candidate, StringComparer.Ordinal);

    /// <summary>Letters to insert, to leave out, to change or to swap with their neighbour; case does not
    /// count.</summary>
    private static int DistanceOf(string one, string other)
    {
        int[,] rows = new int[one.Length + 1, other.Length + 1];
        for (int i = 0; i <= one.Length; i++)
            rows[i, 0] = i;
        for (int j = 0; j <= other.Length; j++)
            rows[0, j] = j;
        for (int i = 1; i <= one.Length; i++)
        {
            for (int j = 1; j <= other.Length; j++)
            {
                bool isSame = AreSame(one[i - 1], other[j - 1]);
                int least = Math.Min(rows[i - 1, j] + 1, rows[i, j - 1] + 1);
                least = Math.Min(least, rows[i - 1, j - 1] + (isSame ? 0 : 1));
                if (i > 1 && j > 1 && AreSame(one[i - 1], other[j - 2]) && AreSame(one[i - 2], other[j - 1]))
                    least = Math.Min(least, rows[i - 2, j - 2] + 1);
                rows[i, j] = least;
            }
        }

        return rows[one.Length, other.Length];
    }

    private static bool AreSame(char one, char other) => char.ToUpperInvariant(one) == char.ToUpperInvariant(other);
}
