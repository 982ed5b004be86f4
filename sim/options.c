/*
 * options.c - the command line of docextract-sim.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "sim/sim.h"

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#define YEAR_S (366 * 86400)
#define DAY_MS 86400000

enum kind { TEXT, NUMBER, CLAIM, HELP, SHOW_VERSION };

static const struct row {
  const char *name;
  const char *arg; /* NULL: takes none */
  enum kind kind;
  size_t offset;
  int64_t min;
  int64_t max;
  const char *help;
} rows[] = {
#define AT(member) offsetof(struct sim_options, member)
    {"port", "N", NUMBER, AT(api_port), 0, 65535,
     "API port, 0 for any free one (8480)"},
    {"storage-port", "N", NUMBER, AT(storage_port), 0, 65535,
     "object storage port, 0 for any free one (8481)"},
    {"ready-file", "FILE", TEXT, AT(ready_file), 0, 0,
     "write URLs and process ID here once listening"},
    {"tls-cert", "FILE", TEXT, AT(tls_cert), 0, 0,
     "certificate chain (PEM), enables TLS"},
    {"tls-key", "FILE", TEXT, AT(tls_key), 0, 0, "its private key (PEM)"},
    {"storage-tls", "FILE", TEXT, AT(storage_tls), 0, 0,
     "both for the object storage (as the service)"},
    {"key-file", "FILE", TEXT, AT(key_file), 0, 0,
     "verify tokens with this secret or public key"},
    {"algorithm", "ALG", TEXT, AT(algorithm), 0, 0,
     "its algorithm, such as HS256 or EdDSA"},
    {"key-id", "ID", TEXT, AT(key_id), 0, 0, "key ID required in tokens"},
    {"claim", "NAME=VALUE", CLAIM, 0, 0, 0,
     "claim required in tokens, repeatable"},
    {"token-file", "FILE", TEXT, AT(token_file), 0, 0,
     "the only token accepted (default: any token)"},
    {"skew", "SECONDS", NUMBER, AT(skew_s), -YEAR_S, YEAR_S,
     "set the clock forward (0)"},
    {"source-time", "MS", NUMBER, AT(source_time_ms), 0, DAY_MS,
     "processing time of a source (800)"},
    {"case-time", "MS", NUMBER, AT(case_time_ms), 0, DAY_MS,
     "additional time for its cases (400)"},
    {"rate", "N", NUMBER, AT(rate), 0, 1000,
     "API calls allowed per second, 0 for no limit (10)"},
    {"url-lifetime", "SECONDS", NUMBER, AT(url_lifetime_s), 0, 7 * 86400,
     "expiry of upload URLs (900)"},
    {"data-dir", "DIR", TEXT, AT(data_dir), 0, 0, "keep uploaded files here"},
    {"log", "FILE", TEXT, AT(log_file), 0, 0,
     "append a line of JSON for each call"},
    {"faults", "FILE", TEXT, AT(fault_script), 0, 0,
     "fault script, read for each call"},
    {"help", NULL, HELP, 0, 0, 0, "print this help and exit"},
    {"version", NULL, SHOW_VERSION, 0, 0, 0, "print the version and exit"},
#undef AT
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static _Noreturn void options_print_help(void)
{
  (void)puts("Usage: docextract-sim [OPTION]...; see docextract-sim(1)\n"
             "Simulates the Document Extraction Service for trials. Not for"
             " patient data.");
  for (size_t i = 0; i < N_ROWS; i++) {
    char left[40];

    (void)snprintf(left, sizeof(left), "--%s%s%s", rows[i].name,
                   rows[i].arg != NULL ? " " : "",
                   rows[i].arg != NULL ? rows[i].arg : "");
    (void)printf("  %-22s %s\n", left, rows[i].help);
  }
  exit(EX_OK);
}

static bool options_set(struct sim_options *o, const struct row *row,
                        const char *text)
{
  void *place = (char *)o + row->offset;
  int64_t number;
  char *end;

  switch (row->kind) {
  case TEXT:
    *(const char **)place = text;
    return *text != '\0';
  case NUMBER:
    errno = 0;
    *(int64_t *)place = number = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && number >= row->min &&
           number <= row->max;
  case CLAIM:
    if (text[0] == '=' || strchr(text, '=') == NULL ||
        o->n_claims == SIM_CLAIMS_MAX)
      return false;
    o->claims[o->n_claims++] = text;
    return true;
  case HELP:
    options_print_help();
  case SHOW_VERSION:
    (void)puts("docextract-sim " PACKAGE_VERSION);
    exit(EX_OK);
  }
  return false;
}

/* Returns NULL, or a message about options that conflict. */
static const char *options_find_conflict(const struct sim_options *o)
{
  if ((o->tls_cert == NULL) != (o->tls_key == NULL))
    return "--tls-cert and --tls-key must be used together";
  if (o->storage_tls != NULL && o->tls_cert == NULL)
    return "--storage-tls needs --tls-cert";
  if ((o->key_file == NULL) != (o->algorithm == NULL))
    return "--key-file and --algorithm must be used together";
  if (o->key_file != NULL && o->token_file != NULL)
    return "--key-file and --token-file cannot be combined";
  if (o->key_file == NULL && (o->key_id != NULL || o->n_claims > 0))
    return "--key-id and --claim need --key-file";
  return NULL;
}

static _Noreturn void options_fail(void)
{
  (void)fputs("Try 'docextract-sim --help'.\n", stderr);
  exit(EX_USAGE);
}

void sim_options_parse(int argc, char **argv, struct sim_options *ret)
{
  struct option longs[N_ROWS + 1] = {{0}};
  const char *conflict;
  int index;
  int c;

  *ret = (struct sim_options){.api_port = 8480,
                              .storage_port = 8481,
                              .source_time_ms = 800,
                              .case_time_ms = 400,
                              .rate = 10,
                              .url_lifetime_s = 900};
  for (size_t i = 0; i < N_ROWS; i++) {
    longs[i].name = rows[i].name;
    longs[i].has_arg = rows[i].arg != NULL ? required_argument : no_argument;
  }
  while ((c = getopt_long(argc, argv, "", longs, &index)) != -1) {
    if (c != 0)
      options_fail();
    if (!options_set(ret, &rows[index], optarg)) {
      warnx("invalid value '%s' for --%s", optarg, rows[index].name);
      options_fail();
    }
  }
  conflict = optind < argc ? "takes no arguments" : options_find_conflict(ret);
  if (conflict == NULL)
    return;
  warnx("%s", conflict);
  options_fail();
}
