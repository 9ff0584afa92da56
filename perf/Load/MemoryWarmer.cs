using System.Runtime.InteropServices;
using EQueue.Load.Reporting;

namespace EQueue.Load;

/// <summary>
/// Touches memory and gives it back. The host of a fresh virtual machine serves first touches slowly: unwarmed figures
/// say more about that than about the program measured.
/// </summary>
internal static class MemoryWarmer
{
    private const int PageSize = 4096;
    private const int StepSize = 64 << 20;
    private const long GB = 1_000_000_000;

    /// <exception cref="LoadException">The machine has less memory than asked for.</exception>
    public static unsafe void Warm(int gigabytes, CancellationToken cancellationToken)
    {
        long wantedBytes = gigabytes * GB;
        if (LoadReport.ReadMemoryBytes() is { } memoryBytes && wantedBytes > memoryBytes * 0.95)
        {
            throw LoadException.MachineLimit(
                "memory", $"--warm-memory {gigabytes} does not fit into {memoryBytes / (double)GB:F1} GB");
        }

        var steps = new List<nint>();
        long start = TimeProvider.System.GetTimestamp();
        try
        {
            for (long touched = 0; touched < wantedBytes; touched += StepSize)
            {
                cancellationToken.ThrowIfCancellationRequested();
                nint step = (nint)NativeMemory.Alloc(StepSize);
                steps.Add(step);
                for (int page = 0; page < StepSize; page += PageSize)
                    Volatile.Write(ref *((byte*)step + page), 1);
            }
        }
        catch (OutOfMemoryException exception)
        {
            throw LoadException.MachineLimit(
                "memory", $"no more after {steps.Count * (long)StepSize / GB} GB", exception);
        }
        finally
        {
            foreach (nint step in steps)
                NativeMemory.Free((void*)step);
        }

        double seconds = TimeProvider.System.GetElapsedTime(start).TotalSeconds;
        LoadSession.Say($"touched {gigabytes} GB of memory in {seconds:F1} s");
    }
}
