#!/bin/sh
# Mutates what decides a verdict, a random part of it, and says which mutants no test notices: tools/mutants, whose
# README.md describes it. By default a fifth, drawn by seed 1, for half an hour.
#
#   mutants.sh [OPTIONS]      --help lists them
#
# Needs cargo-mutants (cargo install cargo-mutants --locked). With TCVERIFY_VECTORS captured results are replayed, too.
#
# Exit codes: 0 every mutant that ran was caught, 1 some were not, 2 anything else.
set -eu
cd -- "$(dirname -- "$0")/.." || exit 2
cargo build --quiet --release --locked --manifest-path tools/mutants/Cargo.toml || exit 2
exec tools/mutants/target/release/tcverify-mutants "$@"
