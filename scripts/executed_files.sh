#!/usr/bin/env bash
# Which files of the source run in one check by the exact engine, with their lines: what docs/trust.md lists, and what else.
# Needs valgrind; builds without optimisation, so that every function keeps its file.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CARGO_TARGET_DIR=${1:-target/executed}
cargo build --locked --quiet
case=tests/fixtures/papers/ampere-mma-fp16-f32
RAYON_NUM_THREADS=1 valgrind --quiet --tool=callgrind --callgrind-out-file="$folder/calls" \
    "$CARGO_TARGET_DIR/debug/tcverify" check --engine exact --quiet --arch ampere --dtype fp16 \
    --c "$case/c.npy" "$case/a.npy" "$case/b.npy" "$case/d.npy"
sed -nE 's/^c?f[ile]=(\([0-9]+\))? ?(.*\.rs)$/\2/p' "$folder/calls" | sed "s|^$root/||" | sort -u |
    while read -r file; do
        [ -f "$file" ] && [ "${file#/}" = "$file" ] || continue
        lines=$(awk 'test && /^mod .*\{$/ { exit } { test = /^#\[cfg\(test\)\]/ } !/^[ \t]*(\/\/.*)?$/ && !test { n++ } END { print n + 0 }' "$file")
        where=elsewhere
        grep -qF "| \`$file\` |" docs/trust.md && where=listed
        printf '%s\t%s\t%s\n' "$where" "$lines" "$file"
    done | sort | tee "$folder/files"
awk '{ files[$1]++; lines[$1] += $2 } END { for (w in files) printf "%s: %d files, %d lines\n", w, files[w], lines[w] }' "$folder/files"
