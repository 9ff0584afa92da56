namespace EQueue.Client;

/// <summary>What the reader meets at a step.</summary>
internal enum ReadStep
{
    /// <summary>A message or batch.</summary>
    Found,

    /// <summary>Nothing here now.</summary>
    Wait,

    /// <summary>A queue has an error; see <see cref="MessageReader.TroubleAsync"/>.</summary>
    Trouble,

    /// <summary>The end that was asked for.</summary>
    End,
}
