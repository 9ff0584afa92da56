# Builds with warnings as errors, checks the format and runs every test project; ends with "N passed, N failed, N skipped".
# Tests that need Debian's dictionary, its reference book or its Kafka client are skipped where those are not installed.
$ErrorActionPreference = 'Stop'
$root = $PSScriptRoot
$results = Join-Path $root 'artifacts/test-results'
Set-Location $root
if (Test-Path $results) { Remove-Item $results -Recurse -Force }
New-Item $results -ItemType Directory | Out-Null

function Invoke-Step([string] $name, [scriptblock] $step) {
    $watch = [Diagnostics.Stopwatch]::StartNew()
    & $step | Out-Host
    $code = $LASTEXITCODE
    Write-Host ('{0,-28} {1,4:n0} s' -f $name, $watch.Elapsed.TotalSeconds)
    return $code
}

$steps = @(
    @('restore', { dotnet restore EQueue.sln --verbosity quiet }),
    @('build', { dotnet build EQueue.sln --no-restore --configuration Release --verbosity quiet -nologo -warnaserror }),
    @('format', { dotnet format whitespace EQueue.sln --verify-no-changes --no-restore }))
foreach ($step in $steps) {
    if ((Invoke-Step $step[0] $step[1]) -ne 0) { Write-Host "failed: $($step[0])"; exit 1 }
}

$passed = 0; $failed = 0; $skipped = 0; $broken = @()
$projects = Get-ChildItem tests -Directory | Where-Object Name -Like '*.Tests' | ForEach-Object Name | Sort-Object
foreach ($project in $projects) {
    $trx = Join-Path $results "$project.trx"
    $code = Invoke-Step $project {
        dotnet "artifacts/bin/$project/release/EQueue.$project.dll" --results-directory $results --report-xunit-trx `
            --report-xunit-trx-filename "$project.trx" --no-progress --no-ansi --filter-not-trait Run=Long
    }
    if ($code -ne 0) { $broken += $project }
    if (-not (Test-Path $trx)) { Write-Host "$project left no result file"; $broken += $project; continue }
    $counters = ([xml](Get-Content $trx -Raw)).TestRun.ResultSummary.Counters
    $passed += [int]$counters.passed
    $failed += [int]$counters.failed
    $skipped += [int]$counters.notExecuted
}

if ($broken.Count -gt 0) { Write-Host "failed: $broken"; if ($failed -eq 0) { $failed = $broken.Count } }
Write-Host "$passed passed, $failed failed, $skipped skipped"
if ($broken.Count -gt 0 -or $failed -gt 0) { exit 1 }
exit 0
