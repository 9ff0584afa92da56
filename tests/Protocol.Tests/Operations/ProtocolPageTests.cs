using EQueue.Protocol;

namespace EQueue.Protocol.Tests.Operations;

/// <summary>docs/protocol.md names every number of the code.</summary>
public sealed class ProtocolPageTests
{
    private static readonly string[] Lines = File.ReadAllLines(FindPage());

    [Fact]
    public void GivenEveryErrorCode_WhenThePageIsRead_ThenItStandsThereWithItsNumberAndWhetherARetryHelps() =>
        Assert.Empty(Enum.GetValues<ErrorCode>()
            .Select(code => $"| {(int)code} | {code} | {(ErrorCodes.IsRetriable(code) ? "yes" : "no")} |")
            .Where(row => !Lines.Any(line => line.StartsWith(row, StringComparison.Ordinal))));

    [Fact]
    public void GivenEveryOperation_WhenThePageIsRead_ThenItStandsThereWithItsNumberAndHasASection() =>
        Assert.Empty(Enum.GetValues<Opcode>()
            .Where(opcode =>
                !Lines.Any(line => line.StartsWith($"| {(int)opcode} | {opcode} |", StringComparison.Ordinal))
                || !Lines.Any(line =>
                    line.StartsWith("### ", StringComparison.Ordinal)
                    && line.Contains($"{opcode} ({(int)opcode})", StringComparison.Ordinal))));

    private static string FindPage()
    {
        string? directory = AppContext.BaseDirectory;
        while (directory is not null && !File.Exists(Path.Combine(directory, "EQueue.sln")))
            directory = Path.GetDirectoryName(directory);
        return Path.Combine(directory ?? throw new InvalidOperationException("No EQueue.sln above the tests."), "docs", "protocol.md");
    }
}
