using EQueue.Cli.Input;

namespace EQueue.Cli.Sending;

/// <summary>Sends the lines of a stream, one message each, many under way at once and in order.</summary>
internal sealed class LineSender(Producer producer, SendRequest request, SendWindow window, TimeProvider time)
{
    /// <summary>
    /// Sends until the end, the first failure, or the token; what was sent is then stored or has failed.
    /// </summary>
    /// <param name="lines">What is sent.</param>
    /// <param name="isAtLine">Whether the first line is read already.</param>
    /// <param name="cancellationToken">Ends it behind the last line that was sent.</param>
    /// <returns>Whether the token ended it before the last line.</returns>
    /// <exception cref="UsageException">A line has no key separator, or is no message as JSON; the message names
    /// it.</exception>
    public async Task<bool> RunAsync(LineReader lines, bool isAtLine, CancellationToken cancellationToken)
    {
        Pacer? pacer = request.Rate > 0 ? new Pacer(request.Rate, time) : null;
        try
        {
            bool hasLine = isAtLine || await lines.ReadAsync(cancellationToken);
            while (!window.HasFailed && hasLine)
            {
                if (pacer is not null)
                    await pacer.WaitAsync(cancellationToken);
                cancellationToken.ThrowIfCancellationRequested();
                await window.AddAsync(request.IsJson ? SendMessage(lines) : SendLine(lines));
                hasLine = await lines.ReadAsync(cancellationToken);
            }

            return false;
        }
        catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
        {
            return true;
        }
        finally
        {
            await window.CompleteAsync();
        }
    }

    private ValueTask<SendReceipt> SendMessage(LineReader lines)
    {
        var message = MessageLine.Read(lines.Current, lines.LineNumber);
        var content = new RecordContent
        {
            Key = message.Key,
            Body = message.Body,
            Tag = message.Tag,
            Properties = message.Properties,
        };
        return producer.SendAsync(request.Topic, content, CancellationToken.None);
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
