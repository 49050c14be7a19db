#!/bin/sh
# Mutates what decides a verdict, a random part of it, and says which mutants no test notices.
#
#   mutants.sh [-s SEED] [-p PART] [-t MINUTES] [-j JOBS] [-l]
#
#   -s SEED     of the draw (default 1): the same seed draws the same mutants of the same source
#   -p PART     one mutant in so many (default 5)
#   -t MINUTES  no mutant begins after that (default 30); the rest is counted as not run
#   -j JOBS     at a time (default 1)
#   -l          list what would run, and run nothing
#
# Needs cargo-mutants (cargo install cargo-mutants --locked) and Python 3. Tests are those of .cargo/mutants.toml; with
# TCVERIFY_VECTORS captured results are replayed, too. Results are in mutants.out/.
#
# Exit codes: 0 every mutant that ran was caught, 1 some were missed, 2 anything else.
set -u

seed=1 part=5 minutes=30 jobs=1 list=
while getopts s:p:t:j:l option; do
    case $option in
    s) seed=$OPTARG ;;
    p) part=$OPTARG ;;
    t) minutes=$OPTARG ;;
    j) jobs=$OPTARG ;;
    l) list=1 ;;
    *) exit 2 ;;
    esac
done

trouble() {
    printf 'mutants: %s\n' "$*" >&2
    exit 2
}

cd -- "$(dirname -- "$0")/.." || exit 2
cargo mutants --version >/dev/null 2>&1 || trouble "cargo-mutants is not installed: cargo install cargo-mutants --locked"
python=$(command -v python3) || trouble "Python 3 is not there"
work=$(mktemp -d) || exit 2
trap 'rm -rf -- "$work"' EXIT

cargo mutants --list >"$work/all" || trouble "mutants cannot be listed"
# Drawn by a hash of seed and mutant, so that a change of one file leaves the draw of others as it was.
"$python" - "$seed" "$part" "$work/all" >"$work/drawn" <<'END' || exit 2
import hashlib, sys

seed, part, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
seen, drawn = {}, []
for line in open(path, encoding="utf-8"):
    # "src/num/round.rs:12:5: replace ..." without its place, which other changes move: the how many-th such.
    file, _, _, what = line.rstrip("\n").split(":", 3)
    nth = seen[file, what] = seen.get((file, what), 0) + 1
    digest = hashlib.sha256(f"{seed}\n{file}\n{what}\n{nth}".encode()).digest()
    number = int.from_bytes(digest[:8], "big")
    if number % part == 0:
        drawn.append((number, line.rstrip("\n")))
for _, line in sorted(drawn):
    print(line)
END
count=$(grep -c . "$work/drawn")
all=$(grep -c . "$work/all")
echo "$count of $all mutants are drawn (seed $seed, one in $part)"
if [ -n "$list" ]; then
    cat "$work/drawn"
    exit 0
fi
[ "$count" -gt 0 ] || trouble "none is drawn"

# In the order of the draw, some at a time, until the time is over.
end=$(($(date +%s) + minutes * 60))
step=$((jobs * 8))
ran=0
worst=0
rm -rf mutants.out
while [ "$ran" -lt "$count" ] && [ "$(date +%s)" -lt "$end" ]; do
    # Exact names, as a pattern of all of them.
    pattern=$(tail -n "+$((ran + 1))" "$work/drawn" | head -n "$step" |
        sed 's/[][\\.*+?(){}^$|]/\\&/g; s/^/^/; s/$/$/' | paste -sd '|' -)
    mkdir -p mutants.out
    cargo mutants --no-shuffle -j "$jobs" --re "$pattern" -o "$work/out" --colors never
    code=$?
    case $code in
    0) ;;
    2 | 3) worst=1 ;; # some were missed, or ran out of time
    *) trouble "cargo-mutants ended with $code" ;;
    esac
    for result in caught missed timeout unviable; do
        cat "$work/out/mutants.out/$result.txt" >>"mutants.out/$result.txt" 2>/dev/null
    done
    ran=$((ran + step))
done
[ "$ran" -le "$count" ] || ran=$count
for result in caught missed timeout unviable; do
    printf '%s %s\n' "$(grep -c . "mutants.out/$result.txt")" "$result"
done
echo "$((count - ran)) not run"
exit "$worst"
