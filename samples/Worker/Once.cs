using System.Data.Common;
using EQueue.Client;

namespace Worker;

/// <summary>Effects that happen once although a message may come twice: the place of the message is stored in the same
/// transaction as the effect.</summary>
internal static class Once
{
    /// <summary>Run once when the database is set up.</summary>
    public const string Schema =
        "create table handled (topic varchar(255), queue int, place bigint, primary key (topic, queue, place))";

    /// <returns>False when the effect of this message is in the database already.</returns>
    public static async Task<bool> HandleAsync(
        DbConnection database,
        ReceivedMessage message,
        Func<DbTransaction, Task> handleAsync,
        CancellationToken cancellationToken)
    {
        await using DbTransaction transaction = await database.BeginTransactionAsync(cancellationToken);
        await using DbCommand mark = database.CreateCommand();
        mark.Transaction = transaction;
        mark.CommandText = "insert into handled (topic, queue, place) select @topic, @queue, @place "
            + "where not exists (select 1 from handled where topic = @topic and queue = @queue and place = @place)";
        Add(mark, "@topic", message.Topic);
        Add(mark, "@queue", message.Queue);
        Add(mark, "@place", message.Offset.Value);
        if (await mark.ExecuteNonQueryAsync(cancellationToken) == 0)
            return false;
        await handleAsync(transaction);
        await transaction.CommitAsync(cancellationToken);
        return true;
    }

    private static void Add(DbCommand command, string name, object value)
    {
        DbParameter parameter = command.CreateParameter();
        (parameter.ParameterName, parameter.Value) = (name, value);
        command.Parameters.Add(parameter);
    }
}
