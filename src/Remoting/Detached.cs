namespace EQueue.Remoting;

/// <summary>Starts loops and timers outside of their caller's context, which they outlive.</summary>
internal static class Detached
{
    public static void Start(Action start)
    {
        if (ExecutionContext.IsFlowSuppressed())
        {
            start();
            return;
        }

        using (ExecutionContext.SuppressFlow())
            start();
    }
}
