using EQueue.Cli.Input;
using EQueue.Client;
using EQueue.Protocol;

namespace EQueue.Cli.Sending;

/// <summary>Sends the lines of a stream, one message each, many under way at once and in order.</summary>
internal sealed class LineSender(Producer producer, SendRequest request, SendWindow window, TimeProvider time)
{
    /// <summary>Longer than any broker's limit.</summary>
    private const int MaxLineBytes = 256 << 20;

    /// <summary>
    /// Sends until the end, the first failure, or the token; what was sent is then stored or has failed.
    /// </summary>
    /// <exception cref="UsageException">A line has no key separator; the message names it.</exception>
    public async Task RunAsync(Stream input, CancellationToken cancellationToken)
    {
        var lines = new LineReader(input, MaxLineBytes);
        Pacer? pacer = request.Rate > 0 ? new Pacer(request.Rate, time) : null;
        try
        {
            while (!window.HasFailed && await lines.ReadAsync(cancellationToken))
            {
                if (pacer is not null) await pacer.WaitAsync(cancellationToken);
                await window.AddAsync(SendLine(lines));
            }
        }
        finally
        {
            await window.CompleteAsync();
        }
    }

    private ValueTask<SendReceipt> SendLine(LineReader lines)
    {
        ReadOnlySpan<byte> body = lines.Current.Span;
        OptionalBytes key = request.Key;
        if (request.KeySeparator is { } separator)
        {
            int at = body.IndexOf(separator);
            if (at < 0)
            {
                throw new UsageException(
                    $"Line {lines.LineNumber} has no key separator; the {lines.LineNumber - 1} lines before it "
                    + "were sent.");
            }

            key = body[..at];
            body = body[(at + separator.Length)..];
        }

        var content = new RecordContent
        {
            Key = key,
            Body = body,
            Tag = request.Tag,
            Properties = request.Properties,
        };
        // Not cancellable: a message that has left is either stored or failed, never unknown.
        return producer.SendAsync(request.Topic, content, CancellationToken.None);
    }
}
