namespace EQueue.Load.Scenarios;

/// <summary>What one who administers asks over HTTP and over the port of the clients. Every answer is looked at.</summary>
internal sealed class AdminQuestions : IAsyncDisposable
{
    private readonly AskerOrder _order;
    private readonly HttpClient _http;
    private readonly EQueueClient _client;

    public AdminQuestions(AskerOrder order, int mostConnections, TimeSpan patience)
    {
        _order = order;
        var handler = new SocketsHttpHandler { MaxConnectionsPerServer = mostConnections };
        _http = new HttpClient(handler) { BaseAddress = new Uri($"http://{order.Admin}"), Timeout = patience };
        _client = new EQueueClient(LoadClient.OptionsFor(order.Server) with { RequestTimeout = patience });
        string lastTopic = order.Topics[^1];
        Kinds =
        [
            OverHttp("topics", "/api/v1/topics?limit=1000", lastTopic),
            OverHttp("topic", $"/api/v1/topics/{lastTopic}", lastTopic),
            OverHttp("groups", "/api/v1/groups", order.Group),
            OverHttp("lag", $"/api/v1/groups/{order.Group}", lastTopic),
            OverHttp("stats", "/api/v1/stats", "store.writtenPosition"),
            OverHttp("metrics", "/metrics", "equeue_"),
            new("port list", ListAsync),
            new("port describe", DescribeAsync),
        ];
    }

    public IReadOnlyList<AdminQuestion> Kinds { get; }

    public async ValueTask DisposeAsync()
    {
        _http.Dispose();
        await _client.DisposeAsync();
    }

    private AdminQuestion OverHttp(string name, string path, string expected) => new($"http {name}", async token =>
    {
        using HttpResponseMessage answer = await _http.GetAsync(new Uri(path, UriKind.Relative), token);
        string body = await answer.Content.ReadAsStringAsync(token);
        if (!answer.IsSuccessStatusCode || !body.Contains(expected, StringComparison.Ordinal))
            throw LoadException.Failed($"{path}: {(int)answer.StatusCode}, and no {expected} in {body.Length} characters");
    });

    private async Task ListAsync(CancellationToken cancellationToken)
    {
        int count = 0;
        await foreach (TopicListing _ in _client.Admin.ListTopicsAsync(cancellationToken))
            count++;
        if (count != _order.Topics.Count)
            throw LoadException.Failed($"{count} topics are listed of {_order.Topics.Count}");
    }

    private async Task DescribeAsync(CancellationToken cancellationToken)
    {
        TopicDescription topic = await _client.Admin.DescribeTopicAsync(_order.Topics[0], cancellationToken);
        if (topic.Queues.Count == 0)
            throw LoadException.Failed($"{_order.Topics[0]} is described without queues");
    }
}

/// <summary>A kind of request.</summary>
/// <param name="AskAsync">Asks, and throws unless the answer is the right one.</param>
internal sealed record AdminQuestion(string Name, Func<CancellationToken, Task> AskAsync);
