using System.Buffers;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>Texts of principals: who a peer is, as rules, quotas and the audit log name it.</summary>
internal static class Principal
{
    /// <summary>The user who runs the broker.</summary>
    public const string Owner = "owner";

    /// <summary>A peer that proved nothing and need not.</summary>
    public const string Anonymous = "anonymous";

    public const string UserPrefix = "user:";
    public const string GroupPrefix = "group:";
    public const string CertificatePrefix = "cert:";
    private const string LocalPrefix = "local:";

    private static readonly SearchValues<char> NotInCertificates = SearchValues.Create("*\"\\ ");

    public static string OfUser(string name) => UserPrefix + name;

    public static string OfCertificate(string name) => CertificatePrefix + name;

    public static string OfLocal(uint userId) => LocalPrefix + userId;

    /// <summary>Whether a text names one principal that a connection may have.</summary>
    public static bool IsValid(string text) => text is Owner or Anonymous
        || (text.StartsWith(UserPrefix, StringComparison.Ordinal)
            && NameRules.IsValid(text.AsSpan(UserPrefix.Length)))
        || (text.StartsWith(LocalPrefix, StringComparison.Ordinal)
            && uint.TryParse(text.AsSpan(LocalPrefix.Length), out uint id) && text == OfLocal(id))
        || (text.StartsWith(CertificatePrefix, StringComparison.Ordinal)
            && IsCertificateName(text[CertificatePrefix.Length..]));

    /// <summary>Whether a rule may be about it: a principal, a group of users, or everybody.</summary>
    public static bool IsValidInRule(string text) => IsValid(text)
        || text == AccessRule.Everybody
        || (text.StartsWith(GroupPrefix, StringComparison.Ordinal)
            && NameRules.IsValid(text.AsSpan(GroupPrefix.Length)));

    /// <summary>Whether a certificate's name can be a principal: one line, without white space, and short.</summary>
    public static bool IsCertificateName(string name) =>
        name.Length is > 0 and <= AccessRule.MaxPrincipalLength - 5
        && NameRules.IsText(name)
        && !name.AsSpan().ContainsAny(NotInCertificates);
}
