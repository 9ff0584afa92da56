using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;

namespace EQueue.Client.Tests.Network;

/// <summary>What is given up must not fail later, unobserved. Alone, for such a failure has no owner.</summary>
[Collection(nameof(HostileNetworkTests))]
public sealed class UnseenExceptionTests
{
    [Fact]
    public async Task GivenNobodyListens_WhenRequestsRunOutOfTimeAndTheClientIsDisposed_ThenNoFailureIsLeftUnseen()
    {
        ConcurrentQueue<string> unseen = [];
        EventHandler<UnobservedTaskExceptionEventArgs> note =
            (_, arguments) => unseen.Enqueue(arguments.Exception.ToString());
        TaskScheduler.UnobservedTaskException += note;
        try
        {
            await AskInVainAsync();
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        finally
        {
            TaskScheduler.UnobservedTaskException -= note;
        }

        Assert.Equal([], unseen);
    }

    /// <summary>A method of its own: nothing of it lives on when it has ended.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static async Task AskInVainAsync()
    {
        using var silent = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        silent.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        await using var client = new EQueueClient(new ClientOptions
        {
            Addresses = silent.LocalEndPoint!.ToString()!,
            RequestTimeout = TimeSpan.FromMilliseconds(50),
        });
        for (int i = 0; i < 5; i++)
        {
            EQueueException failure = await Assert.ThrowsAsync<EQueueException>(
                async () => await client.Admin.DescribeBrokerAsync(TestContext.Current.CancellationToken));
            Assert.Equal(ErrorCode.Unreachable, failure.Code);
        }
    }
}
