namespace EQueue.Client;

/// <summary>Names and values of attributes, after OpenTelemetry's conventions for messaging.</summary>
internal static class TelemetryTags
{
    public const string System = "messaging.system";
    public const string SystemValue = "equeue";
    public const string Topic = "messaging.destination.name";
    public const string Queue = "messaging.destination.partition.id";
    public const string Group = "messaging.consumer.group.name";
    public const string Operation = "messaging.operation.name";
    public const string OperationType = "messaging.operation.type";
    public const string MessageCount = "messaging.batch.message_count";
    public const string Host = "server.address";
    public const string Port = "server.port";
    public const string Error = "error.type";
    public const string Attempts = "equeue.attempts";
}
