# tap.sh: what the shell tests share. Sourced; prints TAP.
# shellcheck shell=bash
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tap_count=0

# tap_check NAME COMMAND...: the test passes where the command does. What the command printed is shown where it does not.
tap_check()
{
    local name=$1
    shift
    tap_count=$((tap_count + 1))
    if "$@" >"$scratch/tap-output" 2>&1; then
        echo "ok $tap_count - $name"
    else
        echo "not ok $tap_count - $name"
        sed 's/^/# /' "$scratch/tap-output"
        tap_failed=1
    fi
}

# Call last: the plan, and the exit status.
tap_done()
{
    echo "1..$tap_count"
    exit "${tap_failed:-0}"
}

fails() { ! "$@"; }

# fails_saying TEXT COMMAND...: the command fails, and says so in words that have TEXT.
fails_saying()
{
    local text=$1 output status=0
    shift
    output=$("$@" 2>&1) || status=$?
    echo "exit status $status: $output"
    [ "$status" != 0 ] && [[ $output == *"$text"* ]]
}
