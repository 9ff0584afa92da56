using System.Text;

namespace EQueue.Cli.Output;

/// <summary>Prints explanations: sentences, or a JSON object a line.</summary>
internal static class ExplanationWriter
{
    public static void Write(Stream output, Explanation facts, bool isJson)
    {
        if (isJson)
        {
            JsonLine.WriteBody(output, ExplanationBody.Of(facts));
            return;
        }

        foreach (string sentence in ExplanationSentences.Of(facts))
            output.Write(Encoding.UTF8.GetBytes(sentence + "\n"));
    }
}
