namespace EQueue.Broker.Tests;

/// <summary>How many may log in at once.</summary>
public sealed class LoginPlacesTests
{
    [Theory]
    [InlineData(12, 3)]
    [InlineData(1, 1)]
    public void GivenSourcesThatTakeAllTheyMay_WhenEveryPlaceIsTaken_ThenNobodyGetsOneUntilOneIsGivenBack(
        int most, int mostOfSource)
    {
        var places = new LoginPlaces(most);
        int taken = 0;
        for (int source = 0; source < 20; source++)
        {
            int own = 0;
            while (places.TryTake($"{source}"))
                own++;
            Assert.InRange(own, 0, mostOfSource);
            taken += own;
        }

        Assert.Equal(most, taken);
        Assert.False(places.TryTake("new"));
        places.Give("0");
        Assert.True(places.TryTake("new"));
        Assert.False(places.TryTake("0"));
    }
}
