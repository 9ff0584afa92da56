#!/usr/bin/env bash
# Plants each defect of this folder in a copy of the tree, one at a time, and shows which test turns red.
# usage: tests/mutants/run.sh [NAME...]     without names: all; their rows in tests/mutants/RESULT.md are written anew
# A patch starts with two lines of words: "Defect: ..." and "Test: PROJECT [runner arguments]".
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
copy=$(mktemp -d)
cleanup() { git -C "$root" worktree remove --force "$copy/tree" 2>/dev/null || true; rm -rf "$copy"; }
trap cleanup EXIT
git -C "$root" worktree add --quiet --detach "$copy/tree" HEAD
cd "$copy/tree"

survivors=0
result="$root/tests/mutants/RESULT.md"
commit=$(git rev-parse --short HEAD)
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    for patch in "$root"/tests/mutants/*.patch; do names+=("$(basename "$patch" .patch)"); done
fi
for name in "${names[@]}"; do
    patch="$root/tests/mutants/$name.patch"
    defect=$(sed -n 's/^Defect: //p' "$patch")
    read -r project arguments < <(sed -n 's/^Test: //p' "$patch")
    git apply "$patch"
    log="$copy/$name.log"
    verdict="SURVIVED"
    if ! dotnet build "tests/$project" -c Release -v q -clp:ErrorsOnly -p:RunAnalyzers=false -p:UseSharedCompilation=true >"$log" 2>&1; then
        verdict="DOES NOT BUILD"
    else
        # shellcheck disable=SC2086
        timeout 300 "artifacts/bin/$project/release/EQueue.$project" --no-ansi --no-progress $arguments >>"$log" 2>&1 && code=0 || code=$?
        case $code in
            0) ;;
            2) verdict=$(sed -n 's/^failed [A-Za-z0-9_.]*\.\([A-Za-z0-9]*\.[A-Za-z0-9_]*\).*/\1/p' "$log" | sort -u | head -3 | paste -sd' ' -) ;;
            5 | 8) verdict="NOT RUN" ;;
            *) verdict="the run broke off with code $code" ;;
        esac
    fi
    case "$verdict" in SURVIVED | "DOES NOT BUILD" | "NOT RUN" | "") survivors=$((survivors + 1)) ;; esac
    echo "$name: $verdict"
    { grep '^| [0-9]' "$result" | grep -v "^| $name |" || true; echo "| $name | $defect | ${verdict// /<br>} | $commit |"; } | sort >"$copy/rows"
    {
        echo "# Planted defects and the tests that turn red"
        echo
        echo "Written by \`tests/mutants/run.sh\`."
        echo
        echo "| patch | defect | red | at commit |"
        echo "|---|---|---|---|"
        cat "$copy/rows"
    } >"$result"
    git checkout --quiet -- .
done

[ "$survivors" -eq 0 ] || { echo "$survivors without a red test"; exit 1; }
