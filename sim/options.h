/*
 * options.h - the command line of docextract-sim.
 *
 * One table makes the parser and --help. The strings point into argv.
 */
#ifndef SIM_OPTIONS_H
#define SIM_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#define SIM_CLAIMS_MAX 16

struct sim_options {
  int64_t api_port;
  int64_t storage_port;
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
  int64_t source_time_ms;
  int64_t case_time_ms;
  int64_t rate; /* API calls in any second; 0: no limit */
  int64_t url_lifetime_s;
  const char *data_dir;
  const char *log_file;
  const char *fault_script;
};

/*
 * Reads the command line. Prints help, version or a usage error and exits
 * where that is all there is to do.
 */
void sim_options_parse(int argc, char **argv, struct sim_options *ret);

#endif
