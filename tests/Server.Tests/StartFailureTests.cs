using System.Net.Sockets;
using EQueue.MessageStore;
using EQueue.Server.Configuration;
using EQueue.Server.Engine;

namespace EQueue.Server.Tests;

public sealed class StartFailureTests
{
    public static TheoryData<Exception, int> Failures => new()
    {
        { new ConfigurationException("x"), ExitCode.Configuration },
        { new StoreFitException("MaxBatchBytes", "too small a volume"), ExitCode.Configuration },
        { new DiskException(DiskFault.Locked, "/d/lock", "flock", "busy"), ExitCode.DataDirectory },
        { new DiskException(DiskFault.Denied, "/d", "open", "no"), ExitCode.DataDirectory },
        { new DiskException(DiskFault.Io, "/d/x", "fdatasync", "EIO"), ExitCode.StoreFault },
        {
            new VolumeFullException("no room", new DiskException(DiskFault.Full, "/d/x", "fallocate", "ENOSPC")),
            ExitCode.DataDirectory
        },
        { new StoreFormatException("/d/store", "format version 9, known are 1 to 1"), ExitCode.DataDirectory },
        { Port(SocketError.AddressAlreadyInUse), ExitCode.PortInUse },
        { new IOException("bind", Port(SocketError.AddressAlreadyInUse)), ExitCode.PortInUse },
        { Port(SocketError.HostNotFound), ExitCode.Configuration },
        { Port(SocketError.AccessDenied), ExitCode.Configuration },
        { new InvalidOperationException("x"), ExitCode.Other },
    };

    [Theory]
    [MemberData(nameof(Failures))]
    public void GivenAFailureAtStart_WhenExplained_ThenTheExitCodeIsTheContracts(Exception failure, int exitCode)
    {
        (int found, string reason) = StartFailure.Explain(failure);
        Assert.Equal(exitCode, found);
        Assert.NotEmpty(reason);
    }

    [Theory]
    [InlineData(SocketError.AddressAlreadyInUse)]
    [InlineData(SocketError.AddressNotAvailable)]
    [InlineData(SocketError.AccessDenied)]
    [InlineData(SocketError.HostNotFound)]
    public void GivenAnAddressThatCannotBe_WhenExplained_ThenTheSettingAndTheAddressAreNamed(SocketError error)
    {
        (_, string reason) = StartFailure.Explain(Port(error));
        Assert.StartsWith("Server:Listen is '127.0.0.1:1'", reason, StringComparison.Ordinal);
        Assert.Contains(new SocketException((int)error).Message, reason, StringComparison.Ordinal);
    }

    [Fact]
    public void GivenTwoFailures_WhenTheServerEnds_ThenTheFirstOneIsItsExitCode()
    {
        var outcome = new ServerOutcome();
        Assert.Equal(ExitCode.Clean, outcome.ExitCode);
        outcome.Fail(ExitCode.StoreFault);
        outcome.Fail(ExitCode.Other);
        Assert.Equal(ExitCode.StoreFault, outcome.ExitCode);
    }

    private static PortException Port(SocketError error) =>
        new("Server:Listen", "127.0.0.1:1", new SocketException((int)error));
}
