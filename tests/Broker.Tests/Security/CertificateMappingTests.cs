using EQueue.Support;

namespace EQueue.Broker.Tests;

/// <summary>Which principal a certificate stands for, by the rules of the setting.</summary>
public sealed class CertificateMappingTests : IDisposable
{
    private readonly TestAuthority _authority = TestAuthority.Create();

    public void Dispose() => _authority.Dispose();

    [Theory]
    // Without rules of its own: URI, then DNS name, then common name.
    [InlineData("default", "spiffe://x/a", "a.example", "CN=me", "cert:spiffe://x/a")]
    [InlineData("default", "", "a.example", "CN=me", "cert:a.example")]
    [InlineData("default", "", "", "CN=me", "cert:me")]
    [InlineData("default", "", "", "O=org", null)]
    [InlineData("default", "", "", "CN=two words", null)]
    [InlineData("default", "", "*.example", "CN=me", "cert:me")]
    // The first rule that fits, whatever stands first in the certificate.
    [InlineData("dns:*.example -> user:$1; uri:*://x/* -> user:$2", "spiffe://x/u", "d.example", "CN=c", "user:d")]
    [InlineData("dns:*.other -> user:$1; uri:*://x/* -> user:$2", "spiffe://x/u", "d.example", "CN=c", "user:u")]
    [InlineData("cn:c -> cert:named", "spiffe://x/u", "d.example", "CN=c", "cert:named")]
    // A star is one part and at least one character; the rest is as it stands.
    [InlineData("dns:*.example -> user:$1", "", "a.b.example", "CN=c", null)]
    [InlineData("dns:*.example -> user:$1", "", "xexample", "CN=c", null)]
    [InlineData("dns:*.example -> user:$1", "", "a.example.evil", "CN=c", null)]
    [InlineData("dns:a*.example -> user:$1", "", "a.example", "CN=c", null)]
    [InlineData("uri:spiffe://x/*/sa/* -> user:$1.$2", "spiffe://x/prod/sa/shop", "", "CN=c", "user:prod.shop")]
    [InlineData("uri:spiffe://x/*/sa/* -> user:$1.$2", "spiffe://x/prod/more/sa/shop", "", "CN=c", null)]
    [InlineData("uri:spiffe://x/* -> user:$1", "spiffe://y/spiffe://x/z", "", "CN=c", null)]
    [InlineData("subject:CN=*, OU=ops, O=org -> user:$1", "", "", "CN=ann, OU=ops, O=org", "user:ann")]
    [InlineData("subject:CN=*, O=org -> user:$1", "", "", "CN=ann, OU=ops, O=org", null)]
    [InlineData("subject:CN=* -> user:$1", "", "", "CN=ann, O=org", null)]
    // What cannot be a user stands for no user, unless another rule fits.
    [InlineData("cn:* -> user:$1", "", "", "CN=two words", null)]
    [InlineData("cn:* -> user:$1; dns:* -> cert:by-name", "", "d", "CN=two words", "cert:by-name")]
    [InlineData("cn:* -> user:$1; default", "", "d.example", "CN=../etc", "cert:d.example")]
    public void GivenRulesAndACertificate_WhenMapped_ThenTheFirstThatFitsDecides(
        string rules, string uri, string dnsName, string subject, string? principal)
    {
        using TestCertificate certificate = _authority.SignClient(
            subject, uri.Length > 0 ? [uri] : [], dnsName.Length > 0 ? [dnsName] : []);
        Assert.Equal(principal, CertificateMapping.Parse(rules).PrincipalOf(certificate.Certificate));
    }

    [Theory]
    [InlineData("")]
    [InlineData(";")]
    [InlineData("Default")]
    [InlineData("user:alice")]
    [InlineData("cn:*")]
    [InlineData("cn:* -> ")]
    [InlineData("cn: -> user:a")]
    [InlineData("cn:* -> $1")]
    [InlineData("cn:* -> owner")]
    [InlineData("cn:* -> anonymous")]
    [InlineData("cn:* -> local:1")]
    [InlineData("cn:* -> group:$1")]
    [InlineData("cn:* -> user:$2")]
    [InlineData("cn:* -> user:$0")]
    [InlineData("cn:* -> user:$")]
    [InlineData("cn:* -> user:two words")]
    [InlineData("cn:* -> user:a -> user:b")]
    [InlineData("cn:** -> user:$1")]
    [InlineData("email:* -> user:$1")]
    [InlineData("cn:*-*-*-*-*-*-*-*-*-* -> user:a")]
    public void GivenARuleThatCannotBeUsed_WhenRead_ThenItIsRefusedWithItsReason(string rules)
    {
        var security = new SecurityOptions { CertificateMapping = rules };
        ArgumentException refused = Assert.Throws<ArgumentException>(security.Validate);
        Assert.StartsWith($"CertificateMapping is '{rules}': ", refused.Message, StringComparison.Ordinal);
    }
}
