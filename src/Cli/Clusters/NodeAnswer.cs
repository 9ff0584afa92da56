using EQueue.Protocol;

namespace EQueue.Cli.Clusters;

/// <summary>What a node says when it is asked who leads.</summary>
/// <param name="Told">Its answer; null when there was none.</param>
/// <param name="Trouble">Why there was none, in a few words; null when there was one.</param>
/// <param name="IsServing">Whether it serves clients.</param>
internal sealed record NodeAnswer(WatchLeaderResponse? Told, string? Trouble, bool IsServing);
