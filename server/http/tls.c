#include "server/http/tls.h"

#include <stdlib.h>
#include <string.h>

#include "server/setup/file.h"
#include "server/work/sync.h"

#define TLS_CHAIN_MAX 16

struct tls_certificate {
    size_t reference_count; /* connections, and the struct tls; guarded by its mutex */
    unsigned count;
    gnutls_pcert_st chain[TLS_CHAIN_MAX];
    gnutls_privkey_t key;
};

static void certificate_free(struct tls_certificate *certificate)
{
    for (unsigned i = 0; i < certificate->count; i++)
        gnutls_pcert_deinit(&certificate->chain[i]);
    if (certificate->key != NULL)
        gnutls_privkey_deinit(certificate->key);
    free(certificate);
}

/* Fails where the chain's first certificate is not the key's. */
static bool parts_match(const gnutls_datum_t *chain, const gnutls_datum_t *key)
{
    gnutls_certificate_credentials_t credentials;
    if (gnutls_certificate_allocate_credentials(&credentials) != 0)
        return false;
    int failure = gnutls_certificate_set_x509_key_mem(credentials, chain, key, GNUTLS_X509_FMT_PEM);
    gnutls_certificate_free_credentials(credentials);
    return failure == 0;
}

static bool import(const gnutls_datum_t *chain, const gnutls_datum_t *key, struct tls_certificate *ret)
{
    unsigned count = TLS_CHAIN_MAX;
    if (!parts_match(chain, key))
        return false;
    if (gnutls_privkey_init(&ret->key) != 0 || gnutls_privkey_import_x509_raw(ret->key, key, GNUTLS_X509_FMT_PEM, NULL, 0) != 0)
        return false;
    if (gnutls_pcert_list_import_x509_raw(ret->chain, &count, chain, GNUTLS_X509_FMT_PEM, 0) != 0)
        return false;
    ret->count = count;
    return true;
}

/* Returns the file's text, new; NULL on failure. */
static char *read_pem(const char *option, const char *file_name, struct error *err)
{
    size_t bytes;
    char *text = file_read(option, file_name, &bytes, err);
    if (text == NULL || strstr(text, "-----BEGIN ") != NULL)
        return text;
    free(text);
    (void)error_set(err, ERROR_INVALID, "%s %s: this is no PEM file", option, file_name);
    return NULL;
}

/* New; NULL on failure. */
static struct tls_certificate *certificate_new(const struct options *options, struct error *err)
{
    struct tls_certificate *certificate = calloc(1, sizeof *certificate);
    char *chain_text = read_pem("--tls-cert", options->tls_cert_file, err);
    char *key_text = chain_text != NULL ? read_pem("--tls-key", options->tls_key_file, err) : NULL;
    bool imported = false;
    if (certificate == NULL) {
        (void)error_set(err, ERROR_NO_MEMORY, "no memory for --tls-cert");
    } else if (key_text != NULL) {
        const gnutls_datum_t chain = {(unsigned char *)chain_text, (unsigned)strlen(chain_text)};
        const gnutls_datum_t key = {(unsigned char *)key_text, (unsigned)strlen(key_text)};
        imported = import(&chain, &key, certificate);
        if (!imported)
            (void)error_set(err, ERROR_INVALID,
                            "--tls-cert %s and --tls-key %s do not fit together, or are no certificate and key",
                            options->tls_cert_file, options->tls_key_file);
    }
    if (key_text != NULL)
        explicit_bzero(key_text, strlen(key_text));
    free(key_text);
    free(chain_text);
    if (imported) {
        certificate->reference_count = 1;
        return certificate;
    }
    if (certificate != NULL)
        certificate_free(certificate);
    return NULL;
}

static bool check_priorities(const char *text, struct error *err)
{
    gnutls_priority_t priorities;
    const char *wrong = text;
    if (gnutls_priority_init(&priorities, text, &wrong) != 0)
        return error_set(err, ERROR_INVALID, "--tls-priorities: GnuTLS does not understand \"%s\"", wrong);
    gnutls_priority_deinit(priorities);
    return true;
}

bool tls_load(struct tls *tls, const struct options *options, struct error *err)
{
    *tls = (struct tls){.options = options, .mutex = PTHREAD_MUTEX_INITIALIZER};
    if (!check_priorities(options->tls_priorities, err))
        return false;
    if (options->tls_cert_file == NULL)
        return true;
    tls->current = certificate_new(options, err);
    return tls->current != NULL;
}

bool tls_reload(struct tls *tls, struct error *err)
{
    struct tls_certificate *certificate = certificate_new(tls->options, err);
    if (certificate == NULL)
        return false;
    sync_lock(&tls->mutex);
    struct tls_certificate *before = tls->current;
    tls->current = certificate;
    sync_unlock(&tls->mutex);
    tls_release(tls, before);
    return true;
}

bool tls_is_on(const struct tls *tls)
{
    return tls->options->tls_cert_file != NULL;
}

struct tls_certificate *tls_acquire(struct tls *tls)
{
    sync_lock(&tls->mutex);
    struct tls_certificate *certificate = tls->current;
    certificate->reference_count++;
    sync_unlock(&tls->mutex);
    return certificate;
}

void tls_release(struct tls *tls, struct tls_certificate *certificate)
{
    if (certificate == NULL)
        return;
    sync_lock(&tls->mutex);
    bool last = --certificate->reference_count == 0;
    sync_unlock(&tls->mutex);
    if (last)
        certificate_free(certificate);
}

void tls_certificate_parts(struct tls_certificate *certificate, gnutls_pcert_st **ret_chain, unsigned *ret_count,
                           gnutls_privkey_t *ret_key)
{
    *ret_chain = certificate->chain;
    *ret_count = certificate->count;
    *ret_key = certificate->key;
}

void tls_done(struct tls *tls)
{
    tls_release(tls, tls->current);
    tls->current = NULL;
}
