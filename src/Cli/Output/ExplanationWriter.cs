using System.Text;
using System.Text.Json;
using EQueue.Client;

namespace EQueue.Cli.Output;

/// <summary>Prints explanations: sentences, or a JSON object a line.</summary>
internal static class ExplanationWriter
{
    public static void Write(Stream output, Explanation facts, bool isJson)
    {
        if (isJson)
        {
            JsonLine.Write(output, json => WriteFields(json, facts));
            return;
        }

        foreach (string sentence in ExplanationSentences.Of(facts))
            output.Write(Encoding.UTF8.GetBytes(sentence + "\n"));
    }

    private static void WriteFields(Utf8JsonWriter json, Explanation facts)
    {
        json.WriteString("topic", facts.Topic);
        json.WriteNumber("queue", facts.Queue.Number);
        json.WriteNumber("offset", facts.Offset);
        json.WriteString("group", facts.Group);
        json.WriteString("instance", facts.Instance);
        json.WriteString("standing", JsonNamingPolicy.CamelCase.ConvertName(facts.Status.ToString()));
        json.WriteString(
            "storedTime", facts.Message is { } message ? BodyTime.Text(message.StoredTime) : null);
        json.WriteString("tag", facts.Message?.Tag);
        json.WriteNumber("start", facts.Queue.Start.Value);
        json.WriteNumber("end", facts.Queue.End.Value);
        json.WriteStartArray("tagsRead");
        foreach (string tag in facts.Tags)
            json.WriteStringValue(tag);
        json.WriteEndArray();
        if (facts.Progress is { Committed.Value: >= 0 } progress)
        {
            json.WriteNumber("committed", progress.Committed.Value);
            json.WriteString(
                "committedTime", BodyTime.Text(DateTimeOffset.FromUnixTimeMilliseconds(progress.CommittedMs)));
        }
        else
        {
            json.WriteNull("committed");
            json.WriteNull("committedTime");
        }

        json.WritePropertyName("member");
        if (facts.Member is { } member)
        {
            json.WriteStartObject();
            json.WriteString("member", member.Member);
            json.WriteString("instance", member.InstanceId);
            json.WriteString("client", member.Client);
            json.WriteString("address", member.Address.Length == 0 ? null : member.Address);
            json.WriteNumber("sinceLastCallMs", (long)member.SinceLastCall.TotalMilliseconds);
            json.WriteEndObject();
        }
        else
        {
            json.WriteNullValue();
        }

        json.WriteStartArray("sentences");
        foreach (string sentence in ExplanationSentences.Of(facts))
            json.WriteStringValue(sentence);
        json.WriteEndArray();
    }
}
