# container.sh: what the container's tests share, beside tests/tools/tap.sh. Sourced.
# shellcheck shell=bash
# shellcheck source=tests/tools/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../tests/tools/tap.sh"

image=${ATTND_IMAGE:-attnd}
ready_ms_max=20000
containers=()
container='' url='' measured=''

remove_containers()
{
    [ ${#containers[@]} = 0 ] || docker rm -f "${containers[@]}" >/dev/null 2>&1
    containers=()
}
trap 'remove_containers; rm -rf "$scratch"' EXIT

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# check NAME COMMAND...: as tap_check; also shows what the command put into `measured`, and removes its containers.
check()
{
    measured=''
    tap_check "$@"
    [ -z "$measured" ] || echo "# $measured"
    remove_containers
}

# start FLAG...: starts the daemon with these flags of `docker run`. Sets container and url.
start()
{
    container=$(docker run -d -p 127.0.0.1::8080 "$@" "$image") || return 1
    containers+=("$container")
    find_url 8080
}

# The port may be mapped a moment later than the container runs.
find_url()
{
    local port
    for ((i = 0; i < 100; i++)); do
        port=$(docker port "$container" "$1/tcp" 2>/dev/null | sed -n '1s/.*://p')
        [ -z "$port" ] || break
        sleep 0.05
    done
    url=http://127.0.0.1:$port
    [ -n "$port" ]
}

wait_ready()
{
    local until_ms=$(($(now_ms) + ready_ms_max))
    until curl -sf -o /dev/null "$url/health/ready"; do
        [ "$(now_ms)" -lt "$until_ms" ] || { echo "not ready within $ready_ms_max ms"; log; return 1; }
        sleep 0.02
    done
}

start_ready() { start "$@" && wait_ready; }

state() { docker inspect --format "{{$1}}" "$container"; }

log() { docker logs "$container" 2>&1; }
logged() { [[ $(log) == *"$1"* ]]; }

# The value of a number in the line of the log that tells the settings in use.
setting() { log | awk -v name="$1" 'match($0, "[ \"]" name " [0-9]+") { split(substr($0, RSTART + 1, RLENGTH - 1), word, " "); print word[2] }'; }

# status CURL-ARGUMENT...: sends to /attention; prints the reply's status, 000 where none came.
status() { curl -s -o /dev/null -w '%{http_code}\n' --max-time 120 "$url/attention" "$@"; }

small_request='{"query": [[1, 0], [0, 1]], "key": [[1, 0], [0, 1]], "value": [[10], [20]]}'
answers() { [ "$(status -d "$small_request")" = 200 ]; }

# The daemon has lived through it: the same process, and the kernel had nothing to end.
unharmed()
{
    local now
    now=$(state '.State.Status}} {{.State.OOMKilled}} {{.RestartCount')
    echo "$now; answers: $(status -d "$small_request")"
    [ "$now" = "running false 0" ] && answers
}
