/*
 * cli.h - declarations shared by the verbs of the command. A verb is a
 * function, usually with its own file, and a row in CLI_VERBS. docextractd does
 * the work.
 *
 * Privileges: root may run the command, also for another user (a sudo rule).
 * cli_become_owner() permanently makes the process the owner of the spool,
 * before it accesses the spool, and before it shows any file. Before that, it
 * opens as root only documents to submit, the files of cupsd, and a
 * configuration that belongs to root, because the configuration names programs
 * to run.
 *
 * Output goes to stdout, errors and warnings to stderr; main.c prints the error
 * that a verb returns.
 */
#ifndef DX_CLI_H
#define DX_CLI_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "lib/base/buf.h"
#include "lib/base/user.h"
#include "lib/config/config.h"
#include "lib/control/channel.h"
#include "lib/spool/job.h"
#include "lib/print/print_job.h"
#include "lib/spool/spool.h"

/*
 * name, pattern, help. The pattern begins with the argument, in capitals, which
 * may be repeated, and in brackets if it may be omitted; then the options that
 * not all verbs accept follow. The command line, --help, and completion are
 * derived from the rows, and the checks compare the manual page with them.
 */
#define CLI_VERBS(X)                                                           \
  X(cancel,                                                                    \
    "[JOB...] [--all] [--state STATE] [--queue QUEUE]\n"                       \
    "                         [--service NAME]",                               \
    "cancel jobs and delete their documents")                                  \
  X(config, "", "check the configuration and print the effective values")      \
  X(hello, "[--service NAME]", "test the connection step by step")             \
  X(jobs,                                                                      \
    "[JOB...] [--all] [--state STATE] [--queue QUEUE]\n"                       \
    "                       [--user USER] [--service NAME] [--json]\n"         \
    "                       [--watch] [--seen]",                               \
    "list unfinished jobs and those of the last day, or show JOB")             \
  X(metrics, "", "print metrics in Prometheus format")                         \
  X(purge, "[JOB...] [--older-than AGE] [--dry-run]",                          \
    "remove finished jobs from the spool, but keep their results")             \
  X(report, "", "collect information for a bug report, without personal data") \
  X(retry,                                                                     \
    "[JOB...] [--all] [--state STATE] [--queue QUEUE]\n"                       \
    "                        [--service NAME]",                                \
    "retry failed documents, or send jobs that need a decision")               \
  X(show, "JOB|FILE... [--json] [--html]", "show the extracted values")        \
  X(submit,                                                                    \
    "FILE... [--service NAME] [--title TEXT] [--together]\n"                   \
    "                         [--text-encoding ENCODING] [--quiet]",           \
    "submit PDF, image, or text files, and wait for the results")              \
  X(wait, "JOB... [--quiet]", "wait until jobs have ended")

struct cJSON;
struct dx_nearest;

struct cli {
  /* options and arguments; borrowed from argv */
  const char *config_path;
  /* NULL: not given */
  const char *service, *title, *queue, *user;
  const char *older_than;    /* a duration */
  const char *state;         /* a cli_state_word() */
  const char *text_encoding; /* a dx_text_encoding_word(), in any case */
  bool all, together, json, html, watch, seen, dry_run, quiet;
  bool verbose, help, version;
  const char *verb; /* its whole name */
  char **args;      /* at least one, unless the pattern has it in brackets */
  size_t arg_count;
  /* released by main.c */
  struct dx_config *config; /* cli_load() */
  struct dx_spool spool;    /* cli_open_spool(); not open before */
  bool is_listing;          /* cli->all has an effect */
  bool asks;          /* cli_open_jobs(): query docextractd, not the spool */
  struct cJSON *jobs; /* its response */
  const struct cJSON *job; /* current job of cli_each_job() */
};

typedef enum dx_code cli_verb(struct cli *cli, struct dx_err *err);

#define X(name, pattern, help) cli_verb verb_##name;
CLI_VERBS(X)
#undef X

/* ---- error.c ---- */

/* The exit status (sysexits.h) for a class. */
int cli_exit_status(enum dx_class cls);

/* ---- term.c ---- */

/* Prints a fixed word; on a terminal in green or red. */
void cli_print_word(const char *word, bool is_good);

/* Prints untrusted text: invalid bytes, control characters, and characters that
 * hide or reverse text (dx_utf8_is_hidden()) become '?'. */
void cli_print_plain(const char *text);
/* The same, with a newline; on a terminal, cut to its width. */
void cli_print_line(const char *text);
/* The same for its first character; returns the number of its bytes. */
size_t cli_print_character(const char *text);

/* Prints bytes unchanged; on a terminal, without control characters except
 * newlines and tabs. A NUL must follow the bytes. */
void cli_print_bytes(const char *bytes, size_t len);
/* The width on a terminal: most Japanese characters have two columns. */
size_t cli_count_columns(const char *text);
/* How many bytes of the text fit into so many columns: all, or what leaves one
 * column for an ellipsis. */
size_t cli_fitting_bytes(const char *text, size_t columns);

/* Names on stderr a word that is none of a list, and the nearest one that is.
 * Returns the column where the line continues; 0: it has ended. */
int cli_print_unknown(const char *what, const struct dx_nearest *nearest);

/* ---- load.c ---- */

/* Reads the configuration into cli->config, replacing an earlier one. Several
 * errors are printed to stderr, one per line; *err contains the count. */
enum dx_code cli_load(struct cli *cli, struct dx_err *err) DX_MUST_USE;

/* Like cli_load(); also warns on stderr about files and directories that are
 * missing, or that the caller, the owner of the spool, cannot use; returns the
 * number of warnings. */
enum dx_code cli_check(struct cli *cli, bool is_owner, size_t *ret_warnings,
                       struct dx_err *err) DX_MUST_USE;

/* The service of --service; if it is not given, the only one, or "default".
 * Borrowed from cli->config. */
enum dx_code cli_service(const struct cli *cli,
                         const struct dx_service **ret_service,
                         struct dx_err *err) DX_MUST_USE;

/*
 * Permanently changes a root process to the owner of the spool directory.
 * Changes nothing for the owner; E_ACCESS for all others. E_ACCESS, or E_IO for
 * the owner, if the owner is not the user that backends run as: dx_user(), or
 * the one of cups-files.conf, if the caller may read that.
 */
enum dx_code cli_become_owner(const struct cli *cli,
                              struct dx_err *err) DX_MUST_USE;

/* Calls `each` for every directive that has a value in a configuration file of
 * cupsd, which is next to ours. False if it is missing, or the caller may not
 * read it. */
typedef void cli_directive(void *ctx, const char *name, const char *value);
bool cli_read_cupsd(const struct cli *cli, const char *name,
                    cli_directive *each, void *ctx);

/* The path of a program of CUPS, such as "filter/todocextract". */
void cli_server_program(const char *name, char path[PATH_MAX]);

/* Reads the configuration, becomes the owner of the spool, and opens it. */
enum dx_code cli_open_spool(struct cli *cli, struct dx_err *err) DX_MUST_USE;

/* ---- config.c ---- */

/* Warns about queues of docextract for which there is no section; nothing if
 * cupsd does not answer. Returns the number of warnings. Blocking: at most 5
 * s. */
size_t cli_check_queues(const struct dx_config *config, FILE *to);

/* Warns on stderr if --queue or --service names none, and which one is probably
 * meant: call it if no job was selected. A queue that was deleted may still
 * have jobs. Nothing if cupsd does not answer. Blocking: at most 5 s. */
void cli_check_selection(const struct cli *cli);

/* ---- spool.c ---- */

/*
 * Opens the spool. If the caller may not read it, cli_each_job() and
 * cli_read_job() request the caller's own jobs from docextractd: E_NOT_FOUND if
 * it is not running. Its list omits old jobs for a list
 * (cli->is_listing) without --all, and all jobs of its list are of
 * DX_SPOOL_JOBS. `name` is for cli_read_job(), and begins with the key of the
 * job; a key may be repeated.
 */
enum dx_code cli_open_jobs(struct cli *cli, struct dx_err *err) DX_MUST_USE;
enum dx_code cli_each_job(struct cli *cli, dx_spool_visit *each, void *ctx,
                          struct dx_err *err) DX_MUST_USE;

/* name: may be a key. E_NOT_FOUND: it was removed or moved; E_DAMAGED. */
enum dx_code cli_read_job(struct cli *cli, const char *name,
                          struct dx_job **ret_job,
                          struct dx_err *err) DX_MUST_USE;

/* Finds the key of the job that `text` names: at least CLI_KEY_LEAST digits,
 * with which only its key begins; or the name of the print job in CUPS,
 * "chart-12". CUPS may reuse a number. E_JOB, with the candidates. */
#define CLI_KEY_LEAST 4
enum dx_code cli_pick_job(struct cli *cli, const char *text,
                          char key[DX_KEY_BYTES],
                          struct dx_err *err) DX_MUST_USE;

/* The same, and reads the job. E_NOT_YET, without a message, if docextractd has
 * not picked it up yet. */
enum dx_code cli_find_job(struct cli *cli, const char *text,
                          char key[DX_KEY_BYTES], struct dx_job **ret_job,
                          struct dx_err *err) DX_MUST_USE;

/* True if the text has the form of a key or of the name of a print job. */
bool cli_is_job_name(const char *text);

/* True if the options --state, --queue, --user, and --service select the job.
 */
bool cli_is_wanted(const struct cli *cli, const struct dx_job *job);

/* Calls `one` for each argument of the command line, until a signal arrives.
 * With several arguments, each error is printed, and *err contains the count;
 * its code is that of the first error that is not temporary, if any. */
typedef enum dx_code cli_one(void *ctx, const char *text, struct dx_err *err);
enum dx_code cli_each_argument(const struct cli *cli, cli_one *one, void *ctx,
                               struct dx_err *err) DX_MUST_USE;

/* The results directory of a submission; NULL: its section is no longer
 * configured. Borrowed from cli->config. */
const char *cli_results_dir(const struct cli *cli,
                            const struct dx_submission *sub);

/* The name of a print job in lp, cancel, and lpstat: "chart-12". */
#define CLI_CUPS_NAME_BYTES 192
void cli_cups_name(const struct dx_job *job, char name[CLI_CUPS_NAME_BYTES]);

/* ---- jobs.c ---- */

/* The n-th word of dx_job_status(); NULL after the last one. Static memory. */
const char *cli_state_word(size_t n);
#define CLI_STATES (DX_ST_COUNT + 1)

/* ---- job.c ---- */

/* Prints one job in detail. message: for the administrator or the user.
 * is_driven: docextractd is running. */
void cli_print_job(const struct cli *cli, const struct dx_job *job,
                   const char *message, bool is_driven);

/* What a user can do about a job of which nothing more is sent. */
#define CLI_USER_CORRECTS "correct the refused document, and print it again"
#define CLI_USER_PRINTS "print it again, if it is still needed"

/* ---- stop.c ---- */

/* From now on, SIGINT and SIGTERM end the waits of the functions below, and
 * cli_stop_came() reports them; the second one ends the process immediately. */
void cli_stop_catch(void);
bool cli_stop_came(void);

/* Waits until fd can be read, or a signal arrives. False after timeout_ms (-1:
 * never). */
bool cli_stop_await(int fd, int timeout_ms);

/* Waits `ms`. False if the caller should stop: a signal arrived, or the reader
 * of stdout is gone. */
bool cli_stop_wait(int ms);

/* ---- docextractd.c ---- */

/*
 * Sends a request, starting docextractd if possible, and calls `said` (NULL:
 * prints it) for every line of the response, until that fails or the response
 * ends; returns the error that a response ends with. patience_ms: timeout
 * between two lines; -1: none. E_NOT_YET: after that, or if the connection was
 * lost; E_STOPPED: after a signal.
 */
#define CLI_PATIENCE_MS 30000 /* for short requests */
typedef enum dx_code cli_said(void *ctx, const struct dx_message *message);
enum dx_code cli_request(const struct cli *cli, int patience_ms, cli_said *said,
                         void *ctx, struct dx_err *err, const char *format,
                         ...) DX_MUST_USE __attribute__((format(printf, 6, 7)));

/* Whether docextractd is running. Static memory. Blocking: as
 * dx_docextractd_connect(). */
const char *cli_docextractd(const struct cli *cli);

/* ---- wait.c ---- */

#define CLI_RESTART_MS 10000 /* for a restart of docextractd, while waiting */

/* What the command returns for a job that has ended with this code, and why:
 * the same, with the command that retries it. */
enum dx_code cli_outcome(const char *key, enum dx_code code,
                         struct dx_err *err) DX_MUST_USE;

/* ---- waiting.c ---- */

/* A queue with the print jobs that are not over and have no record in the
 * spool: only CUPS has their documents. Times are wall clock, in seconds. */
struct cli_waiting {
  const char *service; /* of the configuration; "": its section is missing */
  char queue[DX_QUEUE_BYTES];
  bool is_stopped;
  size_t count, held; /* held ones count, too */
  int held_id;        /* of one that is held */
  int64_t oldest_s;   /* 0: count is 0 */
};

/*
 * Asks cupsd about the queues of docextract and, if they have any, the print
 * jobs. The caller frees *ret_queues. False if cupsd does not answer. Print
 * jobs whose identity cupsd hides are not counted. Blocking: at most 10 s.
 */
bool cli_waiting(struct cli *cli, struct cli_waiting **ret_queues,
                 size_t *ret_count);

/* ---- result.c ---- */

/*
 * Prints a result of the service for people: as a table, or as a page for a
 * browser, which shows every field at any depth. The page is self-contained: no
 * script, no other file, no network. Its Content-Security-Policy enforces this,
 * in case untrusted text is ever printed as markup.
 */

/*
 * Parses a file for `show`; numbers become strings with the digits of the
 * service. The caller frees *ret_root; its member "results" is printed.
 * E_DOCUMENT if the file is too large to parse, a manifest, or not a result.
 */
enum dx_code result_parse(const struct dx_buf *content, struct cJSON **ret_root,
                          struct dx_err *err) DX_MUST_USE;

void result_print_table(const struct cJSON *results);

void result_begin_page(void);
void result_print_page(const struct cJSON *results);
void result_print_note(const char *text); /* what is missing, and why */
void result_end_page(void);

#endif
