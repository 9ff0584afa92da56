using EQueue.Support;

namespace EQueue.Remoting.Tests;

/// <summary>An authority, a server's certificate and a client's, in files of a test's own.</summary>
public sealed class TlsPlant : IDisposable
{
    private readonly TempDirectory _directory = new();

    public TlsPlant(string host = "127.0.0.1", int fromDays = -30, int toDays = 30)
    {
        Authority = TestAuthority.Create();
        AuthorityFile = Write("authority.pem", Authority.Pem);
        using TestCertificate server = Authority.Sign(host, fromDays, toDays);
        ServerFile = Write("server.pem", server.Pem);
        using TestCertificate client = Authority.Sign("client");
        ClientFile = Write("client.pem", client.CertificatePem);
        ClientKeyFile = Write("client.key", client.KeyPem);
    }

    public TestAuthority Authority { get; }

    public string AuthorityFile { get; }

    public string ServerFile { get; }

    public string ClientFile { get; }

    public string ClientKeyFile { get; }

    public RemotingServerOptions Server => new() { Tls = new ServerTlsOptions { Certificate = ServerFile } };

    public RemotingServerOptions MutualServer => new()
    {
        Tls = new ServerTlsOptions
        {
            Certificate = ServerFile,
            ClientCertificates = ClientCertificates.Require,
            ClientAuthority = AuthorityFile,
        },
    };

    public RemotingClientOptions Client => new() { Tls = new TlsOptions { AuthorityFile = AuthorityFile } };

    public RemotingClientOptions MutualClient => new()
    {
        Tls = new TlsOptions
        {
            AuthorityFile = AuthorityFile,
            CertificateFile = ClientFile,
            KeyFile = ClientKeyFile,
        },
    };

    public string PathOf(string name) => _directory[name];

    public string Write(string name, string text)
    {
        File.WriteAllText(_directory[name], text);
        return _directory[name];
    }

    public string Write(string name, byte[] bytes)
    {
        File.WriteAllBytes(_directory[name], bytes);
        return _directory[name];
    }

    public void Dispose()
    {
        Authority.Dispose();
        _directory.Dispose();
    }
}
