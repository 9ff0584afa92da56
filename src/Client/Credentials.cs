using System.Text;
using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>How a client proves to brokers who it is: a user's password, or a token.</summary>
/// <remarks>Thread-safe and immutable: one object serves all connections. Over a plain TCP connection to another
/// machine none of them is used: the client refuses such a connection itself, before it sends anything
/// (<see cref="ClientOptions.Tls"/> is what it takes). Its text never shows a secret.</remarks>
public abstract class Credentials
{
    private protected Credentials()
    {
    }

    /// <summary>A user's password. It is proved by SCRAM-SHA-256 and never sent; the broker has to prove that it knows
    /// the user.</summary>
    /// <param name="user">The user's name, at most 249 characters.</param>
    /// <param name="password">1 to 1,024 characters; see <see cref="SaslPrep"/> for which they may be.</param>
    /// <exception cref="ArgumentException">One of them cannot be used; the message does not quote it.</exception>
    public static Credentials Password(string user, string password) => new PasswordCredentials(user, password);

    /// <summary>A token, as <c>equeue token create</c> or <see cref="EQueueAdmin.CreateTokenAsync"/> gave it.</summary>
    /// <param name="token">The whole of it; white space around it is left out.</param>
    /// <exception cref="ArgumentException">It is empty, longer than 4,096 characters, or has other characters than
    /// printable ones of ASCII.</exception>
    public static Credentials Token(string token) => new TokenCredentials(token);

    /// <summary>A token that is in a file, alone; the file is read anew for each connection, so that a token that was
    /// renewed there is used from the next connection on.</summary>
    /// <param name="path">Of the file; it need not be there yet.</param>
    /// <exception cref="ArgumentException">It is empty.</exception>
    public static Credentials TokenFile(string path) => new TokenFileCredentials(path);

    /// <summary>Names the principal for whom this process itself speaks: for <see cref="ClientOptions.InMemory"/>
    /// alone, where the process owns the broker.</summary>
    /// <param name="principal">As rules name it, such as <c>user:alice</c>; 1 to 255 characters.</param>
    /// <exception cref="ArgumentException">It is empty or too long.</exception>
    public static Credentials InProcess(string principal)
    {
        ArgumentException.ThrowIfNullOrEmpty(principal);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(
            principal.Length, AccessRule.MaxPrincipalLength, nameof(principal));
        return InProcess(new InProcessWord(principal, Address: null));
    }

    /// <summary>Names the principal for whom this process itself speaks, and from where that one asks.</summary>
    internal static Credentials InProcess(InProcessWord word) => new InProcessCredentials(word);

    /// <summary>Whether they are for connections within the process alone.</summary>
    internal virtual bool IsInProcess => false;

    /// <summary>Begins to prove it, over a new connection.</summary>
    /// <exception cref="EQueueException">AuthenticationFailed: there is nothing to prove it with.</exception>
    internal abstract Login Begin();

    private sealed class PasswordCredentials : Credentials
    {
        private readonly string _user;
        private readonly string _password;

        public PasswordCredentials(string user, string password)
        {
            _user = SaslPrep.Prepare(user, nameof(user));
            ArgumentOutOfRangeException.ThrowIfGreaterThan(_user.Length, NameRules.MaxLength, nameof(user));
            _password = SaslPrep.Prepare(password, nameof(password));
        }

        public override string ToString() => $"user {_user} with a password";

        internal override Login Begin() => new ScramLogin(_user, new ScramClient(_user, _password));
    }

    private sealed class TokenCredentials(string token) : Credentials
    {
        private readonly string _token = Tokens.Check(token) ?? throw new ArgumentException(Tokens.Rule, nameof(token));

        public override string ToString() => "a token";

        internal override Login Begin() => new SimpleLogin(Mechanisms.Token, Encoding.ASCII.GetBytes(_token));
    }

    private sealed class TokenFileCredentials : Credentials
    {
        private readonly string _path;

        public TokenFileCredentials(string path)
        {
            ArgumentException.ThrowIfNullOrWhiteSpace(path);
            _path = path;
        }

        public override string ToString() => $"the token in {_path}";

        internal override Login Begin()
        {
            bool isToken = Tokens.TryRead(_path, out string? token, out string? reason);
            return isToken
                ? new SimpleLogin(Mechanisms.Token, Encoding.ASCII.GetBytes(token)) { HasChanged = HasChanged }
                : new NoLogin(reason) { HasChanged = HasChanged };

            bool HasChanged()
            {
                Tokens.TryRead(_path, out string? now, out string? nowReason);
                return (now, nowReason) != (token, reason);
            }
        }
    }

    private sealed class InProcessCredentials(InProcessWord word) : Credentials
    {
        internal override bool IsInProcess => true;

        public override string ToString() => $"{word.Principal}, by the process's own word";

        internal override Login Begin() => new SimpleLogin(Mechanisms.InProcess, word.Encode());
    }
}
