#!/usr/bin/env bash
# Installs what the tests need, builds with warnings as errors, checks the format and runs every test project.
# Prints the seconds of each project; the last line is "N passed, N failed, N skipped". ./test.sh Tidy Cli runs those alone.
# ./test.sh --long runs what takes long as well, and random tests at length.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
results="$root/artifacts/test-results"

die() { echo "test.sh: $*" >&2; exit 1; }

# Debian packages that tests read: a dictionary, a book in UTF-8, independent implementations of the record batch, of
# the metrics page and of SCRAM, a shell that is to complete lines, a wrong clock, the etcd of a cluster with its tool.
packages=(wamerican debian-reference-fr python3-kafka python3-prometheus-client libauthen-scram-perl zsh faketime
    etcd-server etcd-client)

missing_packages() {
    for package in "${packages[@]}"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || echo "$package"
    done
}

install_packages() {
    command -v apt-get >/dev/null || { echo "test.sh: no apt-get; needed: ${packages[*]}" >&2; return; }
    local missing as_root=()
    mapfile -t missing < <(missing_packages)
    [ "${#missing[@]}" -gt 0 ] || return 0
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    echo "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    { "${as_root[@]}" apt-get update && "${as_root[@]}" apt-get install --yes --no-install-recommends "${missing[@]}"; } \
        > "$results/apt.log" 2>&1 || { cat "$results/apt.log" >&2; die "could not install ${missing[*]}"; }
}

# counter TRX NAME: the value of one attribute of the <Counters> element, 0 when it is not there.
counter() {
    { grep -o '<Counters [^>]*>' "$1" | grep -o " $2=\"[0-9]*\"" | grep -o '[0-9]*' || echo 0; } | head -n 1
}

# timed NAME COMMAND...: runs the command and says how long it took.
timed() {
    local name=$1 start=$SECONDS code=0
    shift
    "$@" || code=$?
    printf '%-28s %4d s\n' "$name" $((SECONDS - start))
    return "$code"
}

# Tests that take long are left out unless asked for.
choice=(--filter-not-trait Run=Long)
if [ "${1-}" = --long ]; then
    choice=()
    export EQUEUE_LONG=1
    shift
fi

command -v dotnet >/dev/null || die "the .NET 10 SDK is needed (dotnet was not found)"
rm -rf "$results"
mkdir -p "$results"
cd "$root"

mapfile -t projects < <(find tests -mindepth 2 -maxdepth 2 -name '*.Tests.csproj' -printf '%f\n' | sed 's/\.csproj$//' | sort)
[ "${#projects[@]}" -gt 0 ] || die "no test project found"
if [ "$#" -gt 0 ]; then
    projects=("${@/%/.Tests}")
fi

timed packages install_packages
timed restore dotnet restore EQueue.sln --verbosity quiet
# One compiler for all projects, also where machines ask for one each so that none is left over: it is told to end.
trap 'dotnet build-server shutdown --vbcscompiler > /dev/null 2>&1 || true' EXIT
timed build dotnet build EQueue.sln --no-restore --configuration Release --verbosity quiet -nologo \
    -consoleLoggerParameters:NoSummary -warnaserror -property:UseSharedCompilation=true
dotnet build-server shutdown --vbcscompiler > /dev/null
trap - EXIT
timed programs ./build.sh
# Style and analyzers are the build's, which takes warnings for errors.
timed format dotnet format whitespace EQueue.sln --verify-no-changes --no-restore

failed_runs=()
passed=0 failed=0 skipped=0

# run_tests PROJECT NAME OPTION...: runs a project's tests and counts them; what is told and kept bears the name.
run_tests() {
    local project=$1 name=$2
    shift 2
    local log="$results/$name.log" trx="$results/$name.trx"
    timed "$name" "artifacts/bin/$project/release/EQueue.$project" --results-directory "$results" \
        --report-xunit-trx --report-xunit-trx-filename "$name.trx" --no-progress --no-ansi "${choice[@]}" "$@" \
        > "$log" 2>&1 \
        || { failed_runs+=("$name"); cat "$log"; }
    tail -n 1 "$log"
    if [ ! -s "$trx" ]; then
        echo "$name left no result file"
        failed_runs+=("$name")
        return
    fi
    if [ "$(counter "$trx" total)" -eq 0 ]; then
        echo "$name ran no test"
        failed_runs+=("$name")
    fi
    passed=$((passed + $(counter "$trx" passed)))
    failed=$((failed + $(counter "$trx" failed) + $(counter "$trx" error) + $(counter "$trx" timeout)))
    skipped=$((skipped + $(counter "$trx" notExecuted)))
}

for project in "${projects[@]}"; do
    # Tests that wait for programs, disks and time-outs most of the time.
    threads=()
    case "$project" in
        System.Tests|Cluster.Tests|Broker.Tests) threads=(--max-threads 3) ;;
        Cli.Tests|Client.Tests|MessageStore.Tests|Remoting.Tests|Server.Tests) threads=(--max-threads 4) ;;
    esac
    run_tests "$project" "$project" "${threads[@]}"
    # Once more with the sockets of systems that have no epoll.
    [ "$project" != Remoting.Tests ] || EQUEUE_TEST_SYSTEM_SOCKETS=1 \
        run_tests "$project" Remoting.SystemSockets "${threads[@]}" --filter-not-class '*.PolledSocketTests' '*.AfterReceiveTests'
done

echo "whole run                    $(printf '%4d' "$SECONDS") s"
code=0
if [ "${#failed_runs[@]}" -gt 0 ]; then
    echo "failed: ${failed_runs[*]}"
    code=1
fi
[ "$failed" -eq 0 ] || code=1
# A runner that broke before its tests counted nothing: never let that read as a pass.
[ "$code" -eq 0 ] || [ "$failed" -gt 0 ] || failed=${#failed_runs[@]}
echo "$passed passed, $failed failed, $skipped skipped"
exit "$code"
