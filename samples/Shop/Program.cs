// A shop as a service: POST /orders/ID sends an order, three workers share the orders and ship each once:
// Shop [--Broker ADDRESS] [--Shipped FILE] [--urls http://127.0.0.1:8080]. Stop it with Ctrl-C or SIGTERM at any time.
using EQueue.Client;
using EQueue.Shop;

WebApplicationBuilder builder = WebApplication.CreateBuilder(args);
string address = builder.Configuration["Broker"] ?? "localhost:9490";
string shipped = builder.Configuration["Shipped"] ?? "shipped.txt";

// One client for the whole program. The container disposes it when everything else has stopped: it may take 3 s then.
builder.Services.AddSingleton(services => new EQueueClient(new ClientOptions
{
    Addresses = address,
    CloseTimeout = TimeSpan.FromSeconds(3),
    LoggerFactory = services.GetRequiredService<ILoggerFactory>(),
}));
builder.Services.AddSingleton(services => services.GetRequiredService<EQueueClient>().CreateProducer());
builder.Services.AddSingleton(new Shipping(shipped));
for (int i = 0; i < 3; i++)
{
    builder.Services.AddSingleton<IHostedService>(services => new OrderWorker(
        services.GetRequiredService<EQueueClient>(),
        services.GetRequiredService<Shipping>(),
        services.GetRequiredService<ILogger<OrderWorker>>()));
}

WebApplication app = builder.Build();

// An order is accepted when the broker has stored it. While the shop stops, one that waits for a broker that is away is
// given a second more; what its customer then hears is that the outcome is unknown, and the same ID may be sent again.
app.MapPost("/orders/{id}", static async (string id, Producer producer, IHostApplicationLifetime lifetime) =>
{
    using var patience = new CancellationTokenSource();
    await using CancellationTokenRegistration stopping = lifetime.ApplicationStopping.Register(
        () => patience.CancelAfter(TimeSpan.FromSeconds(1)));
    try
    {
        await producer.SendAsync("orders", id, key: id).AsTask()
            .WaitAsync(patience.Token);
        return Results.Accepted();
    }
    catch (Exception exception)
        when (exception is EQueueException or OperationCanceledException or ObjectDisposedException)
    {
        return Results.Problem(exception.Message, statusCode: StatusCodes.Status503ServiceUnavailable);
    }
});
app.MapGet("/health", static () => "ok");
await app.RunAsync();
