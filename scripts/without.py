#!/usr/bin/env python3
"""Shows that a part of the house goes by deleting its folder.

    scripts/without.py core            # everything goes but the core
    scripts/without.py many audit      # these extensions go, and those that stand on them

In a copy of the tree it deletes the folders, the lines of manifests that name them, their commands in src/cli and the
lines of those in src/cli/mod.rs, groups.rs and operation.rs. Then it checks that what is left compiles; of the core its tests, too, and
it judges the README's product with the core's own program (src/check/examples/judge.rs). Nothing in the tree changes.

CARGO_TARGET_DIR says where it builds; by default target/without.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORE = ["src/check", "src/emu", "src/io", "src/report", "crates/common", "crates/num", "crates/tensor"]
PAPER = ROOT / "tests/fixtures/papers/ampere-mma-fp16-f32"


def dependencies(manifest):
    """The crates of this tree that a package needs to run."""
    _, _, rest = manifest.read_text().partition("\n[dependencies]\n")
    return re.findall(r"^tcverify-(\w+) = ", rest.partition("\n[")[0], re.M)


def with_dependants(names):
    """These extensions, and all that stand on them."""
    manifests = {path.parent.name: path for path in ROOT.glob("crates/*/Cargo.toml")}
    unknown = [name for name in names if name not in manifests]
    if unknown:
        sys.exit(f"no extension is called {unknown[0]}: {' '.join(sorted(manifests))}")
    gone = set(names)
    while more := {name for name, path in manifests.items() if gone & set(dependencies(path))} - gone:
        gone |= more
    return gone


def modules_of(library, name):
    """The names under which the library hands on a crate."""
    found = re.search(rf"^pub use tcverify_{name}::(.*);$", library, re.M)
    return [part.split(" ")[-1] for part in found[1].strip("{}").split(", ")] if found else []


def edit(path, change):
    path.write_text(change(path.read_text()))


def without_lines(text, *patterns):
    kept = [line for line in text.splitlines(True) if not any(re.search(pattern, line) for pattern in patterns)]
    return "".join(kept)


def without_commands(cli, modules):
    """Deletes the commands that need modules of the library, and those that stand on them; their names."""
    files = {path.stem: path for path in sorted(cli.glob("*.rs"))}
    files.pop("mod")
    verbs = files.pop("operation")
    gone = []
    needed = rf"\bcrate::({'|'.join(modules)})\b"
    while more := [name for name, path in files.items() if re.search(needed, path.read_text())]:
        for name in more:
            files.pop(name).unlink()
        gone += more
        needed = rf"\bsuper::({'|'.join(gone)})\b"
    if gone:
        names = "|".join(gone)
        # A command has a line with its type, and the line before it may be an attribute.
        variant = re.compile(rf"(^ +#\[command\(subcommand\)\]\n)?^ +\w+\((Box<)?({names})::.*\n", re.M)
        chooser = re.compile(rf"&({names})::\w+")
        edit(cli / "mod.rs", lambda text: chooser.sub("", without_lines(variant.sub("", text), rf"^mod ({names});")))
        edit(cli / "groups.rs", lambda text: without_lines(text, rf'^ +\("({names})", '))
        # What is said of a verb stands between the one before and its type.
        verb = re.compile(rf"(?<=\n)(?:(?! {{8}}\w+\(| +pub enum ).*\n)* {{8}}\w+\((Box<)?({names})::.*\n")
        imported = re.compile(rf"(?<=[{{ ])({names}), ")
        edit(verbs, lambda text: imported.sub("", verb.sub("", text)))
    return gone


def remove(tree, gone):
    """Deletes extensions from a copy of the tree, with the commands that need them."""
    library = (tree / "src/lib.rs").read_text()
    modules = [module for name in gone for module in modules_of(library, name)]
    names = "|".join(gone)
    for name in gone:
        shutil.rmtree(tree / "crates" / name)
    edit(tree / "src/lib.rs", lambda text: without_lines(text, rf"^pub use tcverify_({names})::"))

    def manifest(text):
        text = without_lines(text, rf"^tcverify-({names}) = ")
        return re.sub(rf'"crates/({names})", |(, )?"tcverify-({names})/\w+"', "", text)

    edit(tree / "Cargo.toml", manifest)
    commands = without_commands(tree / "src/cli", modules)
    print(f"without {' '.join(sorted(gone))}; commands in {' '.join(commands) or 'no file'}", flush=True)


def copy_of(tree, paths):
    for path in paths:
        target = tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, target)


def sources(*under):
    """The files of the tree below these folders, or all, without what a build made."""
    for folder in under or ["."]:
        for place, folders, files in os.walk(ROOT / folder):
            folders[:] = [name for name in folders if name not in (".git", "target", "node_modules", "__pycache__")]
            for name in files:
                yield (pathlib.Path(place) / name).relative_to(ROOT)


def run(tree, *words, expected=0):
    target = os.environ.get("CARGO_TARGET_DIR", ROOT / "target/without")
    environment = os.environ | {"CARGO_TARGET_DIR": str(target), "CARGO_PROFILE_DEV_OPT_LEVEL": "1"}
    ended = subprocess.run(words, cwd=tree, env=environment, check=False).returncode
    if ended != expected:
        sys.exit(f"{' '.join(words)}: exit code {ended}, not {expected}")


def core_alone(tree):
    copy_of(tree, [*sources(*CORE), "Cargo.lock"])
    text = (ROOT / "Cargo.toml").read_text()
    shared = text[text.index("[workspace.package]") : text.index("[package]")]
    members = ", ".join(f'"{folder}"' for folder in CORE)
    (tree / "Cargo.toml").write_text(f'[workspace]\nresolver = "3"\nmembers = [{members}]\n\n{shared}')
    run(tree, "cargo", "check", "--quiet", "--workspace", "--all-targets")
    judge = ["cargo", "run", "--quiet", "--package", "tcverify-check", "--example", "judge", "--"]
    request = ["dtype=fp16", *(f"{name}={PAPER / name}.npy" for name in "abcd")]
    run(tree, *judge, "arch=ampere", *request)
    run(tree, *judge, "arch=v100", *request, expected=1)


def main():
    names = sys.argv[1:]
    if not names or names[0].startswith("-"):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder)
        if names == ["core"]:
            core_alone(tree)
        else:
            copy_of(tree, sources())
            remove(tree, with_dependants(names))
            run(tree, "cargo", "check", "--quiet", "--package", "tcverify")


if __name__ == "__main__":
    main()
