namespace EQueue.Load;

/// <summary>The exit codes of the load program.</summary>
internal static class LoadExit
{
    public const int Ok = 0;
    public const int Failed = 1;
    public const int Usage = 2;
    public const int WrongData = 3;
    public const int MachineLimit = 4;
}
