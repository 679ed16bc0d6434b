# The image of the HTTP tests: the same program that `make test` runs, told by ATTND_URL where a daemon is. For tests that
# want a daemon with options of its own, the deployed one is in here, too.
#
#   docker build -t attnd-tests -f docker/tests.Dockerfile --build-arg ATTND_IMAGE=attnd .
#
# BUILD_IMAGE may be docker/Dockerfile's stage `build`, which has what is installed and compiled here first.

ARG BUILD_IMAGE=debian:bookworm-slim
ARG ATTND_IMAGE=attnd

FROM ${ATTND_IMAGE} AS attnd

# ---- the tests
FROM ${BUILD_IMAGE} AS build
WORKDIR /attnd
COPY scripts/deps scripts/
RUN scripts/deps build
RUN apt-get update -qq \
    && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
        libcmocka-dev libcurl4-gnutls-dev openssl >/dev/null \
    && rm -rf /var/lib/apt/lists/*
COPY Makefile VERSION ./
COPY core core
COPY api api
COPY server server
COPY tests tests
RUN make -j"$(nproc)" build/tests/http_test

COPY --from=attnd /usr/bin/attnd build/attnd
ENV ATTND_BIN=/attnd/build/attnd
CMD ["build/tests/http_test"]
