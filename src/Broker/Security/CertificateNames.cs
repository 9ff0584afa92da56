using System.Formats.Asn1;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;

namespace EQueue.Broker;

/// <summary>The names that stand in a certificate, by kind.</summary>
internal static class CertificateNames
{
    private const string AlternativeName = "2.5.29.17";
    private const string CommonName = "2.5.4.3";
    private const int DnsTag = 2;
    private const int UriTag = 6;

    /// <summary>Its URI names, in their order.</summary>
    public static IEnumerable<string> Uris(X509Certificate2 certificate) => Alternatives(certificate, UriTag);

    /// <summary>Its DNS names, in their order.</summary>
    public static IEnumerable<string> DnsNames(X509Certificate2 certificate) => Alternatives(certificate, DnsTag);

    /// <summary>Its common names; an organisation's name, which many certificates share, is none.</summary>
    public static IEnumerable<string> CommonNames(X509Certificate2 certificate) =>
        certificate.SubjectName.EnumerateRelativeDistinguishedNames()
            .Where(part => !part.HasMultipleElements && part.GetSingleElementType().Value == CommonName)
            .Select(part => part.GetSingleElementValue())
            .OfType<string>();

    /// <summary>GeneralNames of RFC 5280, section 4.2.1.6: { [2] IA5String | [6] IA5String | others ... }. None when
    /// they cannot be read.</summary>
    private static List<string> Alternatives(X509Certificate2 certificate, int tag)
    {
        var names = new List<string>();
        try
        {
            foreach (X509Extension extension in certificate.Extensions.Where(one => one.Oid?.Value == AlternativeName))
            {
                AsnReader all = new AsnReader(extension.RawData, AsnEncodingRules.DER).ReadSequence();
                while (all.HasData)
                {
                    Asn1Tag kind = all.PeekTag();
                    if (kind.TagClass == TagClass.ContextSpecific && kind.TagValue == tag)
                        names.Add(all.ReadCharacterString(UniversalTagNumber.IA5String, kind));
                    else
                        all.ReadEncodedValue();
                }
            }
        }
        catch (Exception exception) when (exception is AsnContentException or CryptographicException
            or DecoderFallbackException)
        {
            return [];
        }

        return names;
    }
}
