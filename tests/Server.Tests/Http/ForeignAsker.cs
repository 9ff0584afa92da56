using System.Diagnostics;
using System.Net;
using System.Text.Json;
using System.Text.Json.Nodes;

namespace EQueue.Server.Tests.Http;

/// <summary>A process of another user that asks the admin port.</summary>
internal static class ForeignAsker
{
    public const uint User = 65534;

    /// <summary>Reads requests as JSON, one a line, and writes their answers so: all over one connection, if it
    /// lasts.</summary>
    private const string Script = """
        import http.client, json, sys
        port = int(sys.argv[1])
        peer = None
        for line in sys.stdin:
            asked = json.loads(line)
            if peer is None: peer = http.client.HTTPConnection('127.0.0.1', port, timeout=60)
            headers = dict(asked['headers'])
            if asked['body'] is not None: headers['Content-Type'] = 'application/json'
            peer.request(asked['method'], asked['path'], asked['body'], headers)
            answer = peer.getresponse()
            is_stream = answer.status == 200 and 'event-stream' in (answer.getheader('Content-Type') or '')
            text = answer.fp.readline().decode() if is_stream else answer.read().decode()
            told = {'status': answer.status, 'text': text, 'headers': dict(answer.getheaders())}
            if is_stream or answer.will_close:
                peer.close()
                peer = None
            print(json.dumps(told), flush=True)
        """;

    /// <summary>Asks one after the other.</summary>
    public static async Task<Answer[]> AskAsync(IPEndPoint server, params Question[] questions)
    {
        Assert.SkipUnless(
            OperatingSystem.IsLinux() && Environment.IsPrivilegedProcess,
            "Only root starts a process of another user, and only Linux tells users of sockets.");
        string python = File.Exists("/usr/bin/python3") ? "/usr/bin/python3" : "python3";
        var start = new ProcessStartInfo(
            "setpriv",
            [
                $"--reuid={User}", $"--regid={User}", "--clear-groups", python, "-c", Script,
                $"{server.Port}",
            ])
        {
            UseShellExecute = false,
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            WorkingDirectory = "/",
        };
        using Process process = Process.Start(start)!;
        try
        {
            var answers = new List<Answer>();
            foreach (Question question in questions)
            {
                await process.StandardInput.WriteLineAsync(JsonSerializer.Serialize(new
                {
                    method = question.Method,
                    path = question.Path,
                    body = question.Body,
                    headers = question.Headers ?? [],
                }));
                await process.StandardInput.FlushAsync(TestContext.Current.CancellationToken);
                string? line = await process.StandardOutput.ReadLineAsync().WaitAsync(TimeSpan.FromSeconds(60));
                JsonNode told = JsonNode.Parse(Assert.IsType<string>(line))!;
                answers.Add(new Answer(
                    (HttpStatusCode)(int)told["status"]!,
                    (string)told["text"]!,
                    told["headers"]!.AsObject().ToDictionary(
                        static one => one.Key, static one => (string)one.Value!, StringComparer.OrdinalIgnoreCase)));
            }

            return [.. answers];
        }
        finally
        {
            if (!process.HasExited)
                process.Kill();
        }
    }

    /// <summary>What is asked.</summary>
    internal sealed record Question(
        string Method, string Path, string? Body = null, Dictionary<string, string>? Headers = null)
    {
        public static Question WithToken(string path, string token, string method = "GET", string? body = null) =>
            new(method, path, body, new() { ["Authorization"] = $"Bearer {token}" });
    }

    /// <summary>What is answered.</summary>
    internal sealed record Answer(HttpStatusCode Status, string Text, Dictionary<string, string> Headers);
}
