using System.Globalization;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>A line of a member's journal: it was given a queue.</summary>
internal readonly record struct Given(long Time, int Queue);

/// <summary>A line of a member's journal: it processed a message.</summary>
internal readonly record struct Processed(int Stint, int Queue, long Offset, string Key, int Number);

/// <summary>A member of a group in a process of its own (tests/GroupPeer) and what it has told so far.</summary>
internal sealed class GroupPeer : IAsyncDisposable
{
    private readonly ProgramRun _run;
    private readonly Task _reader;
    private readonly List<Given> _given = [];
    private readonly List<Processed> _processed = [];
    private int _stint;
    private bool _isUp = true;

    public GroupPeer(string server, string group, string topic, TimeSpan sessionTimeout)
    {
        string timeout = ((int)sessionTimeout.TotalMilliseconds).ToString(CultureInfo.InvariantCulture);
        _run = ProgramRun.Start("GroupPeer", [server, group, topic, timeout]);
        _reader = ReadAsync();
    }

    /// <summary>Neither killed, stopped nor asked to leave.</summary>
    public bool IsUp => _isUp && !HasFailed;

    /// <summary>It ended by itself.</summary>
    public bool HasFailed => (_isUp || IsStopped) && _run.HasExited;

    public bool IsStopped { get; private set; }

    /// <summary>What it wrote to standard error.</summary>
    public string Error => _run.Error;

    /// <summary>What it was given, a copy.</summary>
    public Given[] Given
    {
        get
        {
            lock (_given)
                return [.. _given];
        }
    }

    /// <summary>What it processed, a copy.</summary>
    public Processed[] Processed
    {
        get
        {
            lock (_given)
                return [.. _processed];
        }
    }

    /// <summary>kill -9. What it had written is read to its end.</summary>
    public async Task KillAsync()
    {
        _isUp = IsStopped = false;
        await _run.KillAsync();
        await _reader;
    }

    public void Stop()
    {
        (_isUp, IsStopped) = (false, true);
        _run.Pause();
    }

    public void Continue()
    {
        (_isUp, IsStopped) = (true, false);
        _run.Resume();
    }

    /// <summary>Lets it commit and leave.</summary>
    public async Task LeaveAsync()
    {
        _isUp = false;
        _run.Input.Close();
        int exitCode = await _run.WaitForExitAsync();
        await _reader;
        Assert.True(exitCode == 0, $"a member ended with {exitCode}: {_run.Error}");
    }

    public ValueTask DisposeAsync() => _run.DisposeAsync();

    private async Task ReadAsync()
    {
        while (await _run.OutputReader.ReadLineAsync() is { } line)
        {
            string[] parts = line.Split(' ');
            lock (_given)
            {
                if (parts[0] == "m" && parts.Length == 5)
                {
                    _processed.Add(new Processed(
                        _stint, Number(parts[1]), long.Parse(parts[2], CultureInfo.InvariantCulture), parts[3],
                        Number(parts[4])));
                    continue;
                }

                // Whatever changes begins another stint: order is promised within one.
                _stint++;
                if (parts[0] == "+")
                    _given.Add(new Given(long.Parse(parts[1], CultureInfo.InvariantCulture), Number(parts[2])));
            }
        }
    }

    private static int Number(string text) => int.Parse(text, CultureInfo.InvariantCulture);
}
