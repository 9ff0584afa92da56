# Makes self-contained archives of equeue-server and equeue, which need no .NET: ./publish.ps1 [RID]..., linux-x64 and win-x64 unless named.
# They are left in artifacts/archives: equeue-server-VERSION-RID.zip, .tar.gz for the others.
$ErrorActionPreference = 'Stop'
$root = $PSScriptRoot
$archives = Join-Path $root 'artifacts/archives'
$server = Join-Path $root 'src/Server'
$rids = if ($args.Count -gt 0) { $args } else { 'linux-x64', 'win-x64' }
$version = dotnet msbuild $server -getProperty:Version
New-Item $archives -ItemType Directory -Force | Out-Null

foreach ($rid in $rids) {
    $name = "equeue-server-$version-$rid"
    $folder = Join-Path $archives $name
    if (Test-Path $folder) { Remove-Item $folder -Recurse -Force }
    # Folders of their own: the work tree's builds stay as they are. Both programs share one folder and one runtime; the
    # server, whose runtime is the larger one, comes last.
    foreach ($project in 'Cli', 'Server') {
        Write-Host "publish.ps1: ${rid}: $project"
        dotnet publish (Join-Path $root "src/$project") --configuration Release --runtime $rid --self-contained `
            --artifacts-path (Join-Path $root 'artifacts/publish') --output $folder `
            -p:EmbedAllSources=false -p:GenerateDocumentationFile=false -p:RunAnalyzers=false --verbosity quiet -nologo | Out-Host
        if ($LASTEXITCODE -ne 0) { throw "$rid could not be published; are its runtime packs to be had?" }
    }
    if ($rid -like 'win-*') {
        Set-Content (Join-Path $folder 'equeue.cmd') '@"%~dp0EQueue.Cli.exe" %*'
        Set-Content (Join-Path $folder 'equeue-server.cmd') '@"%~dp0EQueue.Server.exe" %*'
    } else {
        New-Item -ItemType SymbolicLink (Join-Path $folder 'equeue') -Target 'EQueue.Cli' | Out-Null
        New-Item -ItemType SymbolicLink (Join-Path $folder 'equeue-server') -Target 'EQueue.Server' | Out-Null
    }
    Copy-Item (Join-Path $root 'LICENSE'), (Join-Path $root 'README.md') $folder
    if ($rid -like 'win-*') {
        $archive = "$name.zip"
        Compress-Archive $folder (Join-Path $archives $archive) -Force
    } else {
        $archive = "$name.tar.gz"
        tar -C $archives -czf (Join-Path $archives $archive) $name
        if ($LASTEXITCODE -ne 0) { throw "tar failed for $archive" }
    }
    Remove-Item $folder -Recurse -Force
    Write-Host "artifacts/archives/$archive $((Get-Item (Join-Path $archives $archive)).Length) bytes"
}
