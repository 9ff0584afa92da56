using EQueue.Cli.Input;

namespace EQueue.Cli.Access;

/// <summary>As whom a command comes and where what proves it is: a token, or a user with a password.</summary>
internal sealed record LoginSource
{
    /// <summary>What named it, for people: <c>--user</c>, <c>EQUEUE_TOKEN</c>, <c>context production</c>.</summary>
    public required string Source { get; init; }

    /// <summary>The user; null = a token says which.</summary>
    public string? User { get; init; }

    /// <summary>The password itself; null = it is in the file, or has to be asked for.</summary>
    public string? Password { get; init; }

    /// <summary>The file with the password.</summary>
    public string? PasswordFile { get; init; }

    /// <summary>The token itself; null = it is in the file.</summary>
    public string? Token { get; init; }

    /// <summary>The file with the token.</summary>
    public string? TokenFile { get; init; }

    /// <summary>Whether a person has to be asked for the password.</summary>
    public bool NeedsPerson => User is not null && Password is null && PasswordFile is null;

    /// <summary>Who comes, for people; no secret is in it.</summary>
    public string Text => User is not null ? $"{PrincipalText.OfUser(User)} ({Source})"
        : TokenFile is not null ? $"the user of the token in {TokenFile} ({Source})"
        : $"the user of the token in {Source}";

    /// <summary>Reads what is to be read, and asks a person for the password if need be.</summary>
    /// <param name="streams">Where it is asked.</param>
    /// <exception cref="UsageException">A file cannot be used, or there is no terminal to ask on.</exception>
    public Credentials Open(CliStreams streams)
    {
        if (Token is not null)
            return Credentials.Token(Token);
        if (TokenFile is not null)
            return Credentials.TokenFile(TokenFile);
        if (PasswordFile is not null)
            return Credentials.Password(User!, SecretText.ReadFile(PasswordFile));
        if (Password is not null)
            return Credentials.Password(User!, Password);
        if (!streams.IsInputTerminal)
        {
            throw new UsageException(
                $"The password of {User} is not known, and there is no terminal to ask for it: --password-file names a "
                + "file that holds it, or EQUEUE_PASSWORD is it.");
        }

        return Credentials.Password(User!, streams.AskSecret($"Password of {User}: "));
    }
}
