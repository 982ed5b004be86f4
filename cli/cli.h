/*
 * cli.h - what the verbs of the command share. A verb is a function, usually
 * with a file, and a row in CLI_VERBS. docextractd does the work.
 *
 * Privileges: root may run the command, also for another user (a sudo rule).
 * cli_become_owner() makes the process the owner of the spool, for good, before
 * anything in it is touched, and before any file is shown. Before that, root's
 * rights open only documents to submit, the files of cupsd, and a configuration
 * that belongs to root: it names the programs that are run.
 *
 * What was asked for goes to stdout, errors and warnings to stderr; main.c
 * prints the error that a verb returns.
 */
#ifndef DX_CLI_H
#define DX_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/user.h"
#include "lib/config/config.h"
#include "lib/control/channel.h"
#include "lib/spool/job.h"
#include "lib/spool/spool.h"

/*
 * name, pattern, help. Words of the pattern in capitals are arguments; one
 * with "..." may be repeated. Options that are not accepted everywhere are in
 * brackets. Command line, --help and completion follow from the rows, and the
 * checks compare the manual page with them.
 */
#define CLI_VERBS(X)                                                       \
  X(cancel, "JOB...", "stop a job and delete its documents")               \
  X(config, "", "check the configuration and print every value in effect") \
  X(hello, "[--service NAME]",                                             \
    "check whether jobs will work, and what fails if not")                 \
  X(jobs,                                                                  \
    "[--all] [--state STATE] [--queue QUEUE] [--user USER] "               \
    "[--service NAME] [--json] [--watch] [--seen]",                        \
    "list the unfinished and the last day's jobs, newest last")            \
  X(metrics, "", "print metrics in Prometheus format")                     \
  X(purge, "[JOB...] [--older-than AGE] [--dry-run]",                      \
    "remove finished jobs from the spool, but no results")                 \
  X(report, "", "print what a bug report needs, without personal data")    \
  X(retry, "JOB... [--service NAME]",                                      \
    "retry failed documents, or send a job that needs a decision")         \
  X(show, "JOB|FILE... [--json] [--html]", "show the extracted values")    \
  X(submit, "FILE... [--service NAME] [--title TEXT] [--together]",        \
    "send PDF files, pictures, or text, and wait for the results")

struct dx_json;

struct cli {
  /* options and arguments; borrowed from argv */
  const char *config_path; /* never NULL when a verb runs */
  const char *config_from; /* where the path comes from, for display */
  /* NULL: not given */
  const char *service, *title, *queue, *user;
  const char *older_than; /* a duration */
  const char *state;      /* a cli_state_word() */
  bool all, together, json, html, watch, seen, dry_run;
  bool verbose, help, version;
  char **args; /* as many as the pattern allows */
  size_t arg_count;
  /* released by main.c */
  struct dx_config *config;  /* cli_load() */
  struct dx_spool spool;     /* cli_open_spool(); {-1, -1} before */
  bool is_listing;           /* cli->all counts */
  bool asks;                 /* cli_open_jobs(): docextractd, not the spool */
  struct dx_json *jobs;      /* what it responded */
  const struct dx_json *job; /* the one that cli_each_job() is at */
};

typedef enum dx_code cli_verb(struct cli *cli, struct dx_err *err);

#define X(name, pattern, help) cli_verb verb_##name;
CLI_VERBS(X)
#undef X

/* ---- error.c ---- */

/* The exit status (sysexits.h) for a class; the one table. */
int cli_exit_status(enum dx_class cls);

/* ---- term.c ---- */

/* True if stdout is a terminal on which lines can be overwritten. */
bool cli_is_live(void);

/* Prints a word of ours; on a terminal in green or red. */
void cli_print_word(const char *word, bool is_good);

void cli_screen(int *ret_lines, int *ret_columns);

/* On a terminal, a line that the next one overwrites; elsewhere an ordinary
 * line. Call cli_line_end() before anything else is printed. */
void cli_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_line_end(void);

/* Prints text from outside: invalid bytes, control characters, and what would
 * hide or reverse other text (dx_utf8_is_hidden()) become '?'; at most `most`
 * characters. Returns how many bytes of the text these are. */
size_t cli_print_plain(const char *text, size_t most);

/* Prints bytes as they are; to a terminal without control characters other
 * than newlines and tabs. A NUL follows them. */
void cli_print_bytes(const char *bytes, size_t len);
size_t cli_count_characters(const char *text);

/* ---- load.c ---- */

/* Reads the configuration into cli->config, replacing an earlier one. Several
 * errors are printed to stderr, one a line, and *err counts them. */
enum dx_code cli_load(struct cli *cli, struct dx_err *err) DX_MUST_USE;

/* The same; also warns on stderr about files and directories that are missing,
 * or that the owner of the spool, who runs this, cannot use, and counts them.
 */
enum dx_code cli_check(struct cli *cli, bool is_owner, size_t *ret_warnings,
                       struct dx_err *err) DX_MUST_USE;

/* The service that --service names; without it the only one, or "default".
 * Borrowed from cli->config. */
enum dx_code cli_service(const struct cli *cli,
                         const struct dx_service **ret_service,
                         struct dx_err *err) DX_MUST_USE;

/*
 * Turns a root process into one of the owner of the spool directory, for good;
 * with dx_user(), only if that user is the owner. Nothing changes for the
 * owner; all others get E_ACCESS.
 */
enum dx_code cli_become_owner(const char *spool_dir,
                              struct dx_err *err) DX_MUST_USE;

/*
 * Checks that the spool directory belongs to the user that cupsd runs backends
 * as, if the caller may read cups-files.conf: E_ACCESS, with what to do. Call
 * it before cli_become_owner().
 */
enum dx_code cli_check_owner(const struct cli *cli,
                             struct dx_err *err) DX_MUST_USE;

/* Reads the configuration and becomes the owner of the spool. */
enum dx_code cli_load_as_owner(struct cli *cli, struct dx_err *err) DX_MUST_USE;

/* The same, and opens it. */
enum dx_code cli_open_spool(struct cli *cli, struct dx_err *err) DX_MUST_USE;

/* ---- spool.c ---- */

/*
 * Opens the spool; for a caller who may not read it, cli_each_job() and
 * cli_read_job() ask docextractd for the caller's own jobs instead: E_NOT_FOUND
 * if it is not running. `finished` is called for jobs in finished/, and
 * `unfinished` for all others and for what docextractd lists, which leaves out
 * what is old for a list (cli->is_listing) without --all. `name` is for
 * cli_read_job(), and begins with the key of the job; a key may come twice.
 */
enum dx_code cli_open_jobs(struct cli *cli, struct dx_err *err) DX_MUST_USE;
typedef enum dx_code cli_each(void *ctx, const char *name);
enum dx_code cli_each_job(struct cli *cli, cli_each *unfinished,
                          cli_each *finished, void *ctx,
                          struct dx_err *err) DX_MUST_USE;

/* name: also a key. E_NOT_FOUND: it is gone, or was picked up; E_DAMAGED. */
enum dx_code cli_read_job(struct cli *cli, const char *name,
                          struct dx_job **ret_job,
                          struct dx_err *err) DX_MUST_USE;

/* The key of the job that `text` names: by at least CLI_KEY_LEAST digits that
 * only its key begins with, or as CUPS names the print job, "chart-12"; CUPS
 * may reuse a number. E_JOB, with the candidates. */
#define CLI_KEY_LEAST 4
enum dx_code cli_pick_job(struct cli *cli, const char *text,
                          char key[DX_KEY_BYTES],
                          struct dx_err *err) DX_MUST_USE;

/* True if it has the form of such a name. */
bool cli_is_job_name(const char *text);

/* Calls `one` for each argument of the command line, unless a signal came. With
 * several arguments each error is printed, and *err counts them; its code is
 * that of the first error that is not temporary, if there is one. */
typedef enum dx_code cli_one(void *ctx, const char *text, struct dx_err *err);
enum dx_code cli_each_argument(const struct cli *cli, cli_one *one, void *ctx,
                               struct dx_err *err) DX_MUST_USE;

/* Whether the user of this process, whom backends run as, may write to the
 * spool, and to the results. Only permissions are checked. */
enum dx_code cli_check_spool(const struct dx_config *config,
                             struct dx_err *err) DX_MUST_USE;
enum dx_code cli_check_results(const struct dx_service *service,
                               struct dx_err *err) DX_MUST_USE;

/* Where the results of a submission are delivered; NULL: its section is no
 * longer in the configuration. Borrowed from cli->config. */
const char *cli_results_dir(const struct cli *cli,
                            const struct dx_submission *sub);

/* A print job as lp, cancel and lpstat name it: "chart-12". */
#define CLI_CUPS_NAME_BYTES 192
void cli_cups_name(const struct dx_job *job, char name[CLI_CUPS_NAME_BYTES]);

/* ---- jobs.c ---- */

/* The n-th word of dx_job_status(), or NULL after the last one. Static memory.
 */
const char *cli_state_word(size_t n);

/* ---- stop.c ---- */

/* From here on SIGINT and SIGTERM are seen by cli_stop_came() and end every
 * waiting below; the second one ends the process at once. */
void cli_stop_catch(void);
bool cli_stop_came(void);

/* Waits until fd can be read, or a signal came. False after timeout_ms (-1:
 * never). */
bool cli_stop_await(int fd, int timeout_ms);

/* Waits that long. False if there is no point in going on: a signal came, or
 * no process reads our stdout any more. */
bool cli_stop_wait(int ms);

/* ---- docextractd.c ---- */

/* The next message. E_NOT_YET after timeout_ms (-1: never), E_STOPPED after a
 * signal, E_NET if docextractd is gone. */
enum dx_code cli_receive(struct dx_channel *channel, int timeout_ms,
                         struct dx_message *message,
                         struct dx_err *err) DX_MUST_USE;

/*
 * Sends a request, for which docextractd is started where that is possible, and
 * calls `said` (NULL: prints it) for every line of the response but an error,
 * which is returned. patience_ms: how long it may say nothing; -1: any time.
 */
#define CLI_PATIENCE_MS 30000 /* for what takes no time */
typedef void cli_said(const struct dx_message *message);
enum dx_code cli_request(const struct cli *cli, int patience_ms, cli_said *said,
                         struct dx_err *err, const char *format,
                         ...) DX_MUST_USE __attribute__((format(printf, 5, 6)));

/* How docextractd runs, in words of ours. Static memory. Starts nothing. The
 * spool is open. */
const char *cli_docextractd(const struct cli *cli);
const char *cli_started_text(enum dx_started started);

/* ---- attend.c ---- */

/* Follows a job that was committed, with lines of progress, until it ends, and
 * prints the paths of its results. After a signal, when it takes too long, or
 * when an administrator must act first, the error says that it goes on. */
enum dx_code cli_attend(struct cli *cli, const struct dx_job *job,
                        struct dx_err *err) DX_MUST_USE;

/* ---- hello.c ---- */

/* The layers of lib/base/sandbox.h that a process would have here. Starts one,
 * and waits for it. */
unsigned cli_sandbox_layers(void);

#endif
