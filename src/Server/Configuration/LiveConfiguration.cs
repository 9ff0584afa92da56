namespace EQueue.Server.Configuration;

/// <summary>The configuration that is in force: replaced as a whole, and only by one that was found good.</summary>
/// <remarks>Listeners to its reloads, as the log's levels are, hear of each replacement.</remarks>
internal sealed class LiveConfiguration : ConfigurationProvider, IConfigurationSource
{
    public LiveConfiguration(IConfiguration configuration)
    {
        Take(configuration);
        Root = new ConfigurationBuilder().Add(this).Build();
    }

    public IConfigurationRoot Root { get; }

    public void Replace(IConfiguration configuration)
    {
        Take(configuration);
        OnReload();
    }

    public IConfigurationProvider Build(IConfigurationBuilder builder) => this;

    private void Take(IConfiguration configuration) =>
        Data = configuration.AsEnumerable().ToDictionary(StringComparer.OrdinalIgnoreCase);
}
