using EQueue.Cli.Input;
using EQueue.Protocol;

namespace EQueue.Cli.Access;

/// <summary>Where a user's new password comes from.</summary>
internal sealed class NewPassword(CliStreams streams)
{
    private const string Typed = "What was typed";

    /// <summary>From the file, if one is named; else asked for twice on a terminal; else from standard input.</summary>
    /// <param name="user">Whose it will be.</param>
    /// <param name="file">Path of the file; null = none.</param>
    /// <exception cref="UsageException">There is none, or the two differ, or others may read the file.</exception>
    public string Read(string user, string? file)
    {
        string password = Find(user, file);
        return SaslPrep.TryPrepare(password, out _)
            ? password
            : throw new UsageException(
                $"That can be no password: it is longer than {SaslPrep.MaxLength} characters, or has some that could "
                + "be typed in more ways than one, or not be seen.");
    }

    private string Find(string user, string? file)
    {
        if (file is not null)
            return SecretText.ReadFile(file);
        if (!streams.IsInputTerminal)
            return SecretText.Read(streams.Input, "Standard input");
        string password = streams.AskSecret($"New password of {user}: ");
        SecretText.Demand(password, Typed);
        return streams.AskSecret("The same again: ") == password
            ? password
            : throw new UsageException("The two are not the same; nothing was changed.");
    }
}
