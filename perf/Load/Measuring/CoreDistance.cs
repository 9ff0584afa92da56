namespace EQueue.Load.Measuring;

/// <summary>
/// How long a line of the cache takes from one core to another: two threads pass a number to and fro. Virtual processors
/// are moved between the caches of the host, and what threads hand to each other is slower by as much.
/// </summary>
internal sealed class CoreDistance
{
    private const int Bursts = 8;
    private const int TripsPerBurst = 1024;
    private const int ClockCheckMask = 63;
    private const long Over = -1;
    private const long LongestNs = 100_000_000;

    private long _ball;

    /// <summary>
    /// Takes a millisecond or two, when the machine is at rest; of several bursts the shortest counts.
    /// </summary>
    /// <returns>Nanoseconds one way; null with one core, or when others kept both threads from running at once.</returns>
    public static double? MeasureNs() => Environment.ProcessorCount < 2 ? null : new CoreDistance().Measure();

    private double? Measure()
    {
        var partner = new Thread(GiveBack) { IsBackground = true };
        partner.Start();
        long endNs = Clock.NowNs + LongestNs;
        double? shortest = null;
        for (int burst = 0; burst < Bursts && Clock.NowNs < endNs; burst++)
        {
            long startNs = Clock.NowNs;
            int trips = 0;
            while (trips < TripsPerBurst && ((trips & ClockCheckMask) != 0 || Clock.NowNs < endNs))
                PassOver((2 * trips++) + 1);
            if (trips == TripsPerBurst)
                shortest = Math.Min(shortest ?? double.MaxValue, (Clock.NowNs - startNs) / (2.0 * TripsPerBurst));
        }

        Volatile.Write(ref _ball, Over);
        partner.Join();
        return shortest;
    }

    /// <summary>Passes an odd number on and waits for the even one behind it.</summary>
    private void PassOver(long odd)
    {
        Volatile.Write(ref _ball, odd);
        while (Volatile.Read(ref _ball) == odd)
        {
            // The other thread has it.
        }
    }

    private void GiveBack()
    {
        while (true)
        {
            long ball = Volatile.Read(ref _ball);
            if (ball == Over)
                return;
            if (ball % 2 == 1)
                Volatile.Write(ref _ball, ball + 1);
        }
    }
}
