using System.CommandLine;
using EQueue.Cli.Access;
using EQueue.Cli.Contexts;

namespace EQueue.Cli.Connecting;

/// <summary>As whom a command comes: options of every command, the environment, the context.</summary>
/// <param name="variable">Looks a variable of the environment up.</param>
internal sealed class LoginOptions(Func<string, string?> variable)
{
    private const string UserVariable = "EQUEUE_USER";
    private const string PasswordVariable = "EQUEUE_PASSWORD";
    private const string TokenVariable = "EQUEUE_TOKEN";
    private const string TokenFileVariable = "EQUEUE_TOKEN_FILE";

    private readonly Option<string?> _user = new("--user")
    {
        Description = "Logs in as this user; the password is in --password-file, else in EQUEUE_PASSWORD, else asked "
            + "for. Without --user and --token-file: the environment's EQUEUE_TOKEN, EQUEUE_TOKEN_FILE or EQUEUE_USER, "
            + "else what the context says.",
        HelpName = "NAME",
        Recursive = true,
    };

    private readonly Option<string?> _passwordFile = new("--password-file")
    {
        Description = "File that holds the password alone, and that no other user may read.",
        HelpName = "FILE",
        Recursive = true,
    };

    private readonly Option<string?> _tokenFile = new("--token-file")
    {
        Description = "Logs in with the token that this file holds.",
        HelpName = "FILE",
        Recursive = true,
    };

    public void AddTo(RootCommand root)
    {
        root.Options.Add(_user);
        root.Options.Add(_passwordFile);
        root.Options.Add(_tokenFile);
    }

    /// <summary>What the options say for a context to keep; paths in full.</summary>
    /// <exception cref="UsageException">They contradict each other, or a password has no user.</exception>
    public NamedContext AddTo(NamedContext context, ParseResult parsed)
    {
        string? user = parsed.GetValue(_user);
        string? passwordFile = parsed.GetValue(_passwordFile);
        DemandOne(parsed);
        if (passwordFile is not null && user is null)
            throw PasswordWithoutUser();
        return context with
        {
            User = user,
            PasswordFile = passwordFile is null ? null : Path.GetFullPath(passwordFile),
            TokenFile = parsed.GetValue(_tokenFile) is { } file ? Path.GetFullPath(file) : null,
        };
    }

    /// <summary>As whom a command comes; null: it shows no credentials but those of TLS. Nothing is read or asked
    /// yet.</summary>
    /// <param name="parsed">The command line.</param>
    /// <param name="context">The context whose servers the command goes to; null = others are named.</param>
    /// <param name="name">What people call the context.</param>
    /// <exception cref="UsageException">What is given contradicts itself.</exception>
    public LoginSource? Find(ParseResult parsed, NamedContext? context, string? name)
    {
        DemandOne(parsed);
        if (parsed.GetValue(_tokenFile) is { } tokenFile)
            return new LoginSource { Source = "--token-file", TokenFile = tokenFile };
        string? user = parsed.GetValue(_user);
        string? passwordFile = parsed.GetValue(_passwordFile);
        if (user is null && passwordFile is null && FindToken() is { } token)
            return token;
        string source = user is not null ? "--user"
            : Variable(UserVariable) is not null ? UserVariable : $"context {name}";
        user ??= Variable(UserVariable) ?? context?.User;
        if (user is not null)
        {
            return new LoginSource
            {
                Source = source,
                User = user,
                Password = passwordFile is null ? PasswordOf(user) : null,
                PasswordFile = passwordFile ?? (PasswordOf(user) is null && context?.User == user
                    ? context.PasswordFile : null),
            };
        }

        if (passwordFile is not null)
            throw PasswordWithoutUser();
        return context?.TokenFile is { } kept ? new LoginSource { Source = source, TokenFile = kept } : null;
    }

    private static UsageException PasswordWithoutUser() =>
        new("Whose password is in --password-file? Add --user NAME.");

    /// <summary>The environment's token, unless it names a user.</summary>
    private LoginSource? FindToken()
    {
        string[] set =
            [.. new[] { TokenVariable, TokenFileVariable, UserVariable }.Where(one => Variable(one) is not null)];
        if (set.Length > 1)
        {
            throw new UsageException(
                $"The environment has {string.Join(" and ", set)}: unset all but one, or say --user or --token-file.");
        }

        if (Variable(TokenVariable) is { } token)
            return new LoginSource { Source = TokenVariable, Token = token };
        return Variable(TokenFileVariable) is { } file
            ? new LoginSource { Source = TokenFileVariable, TokenFile = file } : null;
    }

    /// <summary>The environment's password, unless the environment says that it is another user's.</summary>
    private string? PasswordOf(string user) =>
        Variable(UserVariable) is { } owner && owner != user ? null : Variable(PasswordVariable);

    private void DemandOne(ParseResult parsed)
    {
        if (parsed.GetValue(_tokenFile) is null)
            return;
        if (parsed.GetValue(_user) is not null || parsed.GetValue(_passwordFile) is not null)
            throw new UsageException("Choose: --token-file, or --user with its password.");
    }

    private string? Variable(string name) => variable(name) is { Length: > 0 } value ? value : null;
}
