using System.Text.Json;

namespace EQueue.Load.Roles;

/// <summary>One part of a run, in a process of its own. Commands come one at a time.</summary>
internal interface IRole : IAsyncDisposable
{
    /// <summary>Carries out one command and returns its result, which travels as JSON.</summary>
    Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken);
}
