// Sends a message and reads it back over HTTP and JSON, with no library of EQueue: Http [ADDRESS] [TOPIC] [TEXT].
using System.Net.Http.Json;
using System.Text.Json.Nodes;

string address = args.ElementAtOrDefault(0) ?? "localhost:9491";
string topic = args.ElementAtOrDefault(1) ?? "orders";
string text = args.ElementAtOrDefault(2) ?? "one coffee";

using var http = new HttpClient { BaseAddress = new Uri($"http://{address}/api/v1/topics/{topic}/") };

// Messages of one key go to one queue and keep their order. The answer has a receipt for each message.
using HttpResponseMessage sent = await http.PostAsJsonAsync(
    "messages", new { messages = new[] { new { body = text, key = "customer-7" } } });
if (await ReadAsync(sent) is not { } answer) return 1;
JsonNode receipt = answer["receipts"]![0]!;
Console.WriteLine($"stored: queue {receipt["queue"]} offset {receipt["offset"]}, {receipt["durability"]}");

// Reading continues at nextOffset; waitMs has the broker hold the request until there is something.
using HttpResponseMessage read = await http.GetAsync(
    new Uri($"queues/{receipt["queue"]}/messages?from={receipt["offset"]}&limit=10&waitMs=1000", UriKind.Relative));
if (await ReadAsync(read) is not { } page) return 1;
foreach (JsonNode? message in page["messages"]!.AsArray())
    Console.WriteLine($"read: {message!["key"]} {message["body"]}");
Console.WriteLine($"read on from {page["nextOffset"]}");
return 0;

// Every error has a code, words, and whether the same request can succeed later.
static async Task<JsonNode?> ReadAsync(HttpResponseMessage response)
{
    JsonNode? json = await response.Content.ReadFromJsonAsync<JsonNode>();
    if (response.IsSuccessStatusCode) return json;
    await Console.Error.WriteLineAsync($"{json!["code"]}: {json["detail"]} (retriable: {json["retriable"]})");
    return null;
}
