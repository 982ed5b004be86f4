/*
 * cli.h - what the verbs of the command share. The command line is main.c's,
 * a verb is one file with one function and one row in main.c's table. All
 * work on jobs is lib's; here it is begun, told and turned into an exit
 * status.
 *
 * Who is who: the command may be started by root. Files that the caller names
 * are opened with his rights first; then cli_become_owner() makes the process
 * the owner of the spool, for good, before anything in it is touched.
 *
 * stdout has what was asked for, stderr what went wrong; main.c prints the
 * error that a verb returns.
 */
#ifndef DX_CLI_H
#define DX_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/config/config.h"
#include "lib/job/job.h"
#include "lib/job/spool.h"

struct cli {
  /* options; borrowed from argv */
  const char *config_path; /* never NULL when a verb runs */
  const char *config_from; /* what named it, for a person */
  const char *service;     /* NULL: not given */
  const char *title;       /* NULL: not given */
  const char *older_than;  /* a duration; NULL: not given */
  bool together;
  bool json;
  bool watch;
  bool dry_run;
  bool verbose;
  bool help;
  bool version;
  /* made on the way */
  struct dx_config *config; /* by cli_load(); freed by main.c */
};

/* args: count of them, as many as the verb's pattern allows. */
typedef enum dx_code cli_verb(struct cli *cli, size_t count, char **args,
                              struct dx_err *err);

cli_verb verb_cancel;
cli_verb verb_config;
cli_verb verb_hello;
cli_verb verb_jobs;
cli_verb verb_purge;
cli_verb verb_report;
cli_verb verb_retry;
cli_verb verb_show;
cli_verb verb_submit;

/* ---- exit.c ---- */

/* The exit status (sysexits.h) for a class; the one table. */
int cli_exit_status(enum dx_class cls);

/* ---- term.c ---- */

/* True if stdout is a terminal on which lines can be written over. */
bool cli_is_live(void);

/* What switches to the colour: "" where there shall be none. */
enum cli_colour { CLI_PLAIN, CLI_GREEN, CLI_RED };
const char *cli_colour(enum cli_colour colour);

void cli_screen(int *ret_lines, int *ret_columns);
void cli_screen_clear(void);

/* A line that the next one is written over, on a terminal; elsewhere a line
 * like any other. cli_line_end() before anything else is printed. */
void cli_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_line_end(void);

/* Prints text from outside: what is no character, and control characters, as
 * '?'; at most `most` characters. Returns how many. */
size_t cli_print_plain(const char *text, size_t most);

/* Prints bytes as they are; to a terminal without control characters other
 * than newlines and tabs. A NUL follows them. */
void cli_print_bytes(const char *bytes, size_t len);
size_t cli_count_characters(const char *text);

/* ---- service.c ---- */

/* Reads the configuration into cli->config, anew if it is there already. Of
 * several mistakes each has a line on stderr, and *err counts them. */
enum dx_code cli_load(struct cli *cli, struct dx_err *err) DX_MUST_USE;

/* The same, and warns on stderr of files and directories that are not there. */
enum dx_code cli_check(struct cli *cli, struct dx_err *err) DX_MUST_USE;

/* The service that --service names; without it the only one, or "default".
 * Borrowed from cli->config. */
enum dx_code cli_service(const struct cli *cli,
                         const struct dx_service **ret_service,
                         struct dx_err *err) DX_MUST_USE;

/* ---- owner.c ---- */

/*
 * Makes a process of root that of the owner of the spool directory; there is no
 * way back. Whoever owns the directory already stays as he is; anybody else is
 * told that he may not: E_ACCESS.
 */
enum dx_code cli_become_owner(const char *spool_dir,
                              struct dx_err *err) DX_MUST_USE;

/*
 * Shows that the spool directory belongs to the user that cupsd runs backends
 * as: E_ACCESS, with what to do. cups_files_fd (-1: not to be had, then anybody
 * may own it) is read and closed. To be called before cli_become_owner().
 */
enum dx_code cli_check_owner(const char *spool_dir, int cups_files_fd,
                             struct dx_err *err) DX_MUST_USE;

/* The name of the user we are now; "user 1000" when there is none. */
#define CLI_USER_BYTES 64
void cli_user_name(char name[CLI_USER_BYTES]);

/* ---- spool.c ---- */

/* Reads the configuration, becomes the owner of the spool and opens it. */
enum dx_code cli_open_spool(struct cli *cli, struct dx_spool *ret_spool,
                            struct dx_err *err) DX_MUST_USE;

/*
 * The key of the job that `text` is, or of the only one that begins so; at
 * least CLI_KEY_LEAST digits. E_JOB, with the possibilities.
 */
#define CLI_KEY_LEAST 4
enum dx_code cli_pick_job(struct dx_spool *spool, const char *text,
                          char key[DX_KEY_BYTES],
                          struct dx_err *err) DX_MUST_USE;

/* Shows that spool and results can be written: a result that could not be
 * dropped is found out before it is paid for. */
enum dx_code cli_probe(const struct dx_config *config,
                       const struct dx_service *service,
                       struct dx_err *err) DX_MUST_USE;

/* How lp, cancel and lpstat call a job of CUPS: "chart-12". */
#define CLI_CUPS_NAME_BYTES 192
void cli_cups_name(const struct dx_job *job, char name[CLI_CUPS_NAME_BYTES]);

/* A file of cupsd's, which lies beside our configuration, opened with the
 * caller's rights; -1: there is none, or he may not. */
int cli_open_beside(const char *config_path, const char *name);

/* ---- reportlog.c ---- */

/* cupsd's error_log, opened with the caller's rights; -1: it is not to be had.
 */
int report_open_log(const char *config_path);

/* Prints the last lines of it that are known to tell of our programs and to
 * hold nothing that a person wrote. Reads and closes fd, which may be -1. */
void report_log(int fd);

/* ---- daemon.c ---- */

/* True if another process holds the lock that docextractd holds as long as it
 * runs. False if the spool cannot be looked into. */
bool cli_daemon_runs(const char *spool_dir);

/* Its process id; 0 if it does not run. */
pid_t cli_daemon_pid(const char *spool_dir);

/* ---- drive.c ---- */

/* From here on SIGINT and SIGTERM are noticed by cli_stop_came() and end
 * cli_drive(); the second one ends the process at once. */
void cli_stop_catch(void);
bool cli_stop_came(void);

/* Waits so long. False if waiting on makes no sense: a signal came, or nobody
 * reads our stdout any more. */
bool cli_stop_wait(int ms);

/*
 * Moves a stored job forward until nothing is left to do, with a line of
 * progress now and then. What became of it: that of dx_job_outcome();
 * E_STOPPED after a signal.
 */
enum dx_code cli_drive(struct cli *cli, struct dx_spool *spool,
                       struct dx_job *job, struct dx_err *err) DX_MUST_USE;

/*
 * The same to the end: on success no document bytes stay; the files of the
 * results are printed, and a failure is told with how to go on. Why a job
 * came to no end is left in its journal, for `docextract jobs`.
 */
enum dx_code cli_finish(struct cli *cli, struct dx_spool *spool,
                        struct dx_job *job, struct dx_err *err) DX_MUST_USE;

/* ---- warn.c ---- */

/*
 * Prints what is no failure of the service but will annoy somebody, one line
 * "warning: ..." each: results that cannot be written, a separator page that
 * cannot be read, titles in cupsd's logs, a docextractd that does not run. To
 * be called as the spool's owner; cupsd_conf_fd (-1: there is none) was opened
 * before, and is read to its end.
 */
void warn_all(const struct dx_config *config, const struct dx_service *service,
              int cupsd_conf_fd);
void warn_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
