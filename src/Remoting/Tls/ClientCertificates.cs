namespace EQueue.Remoting;

/// <summary>Whether the clients of a server prove who they are.</summary>
public enum ClientCertificates
{
    /// <summary>They are not asked for a certificate.</summary>
    None = 0,

    /// <summary>They may show one; one that is not trusted is refused.</summary>
    Allow = 1,

    /// <summary>Without a trusted one they are refused.</summary>
    Require = 2,
}
