using System.Text;
using EQueue.Support.Fuzz;

namespace EQueue.Protocol.Tests.Security;

/// <summary>Messages that were changed give a typed failure: nothing is thrown, and no changed message logs
/// in.</summary>
public sealed class ScramFuzzTests
{
    private static readonly ScramSecret Secret = ScramSecret.Derive("pencil", new byte[16], ScramSecret.MinIterations);

    [Fact]
    public void GivenMutatedMessages_WhenEitherSideReadsThem_ThenNothingIsThrownAndNoneLogsIn()
    {
        int share = FuzzRun.Inputs / 40;
        var client = new ScramClient("user", "pencil", "rOprNGfwEbeRWgbNEkqO");
        byte[] first = client.FirstMessage();
        byte[] challenge = Begin(first).Challenge(Secret);
        client.Answer(challenge, out byte[] answer);
        Begin(first, challenges: true).ReadFinal(answer, out byte[] last);
        Assert.NotEmpty(last);

        int readable = FuzzRun.Feed("ScramFirst", [first], share, 64, static bytes =>
        {
            var server = new ScramServer();
            bool isRead = server.ReadFirst(bytes) == ScramError.None;
            Assert.Equal(isRead, server.User.Length > 0);
            return isRead;
        });
        Assert.InRange(readable, 1, share);
        FuzzRun.Feed("ScramFinal", [answer], share, 512, bytes =>
        {
            bool isAdmitted = Begin(first, challenges: true).ReadFinal(bytes, out byte[] signature) == ScramError.None;
            if (isAdmitted != bytes.SequenceEqual(answer) || isAdmitted != signature.Length > 0)
                throw new InvalidDataException($"'{Encoding.UTF8.GetString(bytes)}' logs in: {isAdmitted}.");
            return isAdmitted;
        });
        FuzzRun.Feed("ScramSignature", [last], share, 64, bytes =>
        {
            bool isTrusted = client.Verify(bytes) == ScramError.None;
            if (isTrusted && !bytes.StartsWith(last))
                throw new InvalidDataException($"'{Encoding.UTF8.GetString(bytes)}' is trusted.");
            return isTrusted;
        });
    }

    [Fact]
    public void GivenMutatedChallenges_WhenTheClientAnswers_ThenNothingIsThrownAndNoProofComesWithAnError()
    {
        // Each that is right costs as much as a login.
        const int share = 400;
        byte[] challenge = Begin(new ScramClient("user", "pencil", "abc").FirstMessage()).Challenge(Secret);
        var errors = new HashSet<ScramError>();
        FuzzRun.Feed("ScramChallenge", [challenge], share, 512, bytes =>
        {
            ScramError error = new ScramClient("user", "pencil", "abc").Answer(bytes, out byte[] proof);
            errors.Add(error);
            if ((error == ScramError.None) != proof.Length > 0)
                throw new InvalidDataException($"{error} with a proof of {proof.Length} bytes.");
            return error == ScramError.None;
        });
        Assert.True(errors.Count >= 3, string.Join(", ", errors));
    }

    private static ScramServer Begin(byte[] first, bool challenges = false)
    {
        var server = new ScramServer("%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0");
        Assert.Equal(ScramError.None, server.ReadFirst(first));
        if (challenges)
            server.Challenge(Secret);
        return server;
    }
}
