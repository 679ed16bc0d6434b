# The image of the HTTP tests: the same program that `make test` runs, told by ATTND_URL where a daemon is. For tests that
# want a daemon with options of its own, the deployed one is in here, too.
#
#   docker build -t attnd-tests -f docker/tests.Dockerfile --build-arg ATTND_IMAGE=attnd .

ARG BASE=debian:bookworm-slim
ARG ATTND_IMAGE=attnd

FROM ${ATTND_IMAGE} AS attnd

# ---- the tests
FROM ${BASE} AS build
RUN apt-get update -qq \
    && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
        gcc libc6-dev make pkg-config \
        libjansson-dev libmicrohttpd-dev libopenblas-pthread-dev libpthreadpool-dev >/dev/null \
    && rm -rf /var/lib/apt/lists/*
RUN apt-get update -qq \
    && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
        libcmocka-dev libcurl4-gnutls-dev openssl >/dev/null \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /attnd
COPY Makefile VERSION ./
COPY scripts/deps scripts/
COPY core core
COPY api api
COPY server server
COPY tests tests
RUN make -j"$(nproc)" build/tests/http_test

COPY --from=attnd /usr/bin/attnd build/attnd
ENV ATTND_BIN=/attnd/build/attnd
CMD ["build/tests/http_test"]
