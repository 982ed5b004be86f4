/*
 * filter.h - what files become when they are printed, without a queue: submit
 * starts the filter of the queue and reads its bundle, so both accept the same
 * files and send the same bytes.
 *
 * The filter is started with as few rights as possible. If root runs the
 * command, that is a user who can read neither key nor spool; so filter_start()
 * comes before cli_become_owner(). Everybody else runs it as themselves.
 */
#ifndef DX_CLI_FILTER_H
#define DX_CLI_FILTER_H

#include "cli/cli.h"
#include "lib/print/bundle.h"

struct filter {
  struct dx_bundle_reader *reader;
  int bundle_fd;    /* what the filters write */
  int go_fd;        /* a byte for each file to process; -1: not started */
  int log_fd;       /* a file in memory with what they log */
  long long log_at; /* how much of it was read */
  int64_t limit_ms; /* from filter_next() to the entry */
  int64_t until_ms; /* of the file at hand; 0: its entry has begun */
};

#define FILTER_NONE                            \
  {                                            \
    .bundle_fd = -1, .go_fd = -1, .log_fd = -1 \
  }

/* Starts a process that runs the filter for one file after the other; nothing
 * is processed yet. in_fds are borrowed for the call. E_IO and others. */
enum dx_code filter_start(struct filter *f, const struct cli *cli,
                          const struct dx_service *service, const int *in_fds,
                          size_t count, struct dx_err *err) DX_MUST_USE;

/*
 * Processes the next file, and waits, at most for FilterTimeLimit and a minute.
 * The document goes to out_fd and is synced. `number` is that of the file in
 * warnings.
 *
 * *ret_entry is a document, or a refusal with its reason. E_STOPPED after a
 * signal; E_IO and others if the filter cannot be run, or hangs.
 */
enum dx_code filter_next(struct filter *f, size_t number, int out_fd,
                         struct dx_entry *ret_entry,
                         struct dx_err *err) DX_MUST_USE;

/* The processes end, at the latest, with this one. */
void filter_end(struct filter *f);

#endif
