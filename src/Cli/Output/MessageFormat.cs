namespace EQueue.Cli.Output;

/// <summary>How a consumed message is printed.</summary>
internal enum MessageFormat
{
    /// <summary>The body's bytes and a line feed.</summary>
    Raw = 0,

    /// <summary>Queue, offset, key and tag before the body, for people.</summary>
    Text = 1,

    /// <summary>A JSON object with everything, the body in base64.</summary>
    Json = 2,
}
