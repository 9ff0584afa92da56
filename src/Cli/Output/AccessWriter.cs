using System.Text.Json;
using EQueue.Cli.Input;
using EQueue.Protocol;

namespace EQueue.Cli.Output;

/// <summary>Prints users, tokens and rules: rows, or JSON lines.</summary>
internal sealed class AccessWriter(CliStreams streams, bool isJson)
{
    public void Write(IReadOnlyList<UserListing> users)
    {
        if (isJson)
        {
            foreach (UserListing user in users)
                WriteJson(user);
            return;
        }

        TableWriter.Write(
            streams,
            ["name", "state", "password", "groups"],
            [
                .. users.Select(static user => new[]
                {
                    user.Name, user.IsDisabled ? "disabled" : "enabled", user.HasPassword ? "yes" : "no",
                    string.Join(',', user.Groups),
                }),
            ]);
    }

    public void Write(IReadOnlyList<TokenListing> tokens)
    {
        if (isJson)
        {
            foreach (TokenListing token in tokens)
                WriteJson(token);
            return;
        }

        TableWriter.Write(
            streams,
            ["id", "user", "created", "expires", "note"],
            [
                .. tokens.Select(static token => new[]
                {
                    token.Id, token.User, TimeText(token.CreatedMs), Expiry(token.ExpiresMs) ?? "never", token.Note,
                }),
            ]);
    }

    public void Write(IReadOnlyList<AccessRule> rules)
    {
        if (isJson)
        {
            foreach (AccessRule rule in rules)
                WriteJson(rule);
            return;
        }

        TableWriter.Write(
            streams,
            ["effect", "principal", "operation", "resource"],
            [
                .. rules.Select(static rule => new[]
                {
                    Effect(rule), rule.Principal, PermissionText.Of(rule.Permission),
                    ResourceText.Of(rule.Resource, rule.Name),
                }),
            ]);
    }

    /// <summary>What a test of the rules found.</summary>
    public void Write(AccessDecision found, Permission permission, AccessResource resource)
    {
        if (isJson)
        {
            JsonLine.Write(streams.Output, json =>
            {
                json.WriteString("principal", found.Principal);
                json.WriteString("operation", PermissionText.Of(permission));
                json.WriteString("resource", $"{resource}");
                json.WriteBoolean("allowed", found.IsAllowed);
                json.WriteString("reason", found.Reason);
            });
            return;
        }

        using var writer = new StreamWriter(streams.Output, leaveOpen: true) { NewLine = "\n" };
        string verdict = found.IsAllowed ? "allowed" : "denied";
        writer.WriteLine(TerminalText.OneLine(
            $"{verdict}: {found.Principal} {PermissionText.Of(permission)} {resource}: {found.Reason}"));
    }

    public void WriteJson(UserListing user) => JsonLine.Write(streams.Output, json =>
    {
        json.WriteString("name", user.Name);
        json.WriteBoolean("disabled", user.IsDisabled);
        json.WriteBoolean("hasPassword", user.HasPassword);
        json.WriteStartArray("groups");
        foreach (string group in user.Groups)
            json.WriteStringValue(group);
        json.WriteEndArray();
    });

    public void WriteJson(TokenListing token) => JsonLine.Write(streams.Output, json =>
    {
        json.WriteString("id", token.Id);
        json.WriteString("user", token.User);
        json.WriteString("created", TimeText(token.CreatedMs));
        json.WriteString("expires", Expiry(token.ExpiresMs));
        json.WriteString("note", token.Note);
    });

    public void WriteJson(AccessRule rule) => JsonLine.Write(streams.Output, json => WriteFields(json, rule));

    /// <summary>A token that was made, secret and all.</summary>
    public static void WriteJson(Stream output, CreatedToken made, string user, string? expires) =>
        JsonLine.Write(output, json =>
        {
            json.WriteString("id", made.Id);
            json.WriteString("token", made.Token);
            json.WriteString("user", user);
            json.WriteString("expires", expires);
        });

    /// <summary>When a token ends; null = never.</summary>
    private static string? Expiry(long expiresMs) => expiresMs == 0 ? null : TimeText(expiresMs);

    private static void WriteFields(Utf8JsonWriter json, AccessRule rule)
    {
        json.WriteString("effect", Effect(rule));
        json.WriteString("principal", rule.Principal);
        json.WriteString("operation", PermissionText.Of(rule.Permission));
        json.WriteString("resource", ResourceText.Of(rule.Resource, rule.Name));
    }

    private static string Effect(AccessRule rule) => rule.Effect.ToString().ToLowerInvariant();

    private static string TimeText(long unixMs) => BodyTime.Text(RecordTime.ToInstant(unixMs));
}
