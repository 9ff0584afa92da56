using System.Runtime.CompilerServices;

namespace EQueue.Client;

/// <summary>
/// An <c>await foreach</c> over a stream: steps that find something at hand complete at once and allocate nothing.
/// </summary>
/// <param name="stream">What is read.</param>
/// <param name="owner">The type of what the application reads.</param>
/// <param name="inBatches">By batches rather than messages.</param>
/// <param name="start">Makes the stream ready: joins the group.</param>
/// <param name="cancellationToken">Ends the enumeration.</param>
internal sealed class MessageEnumeration(
    MessageStream stream,
    Type owner,
    bool inBatches,
    Func<CancellationToken, ValueTask> start,
    CancellationToken cancellationToken)
    : IAsyncEnumerable<ReceivedMessage>, IAsyncEnumerable<ReceivedBatch>
{
    IAsyncEnumerator<ReceivedMessage> IAsyncEnumerable<ReceivedMessage>.GetAsyncEnumerator(CancellationToken token) =>
        new Enumerator(stream, owner, inBatches, start, cancellationToken, token);

    IAsyncEnumerator<ReceivedBatch> IAsyncEnumerable<ReceivedBatch>.GetAsyncEnumerator(CancellationToken token) =>
        new Enumerator(stream, owner, inBatches, start, cancellationToken, token);

    private sealed class Enumerator : IAsyncEnumerator<ReceivedMessage>, IAsyncEnumerator<ReceivedBatch>
    {
        private readonly MessageStream _stream;
        private readonly bool _inBatches;
        private readonly Func<CancellationToken, ValueTask> _start;
        private readonly CancellationTokenSource? _linked;
        private readonly CancellationToken _first;
        private readonly CancellationToken _second;
        private readonly CancellationToken _token;
        private readonly Type _owner;
        private bool _isReading;

        public Enumerator(
            MessageStream stream,
            Type owner,
            bool inBatches,
            Func<CancellationToken, ValueTask> start,
            CancellationToken first,
            CancellationToken second)
        {
            _stream = stream;
            _owner = owner;
            _first = first;
            _second = second;
            _inBatches = inBatches;
            _start = start;
            if (first.CanBeCanceled && second.CanBeCanceled && first != second)
                _linked = CancellationTokenSource.CreateLinkedTokenSource(first, second);
            _token = _linked?.Token ?? (first.CanBeCanceled ? first : second);
        }

        ReceivedMessage IAsyncEnumerator<ReceivedMessage>.Current => _stream.Reader.CurrentMessage;

        ReceivedBatch IAsyncEnumerator<ReceivedBatch>.Current => _stream.Reader.CurrentBatch;

        public ValueTask<bool> MoveNextAsync()
        {
            if (!_isReading)
                return StartAsync();
            if (_token.IsCancellationRequested)
            {
                // The application is through with what it has: asked to stop, it gets no other, but this one counts.
                _stream.Reader.Pass();
                return ValueTask.FromCanceled<bool>(CallerToken);
            }

            ReadStep step = Next();
            return step == ReadStep.Found ? new ValueTask<bool>(true) : MoveNextSlowAsync(step);
        }

        public ValueTask DisposeAsync()
        {
            if (_isReading)
            {
                _isReading = false;
                _stream.Reader.End();
            }

            _linked?.Dispose();
            return ValueTask.CompletedTask;
        }

        private ReadStep Next() => _inBatches ? _stream.Reader.NextBatch() : _stream.Reader.NextMessage();

        /// <summary>Of the two the one that was cancelled.</summary>
        private CancellationToken CallerToken =>
            _linked is null ? _token : _first.IsCancellationRequested ? _first : _second;

        private async ValueTask<bool> StartAsync()
        {
            CallerToken.ThrowIfCancellationRequested();
            try
            {
                await _start(_token).ConfigureAwait(false);
            }
            catch (Exception exception) when (PublicCall.Translate(exception, _owner, CallerToken) is { } told)
            {
                throw told;
            }

            _stream.Reader.Begin(_inBatches);
            _isReading = true;
            return await MoveNextSlowAsync(Next()).ConfigureAwait(false);
        }

        [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
        private async ValueTask<bool> MoveNextSlowAsync(ReadStep step)
        {
            try
            {
                while (true)
                {
                    switch (step)
                    {
                        case ReadStep.Found:
                            return true;
                        case ReadStep.End:
                            return false;
                        case ReadStep.Trouble:
                            await _stream.Reader.TroubleAsync(_token).ConfigureAwait(false);
                            break;
                        default:
                            _token.ThrowIfCancellationRequested();
                            await _stream.WaitAsync(_token).ConfigureAwait(false);
                            _token.ThrowIfCancellationRequested();
                            break;
                    }

                    step = Next();
                }
            }
            catch (Exception exception) when (PublicCall.Translate(exception, _owner, CallerToken) is { } told)
            {
                throw told;
            }
        }
    }
}
