using System.Net.Sockets;
using EQueue.MessageStore;
using EQueue.Server.Configuration;
using EQueue.Server.Hosting;

namespace EQueue.Server.Tests;

public sealed class StartFailureTests
{
    public static TheoryData<Exception, int> Failures => new()
    {
        { new ConfigurationException("x"), ExitCode.Configuration },
        { new DiskException(DiskFault.Locked, "/d/lock", "flock", "busy"), ExitCode.DataDirectory },
        { new DiskException(DiskFault.Denied, "/d", "open", "no"), ExitCode.DataDirectory },
        { new DiskException(DiskFault.Io, "/d/x", "fdatasync", "EIO"), ExitCode.StoreFault },
        { new DiskException(DiskFault.Full, "/d/x", "fallocate", "ENOSPC"), ExitCode.StoreFault },
        { new StoreFormatException("/d/store", "format version 9, known are 1 to 1"), ExitCode.DataDirectory },
        { new SocketException((int)SocketError.AddressAlreadyInUse), ExitCode.PortInUse },
        { new IOException("bind", new SocketException((int)SocketError.AddressAlreadyInUse)), ExitCode.PortInUse },
        { new SocketException((int)SocketError.HostNotFound), ExitCode.Configuration },
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

    [Fact]
    public void GivenTwoFailures_WhenTheServerEnds_ThenTheFirstOneIsItsExitCode()
    {
        var outcome = new ServerOutcome();
        Assert.Equal(ExitCode.Clean, outcome.ExitCode);
        outcome.Fail(ExitCode.StoreFault);
        outcome.Fail(ExitCode.Other);
        Assert.Equal(ExitCode.StoreFault, outcome.ExitCode);
    }
}
