#include "server/setup/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "api/json/suggest.h"

#define ENVIRONMENT_PREFIX "ATTND_"
#define OPTION_NAME_BYTES_MAX 64
#define OPTIONS_COUNT (sizeof option_table / sizeof option_table[0])

enum option_kind { OPTION_TEXT, OPTION_NUMBER, OPTION_SIZE, OPTION_FLAG };

struct option_rule {
    const char *name;       /* without the dashes; ATTND_NAME in the environment */
    const char *value_name; /* of a flag: "" or "[=VALUE]", since it has one only behind an equals sign */
    const char *help;
    enum option_kind kind;
    size_t offset; /* of the field in struct options */
    size_t least, most;
};

#define FIELD(name) offsetof(struct options, name)
#define GIB ((size_t)1 << 30)

static const struct option_rule option_table[] = {
    {"listen", "HOST:PORT", "address to listen on, [HOST]:PORT for IPv6, port 0 for a free one, or unix:PATH (127.0.0.1:8080)",
     OPTION_TEXT, FIELD(listen), 0, 0},
    {"socket-mode", "MODE", "permissions of the socket of --listen unix:PATH, octal (" OPTIONS_SOCKET_MODE_DEFAULT ")",
     OPTION_TEXT, FIELD(socket_mode_text), 0, 0},
    {"threads", "N", "cores to compute on (what the cgroup and the affinity mask allow)", OPTION_NUMBER, FIELD(threads), 1,
     1024},
    {"queue", "N", "requests that may wait for a thread (as many as connections)", OPTION_NUMBER, FIELD(queue_items_max), 1,
     65536},
    {"max-body", "BYTES", "largest request body (256M, or less where memory is short)", OPTION_SIZE, FIELD(body_bytes_max),
     1024, 64 * GIB},
    {"max-request-memory", "BYTES", "largest memory for computing one request (2G, or half of the memory)", OPTION_SIZE,
     FIELD(request_memory_bytes_max), 65536, 4096 * GIB},
    {"memory", "BYTES",
     "memory for all requests together (what a cgroup's limit leaves beside the process, or 60 % of the machine)", OPTION_SIZE,
     FIELD(memory_bytes_max), 1 << 20, 65536 * GIB},
    {"max-connections", "N", "open connections (1024, or less where memory is short)", OPTION_NUMBER, FIELD(connections_max), 4,
     65536},
    {"idle-timeout", "S", "seconds without a byte before a connection is closed (30)", OPTION_NUMBER, FIELD(idle_timeout_s), 1,
     86400},
    {"request-timeout", "S", "seconds for sending a request, and again for answering it (60)", OPTION_NUMBER,
     FIELD(request_timeout_s), 1, 86400},
    {"shutdown-delay", "S", "seconds of serving on after SIGTERM, while /health/ready is 503 (0)", OPTION_NUMBER,
     FIELD(shutdown_delay_s), 0, 3600},
    {"api-key-file", "FILE", "keys, one a line: computing then needs one of them (none)", OPTION_TEXT, FIELD(api_key_file), 0,
     0},
    {"cors-origin", "ORIGIN", "web origin that may call from browsers, * for any (none)", OPTION_TEXT, FIELD(cors_origin), 0,
     0},
    {"tls-cert", "FILE", "certificate chain, PEM: serve HTTPS (none)", OPTION_TEXT, FIELD(tls_cert_file), 0, 0},
    {"tls-key", "FILE", "the certificate's private key, PEM (none)", OPTION_TEXT, FIELD(tls_key_file), 0, 0},
    {"tls-priorities", "STRING",
     "TLS versions and ciphers, as GnuTLS's priority strings (TLS 1.2 and 1.3 with forward secrecy)", OPTION_TEXT,
     FIELD(tls_priorities), 0, 0},
    {"log-format", "text|json", "form of the log lines on stderr (text)", OPTION_TEXT, FIELD(log_format_name), 0, 0},
    {"log-level", "info|warning|error", "least severe lines that are logged (info)", OPTION_TEXT, FIELD(log_level_name), 0, 0},
    {"web-root", "DIR", "folder of the web UI (web beside the program or ../share/attnd/web, if it is there)", OPTION_TEXT,
     FIELD(web_root), 0, 0},
    {"gzip", "json|all|off", "replies that are compressed for clients that accept gzip (json)", OPTION_TEXT, FIELD(gzip_name),
     0, 0},
    {"kernel", "NAME", "kernels to compute with: avx512, avx2, neon or generic (the fastest that the processor runs)",
     OPTION_TEXT, FIELD(kernel), 0, 0},
    {"health-check", "URL", "ask a daemon, exit 0 if it is well, 1 if not; /health/ready asks the one at --listen", OPTION_TEXT,
     FIELD(health_check_url), 0, 0},
    {"once", "[=PATH]", "answer the request on stdin as POST PATH, exit 0 for 200, 1 for 4xx, 3 for 5xx (/attention)",
     OPTION_FLAG, FIELD(once_path), 0, 0},
    {"content-type", "TYPE", "of the request of --once (application/json)", OPTION_TEXT, FIELD(content_type), 0, 0},
    {"accept", "TYPE", "of the reply of --once (application/json)", OPTION_TEXT, FIELD(accept), 0, 0},
};

/* Says what to do instead of serving: not read from the environment. */
static bool is_of_one_run(const struct option_rule *rule)
{
    return rule->offset == FIELD(health_check_url) || rule->offset == FIELD(once_path) || rule->offset == FIELD(content_type) ||
           rule->offset == FIELD(accept);
}

static void print_help(void)
{
    (void)printf("attnd: an HTTP daemon that computes attention\n\nUsage: attnd [OPTION]...\n\n");
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        char left[OPTION_NAME_BYTES_MAX];
        (void)snprintf(left, sizeof left, "--%s%s%s", option_table[i].name, option_table[i].kind == OPTION_FLAG ? "" : " ",
                       option_table[i].value_name);
        (void)printf("  %-28s %s\n", left, option_table[i].help);
    }
    (void)printf("  %-28s %s\n  %-28s %s\n", "--help", "print this", "--version", "print the version");
    (void)printf("\nEach option before --health-check is also read from the environment: --max-body is ATTND_MAX_BODY.\n"
                 "The command line wins. BYTES takes K, M and G. Parentheses hold the defaults. The first line on stdout\n"
                 "tells the address; the log goes to stderr. SIGTERM and SIGINT let running requests finish, a second one\n"
                 "does not. SIGHUP reads --api-key-file, --tls-cert and --tls-key again.\n");
}

static const struct option_rule *find_option(const char *name, size_t name_bytes)
{
    for (size_t i = 0; i < OPTIONS_COUNT; i++)
        if (strncmp(option_table[i].name, name, name_bytes) == 0 && option_table[i].name[name_bytes] == '\0')
            return &option_table[i];
    return NULL;
}

/* The option that a misspelt name probably means: one that begins with it, or differs in a few letters. NULL: none. */
static const char *nearest_option(const char *name)
{
    const char *names[OPTIONS_COUNT + 1] = {NULL};
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        names[i] = option_table[i].name;
        if (name[0] != '\0' && strncmp(name, names[i], strlen(name)) == 0)
            return names[i];
    }
    return suggest_nearest(name, names);
}

/* The factor of a size's suffix; 0 where it is none. */
static size_t suffix_factor(const char *suffix)
{
    static const char suffixes[] = "KMG";
    if (suffix[0] == '\0')
        return 1;
    const char *at = suffix[1] == '\0' ? strchr(suffixes, suffix[0] & ~0x20) : NULL;
    return at == NULL ? 0 : (size_t)1 << (10 * (at - suffixes + 1));
}

/* `shown` is how the user wrote the option's name. */
static bool set_number(const struct option_rule *rule, const char *shown, const char *value, size_t *ret, struct error *err)
{
    char *end;
    size_t number, factor;
    errno = 0;
    number = strtoull(value, &end, 10);
    factor = rule->kind == OPTION_SIZE ? suffix_factor(end) : (*end == '\0');
    if (value[0] < '0' || value[0] > '9' || factor == 0)
        return error_set(err, ERROR_INVALID, "%s: \"%s\" is not a %s", shown, value,
                         rule->kind == OPTION_SIZE ? "number of bytes (as 1000, 64K, 256M or 2G)" : "whole number");
    if (errno == ERANGE || __builtin_mul_overflow(number, factor, &number) || number < rule->least || number > rule->most)
        return error_set(err, ERROR_INVALID, "%s: %s is not between %zu and %zu", shown, value, rule->least, rule->most);
    *ret = number;
    return true;
}

static bool set_option(struct options *options, const struct option_rule *rule, const char *shown, const char *value,
                       struct error *err)
{
    void *field = (char *)options + rule->offset;
    if (rule->kind == OPTION_NUMBER || rule->kind == OPTION_SIZE)
        return set_number(rule, shown, value, field, err);
    if (value[0] == '\0' && rule->kind != OPTION_FLAG)
        return error_set(err, ERROR_INVALID, "%s: the value is empty", shown);
    *(const char **)field = value;
    return true;
}

/* "max-body" to "ATTND_MAX_BODY". */
static void environment_name(const char *option, char ret[OPTION_NAME_BYTES_MAX])
{
    (void)snprintf(ret, OPTION_NAME_BYTES_MAX, ENVIRONMENT_PREFIX "%s", option);
    for (char *c = ret; *c != '\0'; c++)
        *c = (char)(*c == '-' ? '_' : (*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c));
}

/* An empty value counts as none, as from a script that passes on a variable it was not given; except where that would leave the
 * daemon open. */
static bool read_environment(struct options *options, struct error *err)
{
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        const struct option_rule *rule = &option_table[i];
        char name[OPTION_NAME_BYTES_MAX];
        environment_name(rule->name, name);
        const char *value = getenv(name);
        bool locks =
            rule->offset == FIELD(api_key_file) || rule->offset == FIELD(tls_cert_file) || rule->offset == FIELD(tls_key_file);
        if (value == NULL || (value[0] == '\0' && !locks) || is_of_one_run(rule))
            continue;
        if (!set_option(options, rule, name, value, err))
            return false;
    }
    return true;
}

void options_log_unknown_variables(struct log *log)
{
    static const size_t prefix_bytes = sizeof ENVIRONMENT_PREFIX - 1;
    for (char **variable = environ; *variable != NULL; variable++) {
        char name[OPTION_NAME_BYTES_MAX] = "", meant[OPTION_NAME_BYTES_MAX];
        size_t length = strcspn(*variable, "=");
        if (strncmp(*variable, ENVIRONMENT_PREFIX, prefix_bytes) != 0 || length >= sizeof name)
            continue;
        for (size_t i = prefix_bytes; i < length; i++) {
            char c = (*variable)[i];
            name[i - prefix_bytes] = (char)(c == '_' ? '-' : (c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c));
        }
        const char *nearest = find_option(name, strlen(name)) == NULL ? nearest_option(name) : NULL;
        if (nearest == NULL)
            continue;
        environment_name(nearest, meant);
        log_event(log, LOG_WARNING, "the environment's %.*s is no option; was %s meant?", (int)length, *variable, meant);
    }
}

/* The options that stand in `arguments`, the program's name not among them. */
static bool read_arguments(char *const *arguments, size_t count, struct options *options, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        const char *argument = arguments[i];
        size_t length = strcspn(argument, "=");
        const struct option_rule *rule = strncmp(argument, "--", 2) == 0 ? find_option(argument + 2, length - 2) : NULL;
        char shown[OPTION_NAME_BYTES_MAX];
        (void)snprintf(shown, sizeof shown, "%.*s", (int)length, argument);
        if (rule == NULL) {
            const char *nearest = strncmp(shown, "--", 2) == 0 ? nearest_option(shown + 2) : NULL;
            return error_set(err, ERROR_INVALID,
                             nearest != NULL ? "unknown option %s; did you mean --%s?" : "unknown option %s", shown, nearest);
        }
        const char *value = argument[length] == '='     ? argument + length + 1
                            : rule->kind == OPTION_FLAG ? ""
                            : ++i < count               ? arguments[i]
                                                        : NULL;
        if (value == NULL)
            return error_set(err, ERROR_INVALID, "%s needs a value: %s", shown, rule->value_name);
        if (!set_option(options, rule, shown, value, err))
            return false;
    }
    return true;
}

/* In a container the daemon is process 1, and its health check is started without the options on its command line. Adopts them, if
 * process 1 is attnd and its command line can be read. */
static void adopt_process_1(struct options *options)
{
    static char text[4096];
    char *arguments[256];
    size_t count = 0;
    struct error err = {0};
    FILE *file = fopen("/proc/1/cmdline", "re");
    if (file == NULL)
        return;
    size_t bytes = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    for (size_t at = 0; at < bytes && count < sizeof arguments / sizeof arguments[0]; at += strlen(text + at) + 1)
        arguments[count++] = text + at;
    const char *slash = count > 0 ? strrchr(arguments[0], '/') : NULL;
    if (count < 2 || strcmp(slash != NULL ? slash + 1 : arguments[0], "attnd") != 0)
        return;
    struct options adopted = *options;
    if (read_arguments(arguments + 1, count - 1, &adopted, &err))
        *options = adopted;
}

enum options_outcome options_parse(int argument_count, char **arguments, struct options *ret, struct error *err)
{
    struct options own = {0};
    *ret = (struct options){0};
    for (int i = 1; i < argument_count; i++) {
        bool help = strcmp(arguments[i], "--help") == 0 || strcmp(arguments[i], "-h") == 0;
        if (help)
            print_help();
        else if (strcmp(arguments[i], "--version") == 0)
            (void)printf("attnd %s (kernel %s; %s)\n", ATTND_VERSION, api_kernel(), api_blas());
        else
            continue;
        return OPTIONS_SHOWN;
    }
    char *const *first = arguments + (argument_count > 0);
    size_t count = argument_count > 0 ? (size_t)argument_count - 1 : 0;
    if (!read_environment(ret, err) || !read_arguments(first, count, &own, err))
        return OPTIONS_WRONG;
    if (own.health_check_url != NULL && own.health_check_url[0] == '/')
        adopt_process_1(ret);
    return read_arguments(first, count, ret, err) ? OPTIONS_RUN : OPTIONS_WRONG;
}
