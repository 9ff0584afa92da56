# Builds what the server needs, then runs it in this console. Arguments go to the server: ./run.ps1 --data C:\equeue
$ErrorActionPreference = 'Stop'
$root = $PSScriptRoot
$server = Join-Path $root 'artifacts/bin/Server/release/EQueue.Server.dll'
$clock = [Diagnostics.Stopwatch]::StartNew()
# Standard output belongs to the server's ready line.
function Say($text) { [Console]::Error.WriteLine("run.ps1: $text") }

if (Test-Path $server) {
    Say 'building what has changed'
    $verbosity = 'quiet'
} else {
    Say 'first start: fetching packages and building the server; this takes some minutes, later starts take seconds'
    $verbosity = 'minimal' # names each project as it is done
}
dotnet build (Join-Path $root 'src/Server') --configuration Release --verbosity $verbosity -nologo |
    ForEach-Object { [Console]::Error.WriteLine($_) }
if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
Say "built in $([int]$clock.Elapsed.TotalSeconds) s; starting the server"
& dotnet $server @args
exit $LASTEXITCODE
