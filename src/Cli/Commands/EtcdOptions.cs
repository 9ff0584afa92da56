using System.CommandLine;
using EQueue.Cli.Input;
using EQueue.Cluster;
using EQueue.Cluster.Etcd;

namespace EQueue.Cli.Commands;

/// <summary>The options that say which cluster is meant, and in which etcd it stands.</summary>
internal sealed class EtcdOptions
{
    private const string UsualName = "equeue";

    private readonly Option<string> _etcd = new("--etcd")
    {
        Description = "The members of etcd, separated by commas.",
        HelpName = "URL[,URL]",
        DefaultValueFactory = _ => "http://127.0.0.1:2379",
    };

    private readonly Option<string> _name = new("--name")
    {
        Description = "The cluster's name: its keys in etcd begin with /equeue/NAME/.",
        HelpName = "NAME",
        DefaultValueFactory = _ => UsualName,
    };

    private readonly Option<string?> _user = new("--etcd-user")
    {
        Description = "The user of etcd.",
        HelpName = "NAME",
    };

    private readonly Option<string?> _passwordFile = new("--etcd-password-file")
    {
        Description = "The file with that user's password.",
        HelpName = "FILE",
    };

    private readonly Option<string?> _authority = new("--etcd-ca")
    {
        Description = "PEM file of the authorities that etcd's certificates must come from; else the system's.",
        HelpName = "FILE",
    };

    public void AddTo(Command command)
    {
        command.Options.Add(_etcd);
        command.Options.Add(_name);
        command.Options.Add(_user);
        command.Options.Add(_passwordFile);
        command.Options.Add(_authority);
    }

    /// <summary>The cluster's name.</summary>
    public string Name(ParseResult parsed) => parsed.GetRequiredValue(_name);

    /// <summary>The cluster, as options that a person adds to a command, each with a space behind it; what is usual is
    /// left out.</summary>
    public string Flags(ParseResult parsed)
    {
        string flags = parsed.GetResult(_etcd) is { Implicit: false } ? $"--etcd {parsed.GetValue(_etcd)} " : "";
        if (Name(parsed) != UsualName)
            flags += $"--name {Name(parsed)} ";
        if (parsed.GetValue(_user) is { } user)
            flags += $"--etcd-user {user} ";
        if (parsed.GetValue(_passwordFile) is { } file)
            flags += $"--etcd-password-file {file} ";
        if (parsed.GetValue(_authority) is { } authority)
            flags += $"--etcd-ca {authority} ";
        return flags;
    }

    /// <summary>The cluster, as settings of equeue-server.</summary>
    public string Settings(ParseResult parsed)
    {
        string settings = $"--Cluster:Etcd {parsed.GetValue(_etcd)}";
        if (Name(parsed) != UsualName)
            settings += $" --Cluster:Name {Name(parsed)}";
        if (parsed.GetValue(_user) is { } user)
            settings += $" --Cluster:EtcdUser {user}";
        if (parsed.GetValue(_passwordFile) is { } file)
            settings += $" --Cluster:EtcdPasswordFile {file}";
        if (parsed.GetValue(_authority) is { } authority)
            settings += $" --Cluster:EtcdCertificateAuthority {authority}";
        return settings;
    }

    /// <summary>A client of that etcd, which has not connected yet.</summary>
    /// <exception cref="UsageException">An option cannot be used.</exception>
    public EtcdClient Connect(ParseResult parsed)
    {
        string? passwordFile = parsed.GetValue(_passwordFile);
        if (parsed.GetValue(_user) is null != passwordFile is null)
            throw new UsageException("--etcd-user and --etcd-password-file are given together.");
        if (!ClusterOptions.IsName(Name(parsed)))
            throw new UsageException($"--name '{Name(parsed)}' is no name: 1 to 63 letters, digits, '.', '_' and '-'.");
        var options = new ClusterOptions
        {
            Node = "none",
            Name = Name(parsed),
            Etcd = ReadMembers(parsed.GetRequiredValue(_etcd)),
            EtcdUser = parsed.GetValue(_user),
            EtcdPassword = passwordFile is null ? null : SecretText.ReadFile(passwordFile),
            EtcdCertificateAuthority = parsed.GetValue(_authority),
        };
        try
        {
            return new EtcdClient(options);
        }
        catch (ArgumentException exception)
        {
            throw new UsageException(Words.Of(exception));
        }
    }

    private static IReadOnlyList<Uri> ReadMembers(string text)
    {
        IReadOnlyList<Uri> members = ClusterOptions.ReadMembers(text, out string? wrong);
        return wrong is null
            ? members
            : throw new UsageException(
                $"--etcd '{wrong}' is no address of etcd's: such as http://127.0.0.1:2379, separated by commas.");
    }
}
