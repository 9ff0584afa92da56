using System.Net;
using System.Reflection;
using Microsoft.Extensions.Logging;

namespace EQueue.Support;

/// <summary>Writes events of a room's Log class, whatever their parameters are.</summary>
public static class LogEvent
{
    /// <summary>Writes one event.</summary>
    /// <param name="method">Of the Log class.</param>
    /// <param name="logger">Where to.</param>
    /// <param name="text">For each text among the parameters, and as the message of each exception.</param>
    public static void Write(MethodInfo method, ILogger logger, string text)
    {
        object?[] values = [.. method.GetParameters().Select(parameter => ValueOf(parameter.ParameterType, logger, text))];
        method.Invoke(null, values);
    }

    private static object? ValueOf(Type type, ILogger logger, string text)
    {
        if (type == typeof(ILogger))
            return logger;
        if (type == typeof(string))
            return text;
        if (type == typeof(Exception))
            return new InvalidOperationException(text, new InvalidOperationException(text));
        if (type == typeof(EndPoint))
            return new IPEndPoint(IPAddress.Loopback, 1);
        if (type == typeof(LogLevel))
            return LogLevel.Warning;
        return type.IsValueType ? Activator.CreateInstance(type) : null;
    }
}
