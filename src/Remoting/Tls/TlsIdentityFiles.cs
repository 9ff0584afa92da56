namespace EQueue.Remoting;

/// <summary>The files of one certificate, each with the name of its setting.</summary>
internal sealed record TlsIdentityFiles(
    string CertificateSetting,
    string Certificate,
    string KeySetting,
    string? Key,
    string PasswordSetting,
    string? PasswordFile);
