namespace EQueue.Protocol;

/// <summary>Numbers of a topic's queues on the wire: list of i32, or null for all.</summary>
internal static class QueueNumbers
{
    public static int[]? Read(ref PayloadReader reader)
    {
        if (reader.ReadNullableCount(sizeof(int)) is not { } count)
            return null;
        int[] numbers = new int[count];
        for (int i = 0; i < numbers.Length; i++)
            numbers[i] = reader.ReadInt32();
        return numbers;
    }

    public static void Write(PayloadWriter writer, IReadOnlyList<int>? numbers)
    {
        if (numbers is null)
        {
            writer.WriteNull();
            return;
        }

        writer.WriteCount(numbers.Count);
        foreach (int number in numbers)
            writer.WriteInt32(number);
    }
}
