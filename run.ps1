# Builds what the server needs, then runs it in this console. Arguments go to the server: ./run.ps1 --data C:\equeue
$ErrorActionPreference = 'Stop'
$root = $PSScriptRoot
# Standard output belongs to the server's ready line.
dotnet build (Join-Path $root 'src/Server') --configuration Release --verbosity quiet -nologo |
    ForEach-Object { [Console]::Error.WriteLine($_) }
if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
& dotnet (Join-Path $root 'artifacts/bin/Server/release/EQueue.Server.dll') @args
exit $LASTEXITCODE
