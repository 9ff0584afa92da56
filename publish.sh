#!/usr/bin/env bash
# Makes self-contained archives of equeue-server and equeue, which need no .NET: ./publish.sh [RID]..., linux-x64 and win-x64 unless named.
# They are left in artifacts/archives: equeue-server-VERSION-RID.tar.gz, .zip for Windows.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
archives="$root/artifacts/archives"

die() { echo "publish.sh: $*" >&2; exit 1; }

command -v dotnet >/dev/null || die "the .NET 10 SDK is needed (dotnet was not found)"
[ "$#" -gt 0 ] || set -- linux-x64 win-x64
version=$(dotnet msbuild "$root/src/Server" -getProperty:Version)
mkdir -p "$archives"

for rid in "$@"; do
    name="equeue-server-$version-$rid"
    rm -rf "${archives:?}/$name"
    # Folders of their own: the work tree's builds stay as they are. Both programs share one folder and one runtime; the
    # server, whose runtime is the larger one, comes last.
    for project in Cli Server; do
        echo "publish.sh: $rid: $project" >&2
        dotnet publish "$root/src/$project" --configuration Release --runtime "$rid" --self-contained \
            --artifacts-path "$root/artifacts/publish" --output "$archives/$name" \
            -p:EmbedAllSources=false -p:GenerateDocumentationFile=false -p:RunAnalyzers=false \
            --verbosity quiet -nologo >&2 || die "$rid could not be published; are its runtime packs to be had?"
    done
    case "$rid" in
        win-*)
            printf '@"%%~dp0EQueue.Cli.exe" %%*\r\n' > "$archives/$name/equeue.cmd"
            printf '@"%%~dp0EQueue.Server.exe" %%*\r\n' > "$archives/$name/equeue-server.cmd" ;;
        *)
            ln -s EQueue.Cli "$archives/$name/equeue"
            ln -s EQueue.Server "$archives/$name/equeue-server" ;;
    esac
    cp "$root/LICENSE" "$root/README.md" "$archives/$name/"
    case "$rid" in
        win-*)
            archive="$name.zip"
            (cd "$archives" && rm -f "$archive" && python3 -m zipfile -c "$archive" "$name/") ;;
        *)
            archive="$name.tar.gz"
            tar -C "$archives" --sort=name --owner=0 --group=0 --numeric-owner -czf "$archives/$archive" "$name" ;;
    esac
    rm -rf "${archives:?}/$name"
    printf '%s %d bytes\n' "artifacts/archives/$archive" "$(wc -c < "$archives/$archive")"
done
