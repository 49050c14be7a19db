#!/usr/bin/env python3
"""Builds the site of docs/ with mdBook, makes its live examples, and checks its links.

    scripts/site.py [--program target/release/tcverify] [--mdbook mdbook] [--repository https://HOST/OWNER/NAME/blob/main]

target/book has the site, and target/site the pages as mdBook takes them. Links to sources lead to --repository, or are text without
one. Exit code 1: a link leads nowhere or a page is missing from SUMMARY.md. Standard library only.
"""

import argparse
import html.parser
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
STAGE, BOOK = ROOT / "target/site", ROOT / "target/book"
# Where pages of the repository stand in the site: README.md is the first page, the index of docs/ one of its own.
OUTSIDE = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
IMAGE_OR_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def site_path(path):
    """Where a file of the repository stands in the site, or None."""
    if path in OUTSIDE:
        return OUTSIDE[path]
    if not path.startswith("docs/"):
        return None
    path = path.removeprefix("docs/")
    return "pages.md" if path == "README.md" else re.sub(r"/README\.md$", "/index.md", path)


def rewrite(text, path, repository):
    """A page's links, as they lead from its place in the site."""
    here, there = posixpath.dirname(path), posixpath.dirname(site_path(path) or "")

    def link(match):
        words, target = match.groups()
        file, _, heading = target.partition("#")
        if "://" in target or not file:
            return match.group()
        source = posixpath.normpath(posixpath.join(here, file))
        heading = heading and f"#{heading}"
        if staged := site_path(source):
            if (ROOT / source).is_dir():
                staged += "/index.md"
            return match.group().replace(f"]({target})", f"]({posixpath.relpath(staged, there or '.')}{heading})")
        return f"[{words}]({repository}/{source}{heading})" if repository else words

    def outside_fences(function):
        parts, last = [], 0
        for fence in FENCE.finditer(text):
            parts += [function(text[last : fence.start()]), fence.group()]
            last = fence.end()
        return "".join([*parts, function(text[last:])])

    return outside_fences(lambda prose: IMAGE_OR_LINK.sub(link, prose))


def examples(page, program):
    """Runs the commands of the page of examples, and puts what they made where it is shown."""
    place = STAGE / "examples"
    place.mkdir()
    scripts = re.findall(r"^```sh\n(.*?)^```$|<!-- given\n(.*?)-->", page, re.M | re.S)
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    work = STAGE.parent / "site-examples"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    (work / "tests").symlink_to(ROOT / "tests")
    for script in scripts:
        subprocess.run(["sh", "-euc", "".join(script)], cwd=work, env=environment, check=True, stdout=subprocess.DEVNULL)

    def shown(match):
        name = match.group(1)
        shutil.copy(work / name, place / name)
        return f'<iframe class="report" src="examples/{name}" title="{name}" loading="lazy"></iframe>\n\n<a href="examples/{name}">Open {name} alone</a>'

    page, count = re.subn(r"<!-- shown: (\S+) -->", shown, page)
    shutil.rmtree(work)
    assert count >= 2, "the page shows no example"
    return page


# Pages that the program writes, below the page that lists them.
DESCRIBED = {"archs": ("architectures.md", "architectures"), "schedules": ("schedules.md", "schedules")}


def described(program):
    """A page for every architecture and schedule, as the program describes it; by the page that lists them, their titles and places."""
    pages = {}
    for command, (listing, folder) in DESCRIBED.items():
        (STAGE / folder).mkdir()
        known = json.loads(subprocess.run([program, command, "--json"], capture_output=True, text=True, check=True).stdout)
        assert len(known) > 10, f"{len(known)} {command}"
        for one in known:
            name, title = one["name"], one["title"]
            text = subprocess.run([program, command, name], capture_output=True, text=True, check=True).stdout
            place = f"{folder}/{name}.md"
            (STAGE / place).write_text(f"# {title} (`{name}`)\n\n`tcverify {command} {name}` prints:\n\n```text\n{text}```\n")
            pages.setdefault(listing, []).append((title, place))
    return pages


def summary(text, below):
    """With pages that the program writes below the page that lists them."""
    lines = []
    for line in text.splitlines():
        lines.append(line)
        for listing, pages in below.items():
            if f"({listing})" in line:
                lines += [f"  - [{title}]({place})" for title, place in pages]
    return "\n".join(lines) + "\n"


def stage(program, repository):
    shutil.rmtree(STAGE, ignore_errors=True)
    STAGE.mkdir(parents=True)
    for source in sorted(ROOT.glob("docs/**/*")):
        if source.is_file() and source.suffix != ".md":
            target = STAGE / source.relative_to(ROOT / "docs")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    pages = [*OUTSIDE, *(str(page.relative_to(ROOT)) for page in sorted(ROOT.glob("docs/**/*.md")))]
    for page in pages:
        text = (ROOT / page).read_text()
        if page == "docs/SUMMARY.md":
            text = summary(text, described(program))
        if page == "docs/examples.md":
            text = examples(text, program)
        target = STAGE / site_path(page)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(rewrite(text, page, repository))
    listed = set(LINK.findall((STAGE / "SUMMARY.md").read_text()))
    return [page for page in pages if site_path(page) not in listed | {"SUMMARY.md"}]


class Links(html.parser.HTMLParser):
    """Targets and names of one page."""

    def __init__(self, text):
        super().__init__()
        self.targets, self.names = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.names |= {attributes[key] for key in ("id", "name") if attributes.get(key)}
        self.targets += [attributes[key] for key in ("href", "src") if attributes.get(key)]


def dead_links():
    pages = {page: Links(page.read_text()) for page in BOOK.rglob("*.html")}
    dead, count = [], 0
    for page, links in pages.items():
        if page.name == "404.html" or "examples" in page.relative_to(BOOK).parts[:1]:
            continue  # the one is for any folder, the others are reports
        for target in links.targets:
            if re.match(r"[a-z]+:", target):
                continue
            count += 1
            file, _, name = unquote(target).partition("#")
            file = (page.parent / file).resolve() if file else page
            there = pages.get(file)
            if not file.exists() or name and there and name not in there.names:
                dead.append(f"{page.relative_to(BOOK)}: {target}")
    assert count > 1000, f"{count} links: were they read?"
    print(f"{len(pages)} pages, {count} links, {len(dead)} dead")
    return sorted(set(dead))


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--program", type=Path, default=ROOT / "target/release/tcverify")
    words.add_argument("--mdbook", default="mdbook")
    words.add_argument("--repository", default="", help="the address of the repository's files")
    words = words.parse_args()
    missing = stage(words.program.resolve(), words.repository.rstrip("/"))
    if missing:
        sys.exit(f"not in docs/SUMMARY.md: {', '.join(missing)}")
    built = subprocess.run([words.mdbook, "build"], cwd=ROOT, capture_output=True, text=True, check=False)
    if built.returncode or "WARN" in built.stderr:
        sys.exit(f"mdbook:\n{built.stdout}{built.stderr}")
    if dead := dead_links():
        sys.exit("\n".join(["dead links:", *dead]))


if __name__ == "__main__":
    main()
