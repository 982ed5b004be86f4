/*
 * options.h - the command line of docextract-sim.
 *
 * One table makes the parser and --help.
 * Ownership: the strings point into argv; nothing to free.
 */
#ifndef SIM_OPTIONS_H
#define SIM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_CLAIMS_MAX 16

struct sim_options {
  int64_t api_port;
  int64_t storage_port;
  const char *bind_address;
  const char *ready_file;
  const char *tls_cert;
  const char *tls_key;
  const char *key_file;
  const char *algorithm;
  const char *key_id;
  const char *claims[SIM_CLAIMS_MAX]; /* NAME=VALUE */
  size_t n_claims;
  const char *token_file;
  int64_t skew_s;
  const char *separator_text;
  int64_t source_time_ms;
  int64_t case_time_ms;
  double time_median_s; /* 0: source_time_ms counts */
  double time_sigma;
  int64_t seed;
  int64_t rate; /* API calls in any second; 0: no limit */
  int64_t url_lifetime_s;
  const char *data_dir;
  int64_t max_size; /* bytes; 0: no limit */
  const char *log_file;
  bool log_names;
  const char *faults_file;
};

enum sim_parse { SIM_PARSE_RUN, SIM_PARSE_DONE, SIM_PARSE_WRONG };

/*
 * Reads the command line into *ret. DONE: --help or --version was printed;
 * WRONG: the reason was printed on standard error.
 */
enum sim_parse sim_options_parse(int argc, char **argv,
                                 struct sim_options *ret);

/* The version of this program. */
const char *sim_version(void);

#endif
