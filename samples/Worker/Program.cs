// A worker service: handles the messages of a topic as a member of a group, tries again what fails, and sends what never
// succeeds to a topic of dead letters: Worker [ADDRESS] [TOPIC] [GROUP]. A message "fail ..." always fails.
using EQueue.Client;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Worker;

string address = args.ElementAtOrDefault(0) ?? "localhost:9490";
string topic = args.ElementAtOrDefault(1) ?? "orders";
string group = args.ElementAtOrDefault(2) ?? "billing";

HostApplicationBuilder builder = Host.CreateApplicationBuilder();
builder.Services.AddSingleton(_ => new EQueueClient(address));
builder.Services.AddSingleton<OrderHandler>();
builder.Services.AddHostedService(services => ActivatorUtilities.CreateInstance<OrderWorker>(
    services, new WorkerOptions { Topic = topic, Group = group }));
await builder.Build().RunAsync();
