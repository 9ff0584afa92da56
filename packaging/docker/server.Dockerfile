# The broker: docker build -f packaging/docker/server.Dockerfile -t equeue-server .   (docs/containers.md)
ARG DOTNET_VERSION=10.0

FROM mcr.microsoft.com/dotnet/sdk:${DOTNET_VERSION} AS build
WORKDIR /source
COPY Directory.Build.props Directory.Build.targets Directory.Packages.props global.json LICENSE ./
COPY src ./src
RUN dotnet publish src/Server --configuration Release --output /out -p:RunAnalyzers=false --verbosity quiet

FROM mcr.microsoft.com/dotnet/aspnet:${DOTNET_VERSION}
COPY --from=build /out /opt/equeue
COPY LICENSE /opt/equeue/LICENSE
RUN mkdir -p /var/lib/equeue && chown app:app /var/lib/equeue
USER app
WORKDIR /var/lib/equeue
VOLUME ["/var/lib/equeue"]
# Nothing of a container is reached from outside on loopback. The server refuses these addresses until
# EQUEUE__Server__AllowUnauthenticatedRemoteAccess=true says that the network keeps strangers out, or until clients have to
# show certificates and the admin port is turned off.
ENV EQUEUE__Server__Listen=0.0.0.0:9490 \
    EQUEUE__Server__AdminListen=0.0.0.0:9491 \
    EQUEUE__Server__DataDirectory=/var/lib/equeue
EXPOSE 9490 9491
STOPSIGNAL SIGTERM
ENTRYPOINT ["dotnet", "/opt/equeue/EQueue.Server.dll"]
