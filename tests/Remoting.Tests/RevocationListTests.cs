using System.Numerics;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using EQueue.Support;

namespace EQueue.Remoting.Tests;

/// <summary>Lists of revoked certificates: which are read, and which are believed.</summary>
public sealed class RevocationListTests : IDisposable
{
    private const string Setting = "Tls:ClientRevocations";

    private readonly TempDirectory _directory = new();
    private readonly TestAuthority _authority = TestAuthority.Create("The authority");

    public void Dispose()
    {
        _authority.Dispose();
        _directory.Dispose();
    }

    [Fact]
    public void GivenListsInPemAndDer_WhenRead_ThenTheyNameWhatTheirAuthorityRevokedAndNothingElse()
    {
        using TestCertificate revoked = _authority.Sign("revoked");
        using TestCertificate other = _authority.Sign("other");
        using var another = TestAuthority.Create("Another");
        using var authority = X509Certificate2.CreateFromPem(_authority.Pem);
        byte[] list = _authority.Revoke(revoked);
        string pem = PemOf(another.Revoke(other)) + "\ntext between them\n" + PemOf(list);
        foreach (RevocationList[] lists in (RevocationList[][])[Read(list), Read(Encoding.ASCII.GetBytes(pem))])
        {
            Assert.Contains(lists, one => one.Names(revoked.Certificate, authority));
            Assert.DoesNotContain(lists, one => one.Names(other.Certificate, authority));
        }
    }

    [Fact]
    public void GivenAListThatAnotherSignedInTheAuthoritysName_WhenAsked_ThenItIsNotBelieved()
    {
        using var forger = TestAuthority.Create("The authority");
        using TestCertificate certificate = _authority.Sign("certificate");
        using var authority = X509Certificate2.CreateFromPem(_authority.Pem);
        RevocationList forged = Assert.Single(Read(forger.Revoke(certificate)));
        Assert.False(forged.Names(certificate.Certificate, authority));
    }

    [Theory]
    [InlineData("SHA256")]
    [InlineData("SHA384")]
    [InlineData("SHA512")]
    public void GivenAListThatIsSignedWithRsa_WhenRead_ThenItIsBelieved(string hash)
    {
        using var key = RSA.Create(2048);
        var name = new HashAlgorithmName(hash);
        var request = new CertificateRequest("CN=RSA", key, name, RSASignaturePadding.Pkcs1);
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(true, false, 0, true));
        request.CertificateExtensions.Add(
            new X509KeyUsageExtension(X509KeyUsageFlags.KeyCertSign | X509KeyUsageFlags.CrlSign, true));
        DateTimeOffset now = TimeProvider.System.GetUtcNow();
        using X509Certificate2 authority = request.CreateSelfSigned(now.AddDays(-1), now.AddDays(9));
        var list = new CertificateRevocationListBuilder();
        list.AddEntry(authority);
        RevocationList read = Assert.Single(Read(list.Build(
            authority, BigInteger.One, now.AddDays(1), name, RSASignaturePadding.Pkcs1)));
        Assert.True(read.Names(authority, authority));
    }

    [Fact]
    public void GivenAListWithBytesChanged_WhenRead_ThenItIsRefusedOrNotBelieved()
    {
        using TestCertificate kept = _authority.Sign("kept");
        using TestCertificate revoked = _authority.Sign("revoked");
        using var authority = X509Certificate2.CreateFromPem(_authority.Pem);
        byte[] list = _authority.Revoke(revoked);
        for (int at = 0; at < list.Length; at++)
        {
            byte[] changed = [.. list];
            changed[at] ^= 0x41;
            RevocationList[] read;
            try
            {
                read = Read(changed);
            }
            catch (ArgumentException exception)
            {
                Assert.StartsWith($"{Setting} is '", exception.Message, StringComparison.Ordinal);
                continue;
            }

            Assert.DoesNotContain(read, one => one.Names(kept.Certificate, authority));
            Assert.DoesNotContain(read, one => one.Names(revoked.Certificate, authority));
        }
    }

    private static string PemOf(byte[] list) => PemEncoding.WriteString("X509 CRL", list);

    private RevocationList[] Read(byte[] bytes)
    {
        string path = _directory["list"];
        File.WriteAllBytes(path, bytes);
        return RevocationList.ReadFile(Setting, path);
    }
}
