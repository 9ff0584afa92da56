using System.Security.Cryptography.X509Certificates;
using System.Text;
using System.Text.RegularExpressions;

namespace EQueue.Broker;

/// <summary>Which principal a client's certificate stands for, by rules of the operator.</summary>
/// <remarks>
/// Rules are separated by semicolons; the first decides of which a name of the certificate fits:
/// <code>
/// uri:PATTERN -> PRINCIPAL     a URI among the alternative names; a * stands for characters without /
/// dns:PATTERN -> PRINCIPAL     a DNS name among them; a * stands for characters without .
/// cn:PATTERN -> PRINCIPAL      the common name; a * stands for any characters
/// subject:PATTERN -> PRINCIPAL the whole subject; a * stands for characters without , = and +
/// default                      cert: with the first URI, else the first DNS name, else the common name
/// </code>
/// A * stands for one character or more. PRINCIPAL is user:NAME or cert:NAME; $1 to $9 in it are what the stars of the
/// pattern stood for. Immutable; thread-safe.
/// </remarks>
internal sealed class CertificateMapping
{
    private const string Arrow = " -> ";
    private const int MostRules = 64;
    private const int MostStars = 9;

    private static readonly Kind[] Kinds =
    [
        new("uri", CertificateNames.Uris, "[^/]+"),
        new("dns", CertificateNames.DnsNames, "[^.]+"),
        new("cn", CertificateNames.CommonNames, ".+"),
        new("subject", static certificate => [certificate.Subject], "[^,=+]+"),
    ];

    private readonly Rule[] _rules;

    private CertificateMapping(Rule[] rules) => _rules = rules;

    /// <summary>Reads rules.</summary>
    /// <exception cref="FormatException">One cannot be used; says which and why.</exception>
    public static CertificateMapping Parse(string text)
    {
        string[] rules = text.Split(';', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
        if (rules.Length is 0 or > MostRules)
            throw new FormatException($"there are 1 to {MostRules} rules, separated by ';'; found {rules.Length}");
        return new CertificateMapping([.. rules.Select(ParseRule)]);
    }

    /// <summary>Whom a certificate stands for; null = no rule fits.</summary>
    public string? PrincipalOf(X509Certificate2 certificate)
    {
        foreach (Rule rule in _rules)
        {
            if (rule.PrincipalOf(certificate) is { } principal)
                return principal;
        }

        return null;
    }

    private static Rule ParseRule(string text)
    {
        if (text == "default")
            return new Rule(null, null, "");
        string[] halves = text.Split(Arrow, StringSplitOptions.TrimEntries);
        int colon = text.IndexOf(':', StringComparison.Ordinal);
        if (halves.Length != 2 || colon < 0 || Kinds.FirstOrDefault(one => one.Name == text[..colon]) is not { } kind)
        {
            throw new FormatException(
                $"'{text}' is no rule: uri:PATTERN -> PRINCIPAL, dns:..., cn:..., subject:... or default");
        }

        string pattern = halves[0][(colon + 1)..];
        int stars = pattern.Count(static one => one == '*');
        if (pattern.Length == 0 || stars > MostStars || pattern.Contains("**", StringComparison.Ordinal))
            throw new FormatException($"'{text}' has no pattern with at most {MostStars} single stars");
        string principal = halves[1];
        bool isOne = principal.StartsWith(Principal.UserPrefix, StringComparison.Ordinal)
            || principal.StartsWith(Principal.CertificatePrefix, StringComparison.Ordinal);
        if (!isOne || Fill(principal, number => number <= stars ? "x" : null) is not { } filled
            || !Principal.IsValid(filled))
        {
            throw new FormatException(
                $"'{text}' leads to '{principal}': allowed is user:NAME or cert:NAME, with $1 to ${Math.Max(stars, 1)} "
                + "for what the stars of its pattern stand for");
        }

        string expression = string.Join($"({kind.Star})", pattern.Split('*').Select(Regex.Escape));
        return new Rule(
            kind,
            new Regex(
                $@"\A{expression}\z",
                RegexOptions.NonBacktracking | RegexOptions.CultureInvariant | RegexOptions.Singleline),
            principal);
    }

    /// <summary>A principal with what the stars stood for; null = one of them is not there.</summary>
    private static string? Fill(string principal, Func<int, string?> star)
    {
        var filled = new StringBuilder();
        for (int i = 0; i < principal.Length; i++)
        {
            if (principal[i] != '$')
            {
                filled.Append(principal[i]);
                continue;
            }

            i++;
            if (i == principal.Length || principal[i] is < '1' or > '9'
                || star(principal[i] - '0') is not { } text)
            {
                return null;
            }

            filled.Append(text);
        }

        return filled.ToString();
    }

    /// <summary>What can stand in a certificate.</summary>
    private sealed record Kind(string Name, Func<X509Certificate2, IEnumerable<string>> NamesOf, string Star);

    /// <summary>One rule; without a kind the default.</summary>
    private sealed record Rule(Kind? Kind, Regex? Pattern, string Principal)
    {
        public string? PrincipalOf(X509Certificate2 certificate)
        {
            if (Kind is null)
            {
                return CertificateNames.Uris(certificate).Concat(CertificateNames.DnsNames(certificate))
                    .Concat(CertificateNames.CommonNames(certificate))
                    .Where(EQueue.Broker.Principal.IsCertificateName)
                    .Select(EQueue.Broker.Principal.OfCertificate)
                    .FirstOrDefault();
            }

            foreach (string name in Kind.NamesOf(certificate))
            {
                Match match = Pattern!.Match(name);
                if (match.Success && Fill(Principal, number => match.Groups[number].Value) is { } found
                    && EQueue.Broker.Principal.IsValid(found))
                {
                    return found;
                }
            }

            return null;
        }
    }
}
