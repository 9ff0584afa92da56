#!/usr/bin/env bash
# Builds what the server needs, then becomes the server. Arguments go to the server: ./run.sh --data /var/lib/equeue
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
server="$root/artifacts/bin/Server/release/EQueue.Server.dll"

# Standard output belongs to the server's ready line.
say() { echo "run.sh: $*" >&2; }

command -v dotnet >/dev/null || { say "the .NET 10 SDK is needed (dotnet was not found)"; exit 1; }

if [ -f "$server" ]; then
    say "building what has changed"
    verbosity=quiet
else
    say "first start: fetching packages and building the server; this takes some minutes, later starts take seconds"
    verbosity=minimal # names each project as it is done
fi
dotnet build "$root/src/Server" --configuration Release --verbosity "$verbosity" \
    -consoleLoggerParameters:NoSummary -nologo >&2
say "built in $SECONDS s; starting the server"
exec dotnet "$server" "$@"
