namespace EQueue.Client;

/// <summary>What a broker's rules would decide.</summary>
/// <param name="Principal">About whom, as rules name it.</param>
/// <param name="IsAllowed">Whether the principal may.</param>
/// <param name="Reason">Which rule decides, or why none has to, in words.</param>
public sealed record AccessDecision(string Principal, bool IsAllowed, string Reason);
