using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>Says how that stands which an operation changes, for the audit log.</summary>
internal sealed class AuditFacts(TopicCatalogue catalogue, QuotaTable quotas, SecurityTable security)
{
    /// <summary>Characters of a token's id.</summary>
    private const int PublicChars = 8;

    /// <summary>How it stands now; "" = it is not there, or nothing more than its name is to be said.</summary>
    public string Tell<TRequest>(TRequest request) => request switch
    {
        CreateTopicRequest x => Topic(x.Topic),
        AlterTopicRequest x => Topic(x.Topic),
        AlterQueuesRequest x => Queues(x.Topic),
        DeleteTopicRequest x => Topic(x.Topic),
        SetQuotaRequest x => quotas.Find(x.Quota.Kind, x.Quota.Name)?.ToString() ?? "",
        SetUserRequest x => User(x.Name),
        DeleteUserRequest x => User(x.Name),
        RevokeTokenRequest x => Token(x.Id),
        SetRuleRequest x => security.Book.Rules.ContainsKey(x.Rule.ToString()) ? x.Rule.ToString() : "",
        _ => "",
    };

    /// <summary>How a token is written down: its public half alone, whatever a peer takes for that.</summary>
    public static string NameOfToken(string id) => "token:" + id[..Math.Min(id.Length, PublicChars)];

    /// <summary>What was asked and what it changed.</summary>
    public string Compare<TRequest, TResponse>(string before, TRequest request, TResponse response)
    {
        string after = response is CreateTokenResponse made ? Token(made.Id) : Tell(request);
        string asked = request switch
        {
            SetUserRequest { Secret: not null } => "asked: a new password; ",
            ResetOffsetsRequest or DeleteGroupRequest or CreateTokenRequest => $"asked: {request}; ",
            _ => "",
        };
        return $"{asked}before: {Or(before)}; after: {Or(after)}";
    }

    private static string Or(string text) => text.Length == 0 ? "-" : text;

    private string Topic(string name) =>
        catalogue.TryFind(name, out Topic? topic) ? topic.Record.Settings.ToString() : "";

    private string Queues(string name) => catalogue.TryFind(name, out Topic? topic)
        ? string.Join(' ', topic.Queues.Select((_, number) => $"{number}:{topic.StateOf(number)}").Take(100))
        : "";

    private string User(string name) => security.Book.Users.TryGetValue(name, out UserRecord? user)
        ? $"user {name}, disabled: {user.IsDisabled}, password: {user.Secret is not null}, "
            + $"groups: {string.Join(' ', user.Groups)}"
        : "";

    private string Token(string id) => security.Book.Tokens.TryGetValue(id, out TokenRecord? token)
        ? $"token {id} of user {token.User}, expires: {token.ExpiresMs}, note: {token.Note}"
        : "";
}
