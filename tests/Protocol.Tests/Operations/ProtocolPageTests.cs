namespace EQueue.Protocol.Tests.Operations;

/// <summary>docs/protocol.md names every number of the code.</summary>
public sealed class ProtocolPageTests
{
    private static readonly string[] Lines = File.ReadAllLines(FindPage());

    [Fact]
    public void GivenEveryErrorCode_WhenThePageIsRead_ThenItStandsThereWithItsNumberAndWhetherARetryHelps() =>
        Assert.All(Enum.GetValues<ErrorCode>(), code => AssertStartsALine(
            $"| {(int)code} | {code} | {(ErrorCodes.IsRetriable(code) ? "yes" : "no")} |"));

    [Fact]
    public void GivenEveryOperation_WhenThePageIsRead_ThenItStandsThereWithItsNumberAndHasASection() =>
        Assert.All(Enum.GetValues<Opcode>(), opcode =>
        {
            AssertStartsALine($"| {(int)opcode} | {opcode} |");
            Assert.Contains(Lines, line =>
                line.StartsWith("### ", StringComparison.Ordinal)
                && line.Contains($"{opcode} ({(int)opcode})", StringComparison.Ordinal));
        });

    private static void AssertStartsALine(string start) =>
        Assert.Contains(Lines, line => line.StartsWith(start, StringComparison.Ordinal));

    private static string FindPage()
    {
        string? directory = AppContext.BaseDirectory;
        while (directory is not null && !File.Exists(Path.Combine(directory, "EQueue.sln")))
            directory = Path.GetDirectoryName(directory);
        return Path.Combine(
            directory ?? throw new InvalidOperationException("No EQueue.sln above the tests."), "docs", "protocol.md");
    }
}
