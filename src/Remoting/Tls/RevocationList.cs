using System.Formats.Asn1;
using System.Numerics;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;

namespace EQueue.Remoting;

/// <summary>A list of certificates that an authority has revoked (RFC 5280, section 5).</summary>
/// <remarks>
/// <code>
/// CertificateList  ::= { TBSCertList, AlgorithmIdentifier, BIT STRING }
/// TBSCertList      ::= { [version], AlgorithmIdentifier, issuer Name, thisUpdate, [nextUpdate],
///                        [revokedCertificates { { serial INTEGER, date, [extensions] } ... }], [0 extensions] }
/// </code>
/// Immutable; thread-safe. Whose it is is seen by its signature, with the key of the certificate's own authority. A
/// list that its authority meant to replace by now counts all the same.
/// </remarks>
internal sealed class RevocationList
{
    private const string Label = "X509 CRL";

    private readonly byte[] _bytes;
    private readonly ReadOnlyMemory<byte> _signedPart;
    private readonly byte[] _issuer;
    private readonly HashSet<BigInteger> _serials;
    private readonly string _algorithm;
    private readonly byte[] _signature;

    /// <exception cref="AsnContentException">The bytes are no such list.</exception>
    private RevocationList(byte[] bytes)
    {
        _bytes = bytes;
        AsnReader whole = new AsnReader(bytes, AsnEncodingRules.DER).ReadSequence();
        _signedPart = whole.PeekEncodedValue();
        (_issuer, _serials) = ReadSignedPart(whole.ReadSequence());
        _algorithm = whole.ReadSequence().ReadObjectIdentifier();
        _signature = whole.ReadBitString(out _);
    }

    /// <summary>The lists of a file: one in DER, or some in PEM.</summary>
    /// <exception cref="ArgumentException">It cannot be read, holds none, or one is signed in a way that is not
    /// known.</exception>
    public static RevocationList[] ReadFile(string setting, string path)
    {
        byte[] bytes = TlsFiles.ReadBytes(setting, path);
        try
        {
            RevocationList[] lists = [.. Split(bytes).Select(static one => new RevocationList(one))];
            if (lists.Length == 0)
                throw TlsFiles.Wrong(setting, path, "it holds no list of revoked certificates", null);
            return lists.FirstOrDefault(static one => HashOf(one._algorithm) is null) is { } strange
                ? throw TlsFiles.Wrong(
                    setting, path, $"a list is signed with {strange._algorithm}, not with RSA or ECDSA and SHA-2", null)
                : lists;
        }
        catch (AsnContentException exception)
        {
            throw TlsFiles.Wrong(
                setting, path, $"it is no list of revoked certificates in PEM or DER: {exception.Message}", exception);
        }
    }

    public bool IsSame(RevocationList other) => _bytes.AsSpan().SequenceEqual(other._bytes);

    /// <summary>Whether the authority says here that it has revoked the certificate.</summary>
    /// <param name="certificate">One of the authority's.</param>
    /// <param name="authority">That signed it.</param>
    public bool Names(X509Certificate2 certificate, X509Certificate2 authority) =>
        certificate.IssuerName.RawData.AsSpan().SequenceEqual(_issuer)
        && _serials.Contains(new BigInteger(certificate.SerialNumberBytes.Span, isBigEndian: true))
        && IsSignedBy(authority);

    private static (byte[] Issuer, HashSet<BigInteger> Serials) ReadSignedPart(AsnReader part)
    {
        if (part.PeekTag().HasSameClassAndValue(Asn1Tag.Integer))
            part.ReadInteger();
        part.ReadSequence();
        byte[] issuer = part.ReadEncodedValue().ToArray();
        part.ReadEncodedValue();
        if (part.HasData && part.PeekTag() is { TagClass: TagClass.Universal, TagValue: 23 or 24 })
            part.ReadEncodedValue();
        var serials = new HashSet<BigInteger>();
        if (part.HasData && part.PeekTag().HasSameClassAndValue(Asn1Tag.Sequence))
        {
            AsnReader revoked = part.ReadSequence();
            while (revoked.HasData)
                serials.Add(revoked.ReadSequence().ReadInteger());
        }

        return (issuer, serials);
    }

    private static IEnumerable<byte[]> Split(byte[] bytes)
    {
        if (bytes is [0x30, ..])
        {
            yield return bytes;
            yield break;
        }

        string text = Encoding.UTF8.GetString(bytes);
        int at = 0;
        while (PemEncoding.TryFind(text.AsSpan(at), out PemFields fields))
        {
            if (text.AsSpan(at)[fields.Label].SequenceEqual(Label))
                yield return Convert.FromBase64String(text[at..][fields.Base64Data]);
            at += fields.Location.End.Value;
        }
    }

    private static HashAlgorithmName? HashOf(string algorithm) => algorithm switch
    {
        "1.2.840.113549.1.1.11" or "1.2.840.10045.4.3.2" => HashAlgorithmName.SHA256,
        "1.2.840.113549.1.1.12" or "1.2.840.10045.4.3.3" => HashAlgorithmName.SHA384,
        "1.2.840.113549.1.1.13" or "1.2.840.10045.4.3.4" => HashAlgorithmName.SHA512,
        _ => null,
    };

    private bool IsSignedBy(X509Certificate2 authority)
    {
        HashAlgorithmName hash = HashOf(_algorithm)!.Value;
        using ECDsa? curve = authority.GetECDsaPublicKey();
        if (curve is not null)
        {
            return curve.VerifyData(
                _signedPart.Span, _signature, hash, DSASignatureFormat.Rfc3279DerSequence);
        }

        using RSA? key = authority.GetRSAPublicKey();
        return key is not null && key.VerifyData(_signedPart.Span, _signature, hash, RSASignaturePadding.Pkcs1);
    }
}
