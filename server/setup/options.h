/* options.h: the daemon's options: defaults, then ATTND_* of the environment, then the command line.
 *
 * Sizes are bytes, with K, M or G for powers of 1024. Every value has bounds. Values that were not given follow from the machine;
 * options_resolve fills them in and checks all values against each other. */
#ifndef ATTND_SERVER_SETUP_OPTIONS_H
#define ATTND_SERVER_SETUP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/error.h"
#include "server/setup/machine.h"
#include "server/telemetry/log.h"

#define OPTIONS_LISTEN_DEFAULT "127.0.0.1:8080"
#define OPTIONS_SOCKET_MODE_DEFAULT "0660"
#define OPTIONS_PATH_BYTES_MAX 1024

/* TLS 1.2 and 1.3, with forward secrecy. */
#define OPTIONS_TLS_PRIORITIES_DEFAULT "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA"

/* Which replies are compressed for clients that accept gzip. */
enum options_gzip { OPTIONS_GZIP_JSON, OPTIONS_GZIP_ALL, OPTIONS_GZIP_OFF };

struct api_protocol;

struct options {
    /* Strings are borrowed from the command line and the environment; NULL where not given. */
    const char *listen;
    const char *api_key_file;
    const char *cors_origin;
    const char *tls_cert_file, *tls_key_file;
    const char *tls_priorities; /* of GnuTLS */
    const char *log_format_name, *log_level_name;
    const char *web_root; /* after options_resolve NULL where there is no UI */
    const char *gzip_name;
    const char *health_check_url;
    const char *kernel;
    const char *once_path;             /* "" where it was given without one */
    const char *content_type, *accept; /* of --once */
    const char *socket_mode_text;

    /* 0 until options_resolve where not given. */
    size_t threads;
    size_t queue_items_max;
    size_t body_bytes_max;
    size_t request_memory_bytes_max;
    size_t memory_bytes_max;
    size_t large_memory_bytes, small_memory_bytes; /* the pools that it is divided into */
    size_t connections_max;
    size_t idle_timeout_s;
    size_t request_timeout_s;
    size_t shutdown_delay_s;

    enum log_format log_format;
    enum log_level log_level;
    char web_root_found[OPTIONS_PATH_BYTES_MAX]; /* what web_root points to where it was not given */
    enum options_gzip gzip;
    mode_t socket_mode;
    const struct api_protocol *once; /* of once_path; NULL: serve */
};

enum options_outcome {
    OPTIONS_RUN,
    OPTIONS_SHOWN, /* --help or --version was printed */
    OPTIONS_WRONG, /* err says what */
};

/* Of --health-check PATH, the options of process 1 come between the environment and the command line, if that is attnd. */
enum options_outcome options_parse(int argument_count, char **arguments, struct options *ret, struct error *err)
    __attribute__((warn_unused_result));

/* Fills in what was left open and checks the whole. Also raises the process's limit of open files to what
 * connections_max needs, where it may.
 * Fails  invalid: values that contradict each other. */
bool options_resolve(struct options *options, const struct machine *machine, struct error *err)
    __attribute__((warn_unused_result));

/* Logs variables of the environment whose names look like options but are none: their values have no effect. */
void options_log_unknown_variables(struct log *log);

/* Logs the values in use. */
void options_log(const struct options *options, const struct machine *machine, struct log *log);

#endif
