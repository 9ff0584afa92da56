#!/usr/bin/env bash
# Builds the programs in Release and leaves launchers in out/: equeue-server, equeue, equeue-load.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

command -v dotnet >/dev/null || { echo "build.sh: the .NET 10 SDK is needed (dotnet was not found)" >&2; exit 1; }

# launcher NAME PROJECT: a script that becomes its program, so that the pid is the program's own.
launcher() {
    cat > "$root/out/$1" <<SCRIPT
#!/bin/sh
root=\$(CDPATH= cd -- "\$(dirname -- "\$(readlink -f -- "\$0")")/.." && pwd)
exec dotnet "\$root/artifacts/bin/$2/release/EQueue.$2.dll" "\$@"
SCRIPT
    chmod +x "$root/out/$1"
}

mkdir -p "$root/out"
# The load program starts the other two, so they are built with it.
dotnet build "$root/perf/Load" --configuration Release --verbosity quiet -consoleLoggerParameters:NoSummary -nologo
launcher equeue-server Server
launcher equeue Cli
launcher equeue-load Load
echo "out/equeue-server out/equeue out/equeue-load"
