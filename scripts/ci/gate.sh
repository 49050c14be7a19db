#!/bin/sh
# Runs the checks that a manifest lists, and fails unless every one of them finds its D identical.
#
#   gate.sh [-o REPORTS] MANIFEST
#
# MANIFEST has the arguments of one `tcverify check` a line, separated by blanks (so no file name has
# any), paths relative to the manifest's folder; empty lines and lines that begin with # do not count:
#
#   --arch h100 --dtype bf16 a.npy b.npy d.npy
#
# REPORTS is a folder for NUMBER.xml (JUnit) and NUMBER.html of every check. TCVERIFY names the program.
# Manifests may come from people who are not trusted: only the options below are passed on, and no
# path leads out of the manifest's folder.
#
# Exit codes: 0 all identical, 1 at least one different, 2 anything else.
set -eu

program=${TCVERIFY:-tcverify}
reports=

trouble() {
    printf 'gate: %s\n' "$*" >&2
    exit 2
}

while getopts o: option; do
    case $option in
    o) reports=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -eq 1 ] || trouble "usage: gate.sh [-o REPORTS] MANIFEST"
[ -f "$1" ] || trouble "$1: there is no such file"
folder=$(dirname -- "$1")
manifest=$(basename -- "$1")
command -v "$program" >/dev/null 2>&1 || trouble "$program: not found; TCVERIFY names the program"
if [ -n "$reports" ]; then
    mkdir -p -- "$reports" || trouble "$reports: cannot be made"
    reports=$(cd -- "$reports" && pwd)
fi
cd -- "$folder" || trouble "$folder: cannot be entered"

# One word of a line: an option that only reads, a plain value, or a file in here.
accept() {
    case $1 in
    --arch | --dtype | --dtype-b | --acc | --c-dtype | --instruction | --d-dtype | --d-digest) ;;
    --scale-dtype | --scale-block | --scale-a | --scale-b | --c | --transpose-a | --transpose-b) ;;
    --tf32-input | --nan | --zero | --sample | --seed | --rows | --cols | --region) ;;
    -*) trouble "line $number: $1 is not an option that a manifest may have" ;;
    /* | .. | ../* | */.. | */../*) trouble "line $number: $1 leads out of the folder" ;;
    *)
        # A link could lead anywhere, and so could one on the way.
        path=$1
        while [ "$path" != . ] && [ "$path" != / ]; do
            [ ! -L "$path" ] || trouble "line $number: $path is a link"
            path=$(dirname -- "$path")
        done
        ;;
    esac
}

worst=0
number=0
done_=0
set -f # no word is a pattern
while IFS= read -r line || [ -n "$line" ]; do
    number=$((number + 1))
    case $line in '' | '#'*) continue ;; esac
    # shellcheck disable=SC2086 # a line is words
    set -- $line
    [ $# -gt 0 ] || continue
    for word in "$@"; do accept "$word"; done
    done_=$((done_ + 1))
    if [ -n "$reports" ]; then
        set -- "$@" --junit "$reports/$done_.xml" --html "$reports/$done_.html"
    fi
    status=0
    "$program" check "$@" </dev/null || status=$?
    case $status in
    0 | 1) ;;
    *) status=2 ;;
    esac
    [ "$status" -le "$worst" ] || worst=$status
done <"$manifest"
# A gate that checks nothing must not say that all is well.
[ "$done_" -gt 0 ] || trouble "$manifest: no checks"
exit "$worst"
