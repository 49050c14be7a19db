#!/bin/sh
# Fails unless every product that a manifest or a folder of cases lists is what its replay gives.
#
#   gate.sh MANIFEST.json|FOLDER [option of `tcverify batch`]...
#
# Whoever wrote the cases need not be trusted: TCVERIFY_POLICY names the policy that says what they may say
# (docs/policy.md), "strict" without. TCVERIFY names the program.
#
# Exit codes: 0 all identical, 1 at least one different, 2 anything else.
set -u

program=${TCVERIFY:-tcverify}
command -v "$program" >/dev/null 2>&1 || {
    printf 'gate: %s: not found; TCVERIFY names the program\n' "$program" >&2
    exit 2
}
"$program" batch --policy "${TCVERIFY_POLICY:-strict}" "$@" </dev/null
case $? in
0) exit 0 ;;
1) exit 1 ;;
*) exit 2 ;; # killed, too
esac
