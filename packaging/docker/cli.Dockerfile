# The command line: docker build -f packaging/docker/cli.Dockerfile -t equeue .   (docs/containers.md)
ARG DOTNET_VERSION=10.0

FROM mcr.microsoft.com/dotnet/sdk:${DOTNET_VERSION} AS build
WORKDIR /source
COPY Directory.Build.props Directory.Build.targets Directory.Packages.props global.json LICENSE ./
COPY packaging ./packaging
COPY src ./src
RUN dotnet publish src/Cli --configuration Release --output /out -p:RunAnalyzers=false --verbosity quiet

FROM mcr.microsoft.com/dotnet/runtime:${DOTNET_VERSION}
COPY --from=build /out /opt/equeue
COPY LICENSE /opt/equeue/LICENSE
USER app
ENTRYPOINT ["dotnet", "/opt/equeue/EQueue.Cli.dll"]
CMD ["--help"]
