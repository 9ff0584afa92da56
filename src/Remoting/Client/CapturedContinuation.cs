using System.Diagnostics.CodeAnalysis;
using System.Threading.Tasks.Sources;

namespace EQueue.Remoting;

/// <summary>A continuation that must run where its awaiter was: in its execution context, synchronization context or
/// scheduler. For value-task sources, also those of Remoting's users.</summary>
public sealed class CapturedContinuation
{
    /// <summary>Runs the captured continuation given as state.</summary>
    public static readonly Action<object?> Run = static state => ((CapturedContinuation)state!).Dispatch();

    private readonly Action<object?> _continuation;
    private readonly object? _state;
    private readonly ExecutionContext? _execution;
    private readonly object? _scheduling;

    private CapturedContinuation(
        Action<object?> continuation, object? state, ExecutionContext? execution, object? scheduling)
    {
        _continuation = continuation;
        _state = state;
        _execution = execution;
        _scheduling = scheduling;
    }

    /// <summary>Captures what the flags ask for; null when that is nothing out of the ordinary.</summary>
    public static CapturedContinuation? TryCapture(
        Action<object?> continuation, object? state, ValueTaskSourceOnCompletedFlags flags)
    {
        ExecutionContext? execution = flags.HasFlag(ValueTaskSourceOnCompletedFlags.FlowExecutionContext)
            ? ExecutionContext.Capture()
            : null;
        object? scheduling = null;
        if (flags.HasFlag(ValueTaskSourceOnCompletedFlags.UseSchedulingContext))
        {
            SynchronizationContext? context = SynchronizationContext.Current;
            if (context is not null && context.GetType() != typeof(SynchronizationContext))
                scheduling = context;
            else if (TaskScheduler.Current != TaskScheduler.Default)
                scheduling = TaskScheduler.Current;
        }

        return execution is null && scheduling is null
            ? null
            : new CapturedContinuation(continuation, state, execution, scheduling);
    }

    [SuppressMessage("Usage", "VSTHRD001", Justification = "The awaiter asked for its context; it is not waited for.")]
    private void Dispatch()
    {
        switch (_scheduling)
        {
            case SynchronizationContext context:
                context.Post(static state => ((CapturedContinuation)state!).Invoke(), this);
                break;
            case TaskScheduler scheduler:
                _ = Task.Factory.StartNew(
                    static state => ((CapturedContinuation)state!).Invoke(),
                    this,
                    CancellationToken.None,
                    TaskCreationOptions.DenyChildAttach,
                    scheduler);
                break;
            default:
                Invoke();
                break;
        }
    }

    private void Invoke()
    {
        if (_execution is null)
            _continuation(_state);
        else
            ExecutionContext.Run(_execution, static state => ((CapturedContinuation)state!).InvokeBare(), this);
    }

    private void InvokeBare() => _continuation(_state);
}
