# docker.sh: what the container's scripts and `make docker` share: images, the engine, Compose. Sourced.
#
#   ATTND_IMAGE=attnd                       the image's name
#   DOCKER_BUILD_FLAGS="--network host"     further flags of docker build
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

export ATTND_IMAGE=${ATTND_IMAGE:-attnd}
export ATTND_TESTS_IMAGE=${ATTND_TESTS_IMAGE:-attnd-tests}

read -r -a build_flags <<<"${DOCKER_BUILD_FLAGS:-}"

need_engine()
{
    if ! command -v docker >/dev/null; then
        echo "docker: there is no docker command; an engine, Docker 20.10 or later, is needed for this" >&2
        exit 1
    fi
    if ! docker info >/dev/null 2>&1; then
        echo "docker: no engine answers at ${DOCKER_HOST:-the default socket}: it is not running, or not yours to use" >&2
        exit 1
    fi
}

# Compose, as the plugin (v2) or as the program of its own (1.29).
compose()
{
    if docker compose version >/dev/null 2>&1; then
        docker compose "$@"
    elif command -v docker-compose >/dev/null; then
        docker-compose "$@"
    else
        echo "docker: there is neither docker compose nor docker-compose" >&2
        return 1
    fi
}

# The certificates that this machine trusts beside those of its distribution, where Debian keeps them, as of a proxy that opens
# HTTPS: downloads inside containers have to trust them, too. Nothing where there are none.
own_certificates() { cat /usr/local/share/ca-certificates/*.crt 2>/dev/null || true; }

# build_image IMAGE DOCKERFILE FLAG...: says how long it took; its output is shown where it failed.
build_image()
{
    local image=$1 file=$2 log=build/logs/docker/build-$1.log started_s=$SECONDS
    shift 2
    log=${log//[:@]/-}
    mkdir -p build/logs/docker build/docker
    own_certificates >build/docker/certificates.pem
    [ -s build/docker/certificates.pem ] || rm build/docker/certificates.pem
    if ! docker build "${build_flags[@]}" "$@" -t "$image" -f "$file" . >"$log" 2>&1; then
        tail -n 60 "$log"
        echo "docker: $file could not be built; all of the output is in $log" >&2
        return 1
    fi
    echo "image $image: $(image_megabytes "$image") MB, built in $((SECONDS - started_s)) s"
}

image_megabytes() { docker image inspect --format '{{.Size}}' "$1" | awk '{ printf "%.1f", $1 / 1e6 }'; }

build_attnd()
{
    local revision
    revision=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
    build_image "$1" docker/Dockerfile --build-arg VERSION="$(<VERSION)" --build-arg REVISION="$revision"
}

# list_image IMAGE: the sizes of what is in it.
list_image()
{
    local container
    container=$(docker create "$1")
    docker export "$container" | tar -tvf - | awk '
        $1 ~ /^-/ && $6 ~ /\.so/ { count++; bytes += $3; if ($6 ~ /openblas/) blas = $3; next }
        $6 == "usr/bin/attnd" { attnd = $3; next }
        $6 ~ /\/attnd\/web\// { web += $3; next }
        $1 ~ /^-/ { rest += $3 }
        END {
            printf "in it: attnd %.1f MB, its web UI %.1f MB, %d libraries %.1f MB (OpenBLAS %.1f MB), records and licences %.1f MB\n",
                attnd / 1e6, web / 1e6, count, bytes / 1e6, blas / 1e6, rest / 1e6
        }'
    docker rm "$container" >/dev/null
}
