using System.Reflection;
using EQueue.Protocol;

namespace EQueue.Packages.Tests;

/// <summary>The types that a program meets which uses others: those that their public members mention, and what the
/// members of these mention, and so on. What belongs to the wire (the members of <see cref="IPayload{T}"/>) is no
/// business of programs and is not followed.</summary>
internal sealed class ProgramSurface
{
    private const BindingFlags Declared = BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance
        | BindingFlags.Static | BindingFlags.DeclaredOnly;

    private readonly Dictionary<Type, string> _reasons = [];
    private readonly Queue<Type> _next = new();

    private ProgramSurface()
    {
    }

    /// <summary>Follows types.</summary>
    /// <returns>Each type of ours with the member that led to it, and foreign ones by which nothing is
    /// followed.</returns>
    public static IReadOnlyDictionary<Type, string> Of(IEnumerable<Type> types)
    {
        var surface = new ProgramSurface();
        foreach (Type type in types)
            surface.Add(type, "asked for");
        while (surface._next.TryDequeue(out Type? type))
            surface.Follow(type);
        return surface._reasons;
    }

    private static bool IsOurs(Type type) =>
        type.Assembly.GetName().Name!.StartsWith("EQueue.", StringComparison.Ordinal);

    private static bool IsSeen(MethodBase method) => method.IsPublic || method.IsFamily || method.IsFamilyOrAssembly;

    private static bool IsOfTheWire(Type type) =>
        type.IsGenericType && type.GetGenericTypeDefinition() == typeof(IPayload<>);

    private void Follow(Type type)
    {
        if (!IsOurs(type))
            return;
        Add(type.BaseType, $"base of {type.Name}");
        Add(type.DeclaringType, $"around {type.Name}");
        foreach (Type one in type.GetNestedTypes())
            Add(one, $"within {type.Name}");
        Type[] interfaces = type.GetInterfaces();
        foreach (Type one in interfaces.Where(static one => one.IsVisible && !IsOfTheWire(one)))
            Add(one, $"interface of {type.Name}");
        HashSet<MethodInfo> wire = type.IsInterface ? [] :
            [.. interfaces.Where(IsOfTheWire).SelectMany(one => type.GetInterfaceMap(one).TargetMethods)];
        foreach (MethodInfo method in type.GetMethods(Declared).Where(IsSeen).Where(one => !wire.Contains(one)))
        {
            Add(method.ReturnType, $"{type.Name}.{method.Name}");
            AddParameters(method);
        }

        foreach (ConstructorInfo constructor in type.GetConstructors(Declared).Where(IsSeen))
            AddParameters(constructor);
        foreach (FieldInfo field in type.GetFields(Declared)
            .Where(static one => one.IsPublic || one.IsFamily || one.IsFamilyOrAssembly))
        {
            Add(field.FieldType, $"{type.Name}.{field.Name}");
        }
    }

    private void AddParameters(MethodBase method)
    {
        foreach (ParameterInfo parameter in method.GetParameters())
            Add(parameter.ParameterType, $"{method.DeclaringType!.Name}.{method.Name}");
    }

    private void Add(Type? type, string reason)
    {
        if (type is null || type.IsGenericParameter)
            return;
        if (type.HasElementType)
        {
            Add(type.GetElementType(), reason);
            return;
        }

        foreach (Type argument in type.GenericTypeArguments)
            Add(argument, reason);
        Type definition = type.IsGenericType ? type.GetGenericTypeDefinition() : type;
        if (_reasons.TryAdd(definition, reason))
            _next.Enqueue(definition);
    }
}
