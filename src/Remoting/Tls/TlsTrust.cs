using System.Net.Security;
using System.Security.Cryptography.X509Certificates;

namespace EQueue.Remoting;

/// <summary>Decides whether a peer's certificate is trusted, and says why not.</summary>
internal static class TlsTrust
{
    /// <summary>Only these authorities, all of them roots; no server is asked for revoked certificates.</summary>
    public static X509ChainPolicy OnlyFrom(X509Certificate2Collection authorities)
    {
        var policy = new X509ChainPolicy
        {
            TrustMode = X509ChainTrustMode.CustomRootTrust,
            RevocationMode = X509RevocationMode.NoCheck,
            DisableCertificateDownloads = true,
        };
        policy.CustomTrustStore.AddRange(authorities);
        return policy;
    }

    /// <summary>Why a certificate is not trusted, for people.</summary>
    /// <param name="errors">Not none.</param>
    /// <param name="certificate">The peer's.</param>
    /// <param name="chain">As far as it was built.</param>
    /// <param name="host">The name that it should be for; null for clients, which need none.</param>
    public static string Explain(
        SslPolicyErrors errors, X509Certificate? certificate, X509Chain? chain, string? host)
    {
        if (certificate is null || errors.HasFlag(SslPolicyErrors.RemoteCertificateNotAvailable))
            return "the peer showed none";
        var reasons = new List<string>();
        if (errors.HasFlag(SslPolicyErrors.RemoteCertificateNameMismatch))
            reasons.Add($"it is not for '{host}'");
        if (errors.HasFlag(SslPolicyErrors.RemoteCertificateChainErrors) && chain is not null)
        {
            reasons.AddRange(chain.ChainStatus
                .Select(static status => $"{status.Status} ({status.StatusInformation.Trim().TrimEnd('.')})")
                .Distinct());
        }

        return $"{certificate.Subject}: {string.Join(", ", reasons)}";
    }
}
