# totals.sh: reads the TAP that test runners print, and adds it up. Sourced.
# shellcheck shell=bash

# cmocka's runners print TAP, too, where the environment says so.
export CMOCKA_MESSAGE_OUTPUT=TAP
passed=0 failed=0 skipped=0

# read_cpu FILE: sets cpu_s to the processor seconds of this shell's children that have ended. The shell tells them only to a file.
read_cpu()
{
    times >"$1"
    # shellcheck disable=SC2034 # for who called
    cpu_s=$(awk -F '[ms ]+' 'NR == 2 { printf "%.0f", $1 * 60 + $2 + $3 * 60 + $4 }' "$1")
}

# tap_totals LOG: prints "PASSED FAILED SKIPPED". Tests that were announced and not reported have failed; a runner may
# announce several groups. What cmocka skips it calls "not ok N # SKIP name".
tap_totals()
{
    awk '
        /^1\.\.[0-9]+/ { announced += substr($1, 4) }
        /^(not )?ok [^#]*# SKIP/ { skipped++; next }
        /^ok / { passed++ }
        /^not ok / { failed++ }
        END {
            lost = announced - passed - failed - skipped
            print passed + 0, failed + (lost > 0 ? lost : 0), skipped + 0
        }' "$1"
}

# add_totals NAME LOG STATUS [COMMAND]: prints a runner's totals, the end of its log where it failed, and adds them to
# passed, failed and skipped. A runner that died or ran no test has failed.
add_totals()
{
    local name=$1 log=$2 status=$3 command=${4:-$1} own_passed own_failed own_skipped
    read -r own_passed own_failed own_skipped < <(tap_totals "$log")
    if [ $((own_passed + own_failed + own_skipped)) = 0 ]; then
        echo "ran no test" >>"$log"
        own_failed=1
    elif [ "$status" != 0 ] && [ "$own_failed" = 0 ]; then
        own_failed=1
    fi
    echo "$name: $own_passed passed, $own_failed failed, $own_skipped skipped"
    if [ "$own_failed" != 0 ]; then
        echo "---- failed, exit status $status: $command"
        grep '^not ok ' "$log" | grep -v '# SKIP' || true
        tail -n 200 "$log"
        echo "---- end of $log"
    fi
    passed=$((passed + own_passed))
    failed=$((failed + own_failed))
    skipped=$((skipped + own_skipped))
}

# print_totals: the last words of a script; fails where a test failed or none ran.
print_totals()
{
    [ "$skipped" = 0 ] || echo "skipped: $skipped"
    if [ $((passed + failed)) = 0 ]; then
        echo "ran no test"
        failed=1
    fi
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
}
