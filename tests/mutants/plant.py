#!/usr/bin/env python3
"""Plants the defects of defects.txt in a copy of the last commit, one at a time, and shows which test turns red.

usage: tests/mutants/plant.py [--check | --list] [--pairs] [NAME...]     without names: all

--check  only looks whether the text of each defect is found once; builds and runs nothing
--list   prints a line for each defect
--pairs  plants each two of the named defects together: two rules can hide each other

Exit code: 0 when each defect was found by a test, 1 when one was not, 2 for wrong arguments.
"""
import argparse
import itertools
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEST_SECONDS = 600


class Defect:
    def __init__(self, lines):
        self.name = lines[0].strip()
        self.find, self.replace, fields = [], [], {}
        for line in lines[1:]:
            if line[:1] in "-+":
                (self.find if line[0] == "-" else self.replace).append(line[2:].rstrip())
                continue
            key, _, value = line.partition(":")
            fields[key] = value.strip()
        try:
            self.what, self.file = fields["what"], fields["file"]
            self.project, *self.classes = fields["test"].split()
        except (KeyError, ValueError):
            sys.exit(f"plant.py: the block '{self.name}' needs what:, test: and file:")
        if not self.find:
            sys.exit(f"plant.py: the block '{self.name}' has no line to be found")

    def places(self, tree):
        """The file and line of each occurrence: in the named file, else anywhere below src/."""
        named = tree / self.file
        found = list(self._places_in(named)) if named.is_file() else []
        if not found:
            for path in sorted((tree / "src").rglob("*.cs")):
                found += self._places_in(path)
        return found

    def _places_in(self, path):
        wanted = [line.strip() for line in self.find]
        lines = [line.strip() for line in path.read_text(encoding="utf-8-sig").split("\n")]
        for at in range(len(lines) - len(wanted) + 1):
            if lines[at] == wanted[0] and lines[at : at + len(wanted)] == wanted:
                yield path, at

    def plant(self, tree):
        """Writes the defect into the tree; says why it cannot, or nothing."""
        places = self.places(tree)
        if len(places) != 1:
            return "NOT FOUND" if not places else f"FOUND {len(places)} TIMES"
        path, at = places[0]
        lines = path.read_text(encoding="utf-8-sig").split("\n")
        first = lines[at]
        indent = first[: len(first) - len(first.lstrip())]
        quoted = self.find[0][: len(self.find[0]) - len(self.find[0].lstrip())]
        indent = indent[: len(indent) - len(quoted)] if indent.endswith(quoted) else indent
        lines[at : at + len(self.find)] = [indent + line if line else "" for line in self.replace]
        path.write_text("\n".join(lines), encoding="utf-8")
        return None

    def filters(self):
        # Of two kinds of filters a test would have to fit both: a class is told by its methods where there are others.
        by_method = any("." in name for name in self.classes)
        for name in self.classes:
            yield "--filter-method" if by_method else "--filter-class"
            yield "*." + name + (".*" if by_method and "." not in name else "")


def read_defects():
    text = (ROOT / "tests/mutants/defects.txt").read_text(encoding="utf-8")
    # A block begins with its name, the line before "what:"; merges may take the empty lines between blocks away.
    blocks = re.split(r"^(?=[a-z0-9-]+\nwhat:)", text, flags=re.MULTILINE)
    defects = {}
    for block in blocks:
        lines = [line for line in block.split("\n") if line and not line.startswith("#")]
        if not lines:
            continue
        defect = Defect(lines)
        if defect.name in defects:
            sys.exit(f"plant.py: two blocks are named '{defect.name}'")
        defects[defect.name] = defect
    return defects


def run(command, tree, log, seconds):
    with open(log, "a", encoding="utf-8") as output:
        try:
            return subprocess.run(command, cwd=tree, stdout=output, stderr=subprocess.STDOUT, timeout=seconds, check=False).returncode
        except subprocess.TimeoutExpired:
            return None


def verdict(defect, tree, log):
    """The tests that turned red, or in capitals why none could."""
    build = ["dotnet", "build", f"tests/{defect.project}", "-c", "Release", "-v", "q", "-clp:ErrorsOnly", "-nologo",
             "-p:RunAnalyzers=false", "-p:UseSharedCompilation=true"]
    if run(build, tree, log, 1200) != 0:
        return "DOES NOT BUILD"
    program = tree / f"artifacts/bin/{defect.project}/release/EQueue.{defect.project}"
    code = run([program, "--no-ansi", "--no-progress", *defect.filters()], tree, log, TEST_SECONDS)
    if code == 0:
        return "SURVIVED"
    if code in (5, 8):
        return "NOT RUN"
    if code != 2:
        return "hangs" if code is None else f"the run broke off with code {code}"
    failed = re.findall(r"^failed [\w.]*?(\w+\.\w+)(?![\w.])", pathlib.Path(log).read_text(encoding="utf-8"), re.MULTILINE)
    return " ".join(sorted(set(failed))[:3]) or "SURVIVED"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    defects = read_defects()
    unknown = [name for name in arguments.names if name not in defects]
    if unknown:
        print(f"plant.py: there is no defect {', '.join(unknown)}", file=sys.stderr)
        return 2
    chosen = [defects[name] for name in arguments.names] or list(defects.values())
    if arguments.list:
        for defect in chosen:
            print(f"{defect.name}: {defect.what}")
        return 0
    if arguments.check:
        lost = [(defect.name, len(defect.places(ROOT))) for defect in chosen]
        for name, count in lost:
            if count != 1:
                print(f"{name}: its text is found {count} times")
        return int(any(count != 1 for _, count in lost))

    missed = 0
    groups = list(itertools.combinations(chosen, 2)) if arguments.pairs else [(defect,) for defect in chosen]
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        tree = pathlib.Path(folder) / "tree"
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "--quiet", "--detach", tree, "HEAD"], check=True)
        try:
            for group in groups:
                name = " + ".join(defect.name for defect in group)
                result = next((f"{defect.name}: {problem}" for defect in group if (problem := defect.plant(tree))), None)
                for number, defect in enumerate(group if result is None else ()):
                    result = verdict(defect, tree, pathlib.Path(folder) / f"{name.replace(' ', '')}-{number}.log")
                    if not result.isupper():
                        break
                missed += result.isupper() or result.endswith(("FOUND", "TIMES"))
                print(f"{name}: {result}", flush=True)
                subprocess.run(["git", "-C", tree, "checkout", "--quiet", "--", "."], check=True)
        finally:
            subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", tree], check=False)
    if missed:
        print(f"{missed} without a red test")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
