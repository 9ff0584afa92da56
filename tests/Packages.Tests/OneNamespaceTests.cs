using System.Reflection;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Packages.Tests;

/// <summary>A program that uses EQueue.Client needs one using for all that it meets (docs/decisions/0057).</summary>
public sealed class OneNamespaceTests
{
    private const string Face = "EQueue.Client";

    private static readonly IReadOnlyDictionary<Type, string> Surface =
        ProgramSurface.Of(typeof(EQueueClient).Assembly.GetExportedTypes());

    [Fact]
    public void GivenTheClient_WhenTheTypesThatItShowsAreFollowed_ThenAllAreInItsNamespace() =>
        Assert.Equal([], Elsewhere(Surface));

    [Fact]
    public void GivenTheRoomsBelow_WhenTheirTypesAreInTheClientsNamespace_ThenTheClientShowsEach() =>
        Assert.Equal([], Strays(Surface));

    [Fact]
    public void GivenATypeThatShowsAnotherRoom_WhenFollowed_ThenThatIsFound() => Assert.Contains(
        "EQueue.Protocol.FetchIsolation, by Leak.get_Isolation", Elsewhere(ProgramSurface.Of([typeof(Leak)])));

    [Fact]
    public void GivenATypeThatNothingShowsAnyMore_WhenTheRoomsAreRead_ThenItIsFound()
    {
        IReadOnlyDictionary<Type, string> less = Surface.Where(one => one.Key != typeof(TlsOptions)).ToDictionary();
        Assert.Equal([typeof(TlsOptions).FullName], Strays(less));
    }

    [Fact]
    public void GivenTheSurface_WhenFollowed_ThenItReachesWhatStandsManyStepsAway()
    {
        Type[] far = [typeof(TopicSubscription), typeof(RecordProperty), typeof(QueueKey), typeof(ReceivedBatch.Enumerator)];
        Assert.All(far, type => Assert.Contains(type, Surface.Keys));
        Assert.DoesNotContain(typeof(PayloadWriter), Surface.Keys);
    }

    /// <summary>Types of ours outside the namespace, and types that are neither ours nor .NET's.</summary>
    private static IEnumerable<string> Elsewhere(IReadOnlyDictionary<Type, string> surface) => surface
        .Where(static one => one.Key.Assembly.GetName().Name is { } assembly
            && !assembly.StartsWith("System.", StringComparison.Ordinal)
            && !assembly.StartsWith("Microsoft.Extensions.", StringComparison.Ordinal)
            && one.Key.Namespace != Face)
        .Select(static one => $"{one.Key.FullName}, by {one.Value}")
        .Order(StringComparer.Ordinal);

    /// <summary>Types of the rooms below that are in the namespace though the client does not show them.</summary>
    private static IEnumerable<string?> Strays(IReadOnlyDictionary<Type, string> surface)
    {
        Assembly[] below = [typeof(IPayload<>).Assembly, typeof(RemotingClient).Assembly];
        return below.SelectMany(static assembly => assembly.GetTypes())
            .Where(type => type is { Namespace: Face, IsNested: false } && !surface.ContainsKey(type))
            .Select(static type => type.FullName)
            .Order(StringComparer.Ordinal);
    }

    private sealed class Leak
    {
        public FetchIsolation Isolation { get; init; }
    }
}
