using System.Text;
using EQueue.Cli.Input;

namespace EQueue.Cli.Output;

/// <summary>Prints where sent messages are.</summary>
/// <remarks>A reader of receipts that has gone ends the receipts and not the sends.</remarks>
internal sealed class ReceiptWriter(Stream output, bool isJson)
{
    private bool _isClosed;

    public void Write(in SendReceipt receipt)
    {
        if (_isClosed)
            return;
        try
        {
            WriteOpen(receipt);
        }
        catch (OutputClosedException)
        {
            _isClosed = true;
        }
    }

    public void Flush()
    {
        if (_isClosed)
            return;
        try
        {
            output.Flush();
        }
        catch (OutputClosedException)
        {
            _isClosed = true;
        }
    }

    private void WriteOpen(in SendReceipt receipt)
    {
        string durability = DurabilityText.Of(receipt.Durability);
        string time = BodyTime.Text(receipt.StoredTime);
        if (!isJson)
        {
            output.Write(Encoding.UTF8.GetBytes(
                $"{receipt.Topic} {receipt.Queue} {receipt.Offset.Value} {time} {durability}\n"));
            return;
        }

        SendReceipt stored = receipt;
        JsonLine.Write(output, json =>
        {
            json.WriteString("topic", stored.Topic);
            json.WriteNumber("queue", stored.Queue);
            json.WriteNumber("offset", stored.Offset.Value);
            json.WriteString("storedTime", time);
            json.WriteString("durability", durability);
        });
    }
}
