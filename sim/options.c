/*
 * options.c - the command line of docextract-sim.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "sim/options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "0-unconfigured"
#endif

#define PROGRAM "docextract-sim"
#define YEAR_S (366 * 86400)
#define DAY_MS 86400000

enum kind { TEXT, WHOLE, REAL, FLAG, CLAIM, HELP, SHOW_VERSION };

struct row {
  const char *name;
  const char *arg; /* NULL: takes none */
  enum kind kind;
  size_t offset;
  int64_t min;
  int64_t max;
  const char *help;
};

#define AT(member) offsetof(struct sim_options, member)

static const struct row rows[] = {
    {"port", "N", WHOLE, AT(api_port), 0, 65535,
     "port of the API, 0 takes a free one (8480)"},
    {"storage-port", "N", WHOLE, AT(storage_port), 0, 65535,
     "port of the object storage, likewise (8481)"},
    {"bind", "ADDR", TEXT, AT(bind_address), 0, 0,
     "loopback address to listen on (127.0.0.1)"},
    {"ready-file", "FILE", TEXT, AT(ready_file), 0, 0,
     "gets both addresses and the process id once both ports listen"},
    {"tls-cert", "FILE", TEXT, AT(tls_cert), 0, 0,
     "certificate chain (PEM): TLS on both ports"},
    {"tls-key", "FILE", TEXT, AT(tls_key), 0, 0, "its key (PEM)"},
    {"key-file", "FILE", TEXT, AT(key_file), 0, 0,
     "verify signed tokens with this key: the secret itself for HS..., else a"
     " public key (PEM)"},
    {"algorithm", "ALG", TEXT, AT(algorithm), 0, 0,
     "HS, RS, PS or ES with 256, 384 or 512, or EdDSA"},
    {"key-id", "KID", TEXT, AT(key_id), 0, 0, "the key id tokens must name"},
    {"claim", "NAME=VALUE", CLAIM, 0, 0, 0,
     "a claim tokens must make; may be given several times"},
    {"token-file", "FILE", TEXT, AT(token_file), 0, 0,
     "the one token that is accepted; without this and --key-file any is"},
    {"skew", "S", WHOLE, AT(skew_s), -YEAR_S, YEAR_S,
     "the server's clock is S seconds ahead (0)"},
    {"separator-text", "TEXT", TEXT, AT(separator_text), 0, 0,
     "a PDF page with this text separates cases (DOCEXTRACT CASE SEPARATOR)"},
    {"source-time", "MS", WHOLE, AT(source_time_ms), 0, DAY_MS,
     "processing time of a source after its last file (800)"},
    {"case-time", "MS", WHOLE, AT(case_time_ms), 0, DAY_MS,
     "time from then until its cases can be fetched (400)"},
    {"time-median", "S", REAL, AT(time_median_s), 0, 86400,
     "lognormal processing times instead, with this median"},
    {"time-sigma", "X", REAL, AT(time_sigma), 0, 10, "and this sigma (0.6)"},
    {"seed", "N", WHOLE, AT(seed), 0, INT32_MAX, "seed of these times (1)"},
    {"rate", "N", WHOLE, AT(rate), 0, 100000,
     "API calls let through in any second, 0 for no limit (10)"},
    {"url-lifetime", "S", WHOLE, AT(url_lifetime_s), 0, 7 * 86400,
     "upload URLs expire after S seconds (900)"},
    {"data-dir", "DIR", TEXT, AT(data_dir), 0, 0,
     "keep uploaded files here (a temporary folder, removed at the end)"},
    {"max-size", "BYTES", WHOLE, AT(max_size), 0, INT64_MAX,
     "answer 413 to larger uploads; 0 for no limit (0)"},
    {"log", "FILE", TEXT, AT(log_file), 0, 0,
     "append a line of JSON for each call; no tokens, no patient data"},
    {"log-names", NULL, FLAG, AT(log_names), 0, 0,
     "with the file names of created sources, for tests"},
    {"faults", "FILE", TEXT, AT(faults_file), 0, 0,
     "script of faults, see below; read again when it changes"},
    {"help", NULL, HELP, 0, 0, 0, "print this and exit"},
    {"version", NULL, SHOW_VERSION, 0, 0, 0, "print the version and exit"},
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static const char intro[] =
    "Usage: " PROGRAM " [OPTION]...\n"
    "A stand-in for the Document Extraction Service, for trying and testing,\n"
    "never for patients' data. It reads PDF files with pdftotext; the text\n"
    "of pictures (JPEG, PNG) is not read. SIGTERM or SIGINT ends it.\n"
    "\n";

static const char outro[] =
    "\n"
    "Lines of a fault script: CALL WHICH ACTION [ARGUMENT], # for comments.\n"
    "  CALL    create, put, source, extract, hello or any\n"
    "  WHICH   3, 2-4, 2- or *: which calls of this kind, counted from 1\n"
    "  ACTION  status CODE [Header: value]   answer so, do nothing\n"
    "          after-status CODE [Header: v] do the call, then answer so\n"
    "          close     do the call, close the connection unanswered\n"
    "          drop      close the connection, do nothing\n"
    "          delay MS  wait, then go on as usual\n"
    "          hang      never answer\n"
    "          garbage   200 with a body that is not JSON, do nothing\n"
    "          body TEXT 200 with this body, do nothing\n"
    "          short     do the call, cut the answer short\n"
    "          redirect URL   answer 307, do nothing\n"
    "          failed    (create) the source will end as failed\n"
    "          stuck     (create) the source stays pending_upload\n"
    "          lose      (put) answer 200 but forget the file\n"
    "          forget    (source, extract) the source no longer exists\n"
    "          word TEXT (source) answer with this status word\n"
    "The first line that fits a call counts.\n";

const char *sim_version(void)
{
  return PACKAGE_VERSION;
}

static void print_help(void)
{
  (void)fputs(intro, stdout);
  for (size_t i = 0; i < N_ROWS; i++) {
    char left[40];

    (void)snprintf(left, sizeof(left), "--%s%s%s", rows[i].name,
                   rows[i].arg != NULL ? " " : "",
                   rows[i].arg != NULL ? rows[i].arg : "");
    (void)printf("  %-22s %s\n", left, rows[i].help);
  }
  (void)fputs(outro, stdout);
}

static bool read_whole(const struct row *row, const char *text, int64_t *ret)
{
  char *end;
  long long n;

  errno = 0;
  n = strtoll(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || n < row->min || n > row->max)
    return false;
  *ret = n;
  return true;
}

static bool read_real(const struct row *row, const char *text, double *ret)
{
  char *end;
  double x = strtod(text, &end);

  if (end == text || *end != '\0' || !isfinite(x) || x < (double)row->min ||
      x > (double)row->max)
    return false;
  *ret = x;
  return true;
}

static bool add_claim(struct sim_options *o, const char *text)
{
  const char *equals = strchr(text, '=');

  if (equals == NULL || equals == text || o->n_claims == SIM_CLAIMS_MAX)
    return false;
  o->claims[o->n_claims++] = text;
  return true;
}

static bool set_option(struct sim_options *o, const struct row *row,
                       const char *text)
{
  void *place = (char *)o + row->offset;

  switch (row->kind) {
  case TEXT:
    *(const char **)place = text;
    return *text != '\0';
  case WHOLE:
    return read_whole(row, text, place);
  case REAL:
    return read_real(row, text, place);
  case FLAG:
    *(bool *)place = true;
    return true;
  case CLAIM:
    return add_claim(o, text);
  case HELP:
  case SHOW_VERSION:
    break;
  }
  return false;
}

static void set_defaults(struct sim_options *o)
{
  *o = (struct sim_options){
      .api_port = 8480,
      .storage_port = 8481,
      .bind_address = "127.0.0.1",
      .separator_text = "DOCEXTRACT CASE SEPARATOR",
      .source_time_ms = 800,
      .case_time_ms = 400,
      .time_sigma = 0.6,
      .seed = 1,
      .rate = 10,
      .url_lifetime_s = 900,
  };
}

/* What does not go together; NULL when all is well. */
static const char *contradiction(const struct sim_options *o)
{
  if ((o->tls_cert == NULL) != (o->tls_key == NULL))
    return "--tls-cert and --tls-key go together";
  if ((o->key_file == NULL) != (o->algorithm == NULL))
    return "--key-file and --algorithm go together";
  if (o->key_file != NULL && o->token_file != NULL)
    return "--key-file and --token-file exclude each other";
  if (o->key_file == NULL && (o->key_id != NULL || o->n_claims > 0))
    return "--key-id and --claim need --key-file";
  return NULL;
}

static enum sim_parse take_row(struct sim_options *o, const struct row *row)
{
  if (row->kind == HELP) {
    print_help();
    return SIM_PARSE_DONE;
  }
  if (row->kind == SHOW_VERSION) {
    (void)printf(PROGRAM " %s\n", sim_version());
    return SIM_PARSE_DONE;
  }
  if (set_option(o, row, optarg))
    return SIM_PARSE_RUN;
  (void)fprintf(stderr, PROGRAM ": wrong value '%s' for --%s\n", optarg,
                row->name);
  return SIM_PARSE_WRONG;
}

static enum sim_parse parse_rows(int argc, char **argv, struct sim_options *o)
{
  struct option longs[N_ROWS + 1] = {{0}};
  int index;
  int c;

  for (size_t i = 0; i < N_ROWS; i++) {
    longs[i].name = rows[i].name;
    longs[i].has_arg = rows[i].arg != NULL ? required_argument : no_argument;
  }
  while ((c = getopt_long(argc, argv, "", longs, &index)) != -1) {
    enum sim_parse p = c == 0 ? take_row(o, &rows[index]) : SIM_PARSE_WRONG;

    if (p != SIM_PARSE_RUN)
      return p;
  }
  return SIM_PARSE_RUN;
}

enum sim_parse sim_options_parse(int argc, char **argv, struct sim_options *ret)
{
  const char *wrong;
  enum sim_parse p;

  set_defaults(ret);
  p = parse_rows(argc, argv, ret);
  if (p == SIM_PARSE_RUN) {
    wrong = optind < argc ? "takes no arguments" : contradiction(ret);
    if (wrong == NULL)
      return p;
    (void)fprintf(stderr, PROGRAM ": %s\n", wrong);
    p = SIM_PARSE_WRONG;
  }
  if (p == SIM_PARSE_WRONG)
    (void)fprintf(stderr, "Try '" PROGRAM " --help'.\n");
  return p;
}
