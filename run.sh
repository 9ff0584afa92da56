#!/usr/bin/env bash
# Builds what the server needs, then becomes the server. Arguments go to the server: ./run.sh --data /var/lib/equeue
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

command -v dotnet >/dev/null || { echo "run.sh: the .NET 10 SDK is needed (dotnet was not found)" >&2; exit 1; }

# Standard output belongs to the server's ready line.
dotnet build "$root/src/Server" --configuration Release --verbosity quiet \
    -consoleLoggerParameters:NoSummary -nologo >&2
exec dotnet "$root/artifacts/bin/Server/release/EQueue.Server.dll" "$@"
