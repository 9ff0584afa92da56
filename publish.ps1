# Makes self-contained archives of the server, which need no .NET: ./publish.ps1 [RID]..., linux-x64 and win-x64 unless named.
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
    # Folders of their own: the work tree's builds stay as they are.
    dotnet publish $server --configuration Release --runtime $rid --self-contained `
        --artifacts-path (Join-Path $root 'artifacts/publish') --output $folder `
        -p:EmbedAllSources=false -p:GenerateDocumentationFile=false -p:RunAnalyzers=false --verbosity quiet -nologo | Out-Host
    if ($LASTEXITCODE -ne 0) { throw "$rid could not be published; are its runtime packs to be had?" }
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
