using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>How far a commit log has come. Begin &lt;= Durable &lt;= Written &lt;= Staged; Visible is one of the
/// middle two.</summary>
/// <param name="Begin">The first position that the log still holds.</param>
/// <param name="Staged">Up to here entries have their place; they are in memory.</param>
/// <param name="Written">Up to here entries are handed to the system.</param>
/// <param name="Durable">Up to here fdatasync has returned.</param>
/// <param name="Visible">Up to here readers may see: Durable with sync flush, Written with async.</param>
public readonly record struct LogWatermarks(
    LogPosition Begin, LogPosition Staged, LogPosition Written, LogPosition Durable, LogPosition Visible);
