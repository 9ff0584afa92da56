using System.Runtime.CompilerServices;

namespace EQueue.Client;

/// <summary>
/// The border between the client's insides and its callers: there ends that a call was cancelled or its object disposed
/// become the exceptions that .NET has for them.
/// </summary>
internal static class PublicCall
{
    /// <summary>Makes a call that gives something.</summary>
    /// <param name="owner">The type of the object whose method it is.</param>
    /// <param name="work">The call.</param>
    /// <param name="cancellationToken">The caller's.</param>
    public static async ValueTask<T> RunAsync<T>(
        Type owner, Func<ValueTask<T>> work, CancellationToken cancellationToken)
    {
        cancellationToken.ThrowIfCancellationRequested();
        try
        {
            return await work().ConfigureAwait(false);
        }
        catch (Exception exception) when (Translate(exception, owner, cancellationToken) is { } told)
        {
            throw told;
        }
    }

    /// <summary>Makes a call that gives nothing.</summary>
    /// <inheritdoc cref="RunAsync{T}(Type, Func{ValueTask{T}}, CancellationToken)"/>
    public static async ValueTask RunAsync(Type owner, Func<ValueTask> work, CancellationToken cancellationToken)
    {
        cancellationToken.ThrowIfCancellationRequested();
        try
        {
            await work().ConfigureAwait(false);
        }
        catch (Exception exception) when (Translate(exception, owner, cancellationToken) is { } told)
        {
            throw told;
        }
    }

    /// <summary>Gives a list that is asked for piece by piece.</summary>
    /// <inheritdoc cref="RunAsync{T}(Type, Func{ValueTask{T}}, CancellationToken)"/>
    public static async IAsyncEnumerable<T> RunAsync<T>(
        Type owner, IAsyncEnumerable<T> work, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        IAsyncEnumerator<T> steps = work.GetAsyncEnumerator(cancellationToken);
        await using (steps.ConfigureAwait(false))
        {
            while (await RunAsync(owner, steps.MoveNextAsync, cancellationToken).ConfigureAwait(false))
                yield return steps.Current;
        }
    }

    /// <summary>What the caller is thrown instead; null = the exception itself.</summary>
    public static Exception? Translate(Exception exception, Type owner, CancellationToken cancellationToken)
    {
        if (exception is not (OperationCanceledException or EQueueException { Code: ErrorCode.Cancelled }))
            return exception is EQueueException { Code: ErrorCode.Disposed } failure ? Disposed(failure, owner) : null;
        if (cancellationToken.IsCancellationRequested)
            return Cancelled(cancellationToken);

        // Nothing else ends a wait so than the end of the object that waits.
        return exception is OperationCanceledException { CancellationToken.IsCancellationRequested: false }
            ? null : new ObjectDisposedException(owner.Name);
    }

    /// <summary>What the caller of a send is thrown for a failure that was kept; a new object for each.</summary>
    public static Exception Anew(EQueueException failure) => failure.Code switch
    {
        ErrorCode.Disposed => Disposed(failure, typeof(Producer)),
        ErrorCode.Cancelled when failure.InnerException is OperationCanceledException cancelled =>
            Cancelled(cancelled.CancellationToken),
        _ => new EQueueException(failure.Code, failure.Message, failure) { RetryAfter = failure.RetryAfter },
    };

    private static OperationCanceledException Cancelled(CancellationToken cancellationToken) =>
        new("The caller gave up.", cancellationToken);

    private static ObjectDisposedException Disposed(EQueueException failure, Type owner) =>
        failure.InnerException is ProducerClosedException closed
            ? new ProducerClosedException(closed.MayBeStored) : new ObjectDisposedException(owner.Name);
}
