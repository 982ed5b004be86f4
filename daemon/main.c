/*
 * main.c - docextractd: processes all jobs of a spool. Command line, signals,
 * configuration, lock, systemd; manager.c processes the jobs.
 *
 * SIGTERM and SIGINT end it within two seconds; its progress is in the journals
 * of the jobs. SIGHUP, or a change of the file or of one that it names, reloads
 * the configuration. If the configuration is invalid at the start, docextractd
 * keeps running, and reports the error to all clients until the file is fixed.
 * It runs as the user that backends run as. If root starts it, it becomes the
 * separate user, if docextract was configured with one.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "daemon/control.h"
#include "daemon/manager.h"
#include "daemon/status.h"
#include "daemon/sweep.h"
#include "daemon/files.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/base/process.h"
#include "lib/base/user.h"
#include "lib/control/channel.h"
#include "lib/spool/sentence.h"

#define TURN_MS 1000 /* the longest wait: see control.h */

/* Kept if the next configuration names the same directory: while it is not
 * locked, clients report that docextractd is not running. */
struct held {
  struct dx_spool spool;
  char *dir;
  int lock_fd;
};
#define HELD_NONE                                              \
  {                                                            \
    .spool = {.dirfd = -1, .history_dirfd = -1}, .lock_fd = -1 \
  }

/* From one configuration to the next. */
struct daemon {
  const char *config_path;
  int signal_fd;
  struct dx_err wrong; /* error of the configuration, or DX_OK */
  struct held held;
  struct files files;
  struct dx_http *http;
  struct manager manager; /* inactive without a configuration */
  struct control *control;
  struct status status;
  struct dx_sweep sweep;
  int64_t sweep_ms;
  struct dx_config *next; /* of the file that has changed; NULL: it has not */
  bool stop;
};

static bool is_verbose, is_journal;

/* No title, name, token or signed URL is logged, at any level. */
static void print_line(enum dx_log_level level, const char *line)
{
  static const char *const levels[] = {SD_DEBUG, SD_INFO, SD_WARNING, SD_ERR};

  if (level != DX_LOG_DEBUG || is_verbose)
    fprintf(stderr, "%s%s\n", is_journal ? levels[level] : "", line);
}

/* ---- configuration ---- */

/* Also rejects directories that the systemd unit hides: consumers would not
 * find the results. */
static enum dx_code load_config(const struct daemon *d,
                                struct dx_config **ret_config,
                                struct dx_err *err)
{
  char text[DX_ERR_TEXT_BYTES];
  size_t at = 0;
  enum dx_code code = dx_config_load(d->config_path, ret_config, NULL, err);

  if (code != DX_OK || getenv("NOTIFY_SOCKET") == NULL ||
      !dx_config_drop_in(*ret_config, "/proc/self/mountinfo", &at, text))
    return code;
  dx_config_free(ret_config);
  return dx_fail(err, DX_E_CONFIG, 0, "%s", text);
}

/*
 * True if everything must be read again. A client that has just connected must
 * not get an answer that precedes a change: after a reload, it connects again
 * by itself, because it has not been greeted. A TokenFile is read for each
 * call: a program may replace it each minute, which must not interrupt uploads.
 * While the configuration is invalid, it is read at each look, because the
 * cause may be outside of it, such as the owner of a program.
 */
static bool is_changed(struct daemon *d)
{
  struct files_changes changes;

  if (control_has_new_client(d->control))
    d->files.due_ms = 0;
  if (!files_look(&d->files, d->manager.config, &changes))
    return false;
  return changes.config || changes.named || d->wrong.code != DX_OK ||
         (changes.tokens && manager_needs_admin(&d->manager));
}

/* An invalid configuration is reported, also to `docextract hello`, and
 * ignored. is_asked: by SIGHUP; else the same error is not logged again. */
static void reload(struct daemon *d, bool is_asked)
{
  struct dx_err err, full;

  if (load_config(d, &d->next, &err) == DX_OK) {
    (void)sd_notify(0, "RELOADING=1");
    dx_log(DX_LOG_INFO, "reloading '%s'", d->config_path);
    return;
  }
  full = err;
  dx_advise(&full);
  if (is_asked || strcmp(full.text, d->wrong.text) != 0)
    dx_log(DX_LOG_ERROR, "%s: %s; %s", dx_code_name(err.code), err.text,
           d->manager.config != NULL ? "keeping the previous configuration"
                                     : "nothing is sent until it is fixed");
  d->wrong = full;
}

/* Backends could not access files that root creates. Called before the spool is
 * opened, because that creates its directories. */
static enum dx_code check_user(const char *dir, struct dx_err *err)
{
  char owner[DX_USER_BYTES];
  struct stat st;

  if (stat(dir, &st) < 0 || st.st_uid == geteuid())
    return DX_OK; /* opening it reports the error */
  dx_user_name_of(st.st_uid, owner);
  if (dx_user() != NULL) /* temporary: the owner is about to change */
    return dx_fail(err, DX_E_ACCESS, 0,
                   "SpoolDir '%s' belongs to '%s' instead of '%s'; fix it "
                   "with: chown -R %s: '%s/'",
                   dir, owner, dx_user(), dx_user(), dir);
  return dx_fail(err, DX_E_CONFIG, 0,
                 "SpoolDir '%s' belongs to '%s'; run docextractd as that user: "
                 "set User= in its unit, or run: runuser -u %s -- docextractd",
                 dir, owner, owner);
}

/* ---- the control socket ---- */

static void on_message(void *ctx, struct client *client,
                       const struct dx_message *message)
{
  struct daemon *d = ctx;
  bool is_wrong = d->manager.config == NULL ||
                  (message->verb == DX_VERB_HELLO && d->wrong.code != DX_OK);

  if (!is_wrong) {
    verbs_message(&d->manager, client, message);
  } else if (message->verb == DX_VERB_ATTEND) {
    attend_tell_wrong(client, &d->wrong); /* it attends again after a change */
  } else if (message->verb != DX_VERB_ALIVE && /* it stays connected */
             message->verb != DX_VERB_LEAVE && /* which is repeated */
             message->verb != DX_VERB_STOPPING /* `ended` follows */) {
    verbs_refuse(client, &d->wrong);
    client_close(client);
  }
}

/* ---- start, loop, stop ---- */

static void release(struct held *held)
{
  if (held->lock_fd >= 0)
    (void)close(held->lock_fd);
  dx_spool_close(&held->spool);
  free(held->dir);
  *held = (struct held)HELD_NONE;
}

/* Opens and locks the spool, unless it is the one that is held. */
static enum dx_code hold(struct held *held, const char *dir, struct dx_err *err)
{
  struct stat a, b;
  enum dx_code code;

  if (held->dir != NULL && strcmp(held->dir, dir) == 0 &&
      fstat(held->spool.dirfd, &a) == 0 && stat(dir, &b) == 0 &&
      a.st_dev == b.st_dev && a.st_ino == b.st_ino)
    return DX_OK;
  release(held);
  held->dir = strdup(dir);
  code = held->dir != NULL ? check_user(dir, err) : dx_fail_nomem(err);
  if (code == DX_OK)
    code = dx_spool_open(dir, &held->spool, err);
  if (code != DX_OK)
    return code;
  held->lock_fd = dx_spool_hold_lock(&held->spool, err);
  return held->lock_fd >= 0 ? DX_OK : err->code;
}

/* Takes ownership of the configuration. If it is invalid (d->wrong), only the
 * spool is used. */
static enum dx_code start(struct daemon *d, struct dx_config *config,
                          struct dx_err *err)
{
  const struct control_ops ops = {on_message, verbs_closed, d};
  enum dx_code code;
  size_t i;

  d->http = dx_http_new();
  d->manager.spool = &d->held.spool;
  d->manager.http = d->http;
  d->manager.status = &d->status;
  d->manager.stop_fd = d->signal_fd;
  code = d->http != NULL ? hold(&d->held, config->spool_dir, err)
                         : dx_fail_nomem(err);
  if (code == DX_OK) {
    d->control = control_new(&d->held.spool, &ops, err);
    code = d->control != NULL ? DX_OK : err->code;
  }
  d->manager.has_leftovers = code == DX_OK && control_was_left(d->control);
  if (code != DX_OK || d->wrong.code != DX_OK)
    dx_config_free(&config);
  if (code != DX_OK)
    return code;
  if (d->wrong.code != DX_OK) {
    dx_log(DX_LOG_ERROR, "%s: %s; nothing is sent until it is fixed",
           dx_code_name(d->wrong.code), d->wrong.text);
    return DX_OK;
  }
  /* Logged here, because messages of the filters are shown to users, or
   * discarded. */
  for (i = 0; i < config->service_count; i++)
    if (config->services[i].sandbox == DX_SANDBOX_IS_OPTIONAL)
      dx_log(DX_LOG_WARNING,
             "<Service %s>: 'Sandbox optional' is set: without seccomp in the "
             "kernel, documents are parsed without a sandbox",
             config->services[i].name);
  d->sweep = (struct dx_sweep){.config = config,
                               .held = manager_job,
                               .damaged = manager_damaged,
                               .expire = manager_expire,
                               .ctx = &d->manager,
                               .rerun = cupsd_may_rerun,
                               .rerun_ctx = &d->manager.cupsd,
                               .expire_ms = d->sweep.expire_ms};
  files_follow(&d->files, config);
  status_start(&d->status, config, is_verbose ? "--verbose" : NULL);
  return manager_start(&d->manager, config, err);
}

static void sweep(struct daemon *d)
{
  if ((dx_monotonic_ms() < d->sweep_ms && !dx_sweep_is_active(&d->sweep)) ||
      manager_is_loading(&d->manager)) /* a job would be in memory twice */
    return;
  d->sweep_ms = dx_monotonic_ms() + dx_spool_sweep(&d->held.spool, &d->sweep);
}

/* Tells a client of the status socket what is counted of the jobs. */
static void answer_status(struct daemon *d)
{
  int fd = status_check(&d->status);

  if (fd < 0)
    return;
  tallies_send(&d->manager.tallies, fd);
  (void)close(fd);
}

/* Performs one turn, and waits for the next event. */
static enum dx_code turn(struct daemon *d, struct dx_err *err)
{
  struct manager *manager = &d->manager;
  int64_t until_ms = INT64_MAX, wait_ms;
  int fds[DX_HTTP_WAKE_MAX];
  size_t count = 0;

  control_turn(d->control);
  if (manager->config != NULL) {
    until_ms = manager_turn(manager);
    until_ms = d->sweep_ms < until_ms ? d->sweep_ms : until_ms;
    count = dx_engine_fds(manager->engine, fds, count);
  }
  fds[count++] = d->signal_fd;
  fds[count++] = control_fd(d->control);
  if (d->status.fd >= 0)
    fds[count++] = d->status.fd;
  wait_ms = until_ms - dx_monotonic_ms();
  wait_ms = wait_ms < 0 ? 0 : wait_ms < TURN_MS ? wait_ms : TURN_MS;
  return dx_http_run(d->http, wait_ms, fds, count, err);
}

static enum dx_code loop(struct daemon *d, struct dx_err *err)
{
  struct signalfd_siginfo info;
  enum dx_code code = DX_OK;
  bool is_asked;

  (void)sd_notify(0, "READY=1");
  dx_log(DX_LOG_INFO, "ready");
  while (code == DX_OK) {
    is_asked = false;
    while (read(d->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
      if (info.ssi_signo == SIGHUP)
        is_asked = true;
      else
        d->stop = true;
    if (!d->stop && (is_asked || is_changed(d)))
      reload(d, is_asked);
    if (d->stop || d->next != NULL)
      return DX_OK;
    if (d->manager.config != NULL) {
      sweep(d);
      answer_status(d);
    }
    code = turn(d, err);
  }
  return code;
}

/* Removes the socket while the lock is held: only the process that holds the
 * lock may create it. */
static void stop(struct daemon *d)
{
  control_free(&d->control);
  status_stop(&d->status);
  dx_sweep_stop(&d->sweep);
  manager_stop(&d->manager); /* frees the configuration */
  dx_http_free(&d->http);
}

/* Starts again with each new configuration, as a new process would. */
static enum dx_code run(struct daemon *d, struct dx_err *err)
{
  struct daemon begin = *d;
  struct dx_config_notes notes = {.takes_mistakes = true};
  struct dx_config *config = NULL;
  struct dx_err ignored;
  bool can_be_read;
  enum dx_code code;

  files_begin(&d->files, d->config_path);
  code = load_config(d, &config, err);
  if (code != DX_OK) {
    /* An invalid configuration usually still names the spool. Changing the file
     * would not fix a local failure. */
    can_be_read =
        dx_class_of(code) != DX_CL_LOCAL &&
        dx_config_load(d->config_path, &config, &notes, &ignored) == DX_OK;
    dx_config_notes_release(&notes);
    if (!can_be_read) {
      files_release(&d->files);
      return code;
    }
    d->wrong = *err;
    dx_advise(&d->wrong);
  }
  do {
    code = start(d, config, err);
    if (code == DX_OK)
      code = loop(d, err);
    stop(d);
    config = d->next;
    begin.held = d->held;
    begin.files = d->files;
    begin.sweep.expire_ms = d->sweep.expire_ms;
    *d = begin;
  } while (config != NULL);
  release(&d->held);
  files_release(&d->files);
  return code;
}

static int run_daemon(const char *config_path)
{
  struct daemon d = {
      .config_path = config_path, .held = HELD_NONE, .status = STATUS_NONE};
  struct dx_err err = {0};
  struct rlimit limit;
  sigset_t set;
  enum dx_code code;

  status_make_dir();
  code = dx_user_enter(&err);
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max; /* jobs in progress keep files open */
    (void)setrlimit(RLIMIT_NOFILE, &limit);
  }
  (void)signal(SIGPIPE, SIG_IGN);
  (void)signal(SIGXFSZ, SIG_IGN); /* handled like a full disk */
  (void)sigemptyset(&set);
  (void)sigaddset(&set, SIGTERM);
  (void)sigaddset(&set, SIGINT);
  (void)sigaddset(&set, SIGHUP);
  (void)sigprocmask(SIG_BLOCK, &set, NULL); /* cannot fail */
  d.signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (code == DX_OK && d.signal_fd < 0)
    code = dx_fail_sys(&err, errno, "catch", "signals");
  if (code == DX_OK)
    code = run(&d, &err);
  (void)sd_notify(0, "STOPPING=1");
  (void)close(d.signal_fd);
  if (code == DX_OK)
    return EX_OK;
  dx_log(DX_LOG_ERROR, "%s: %s", dx_code_name(err.code), err.text);
  return dx_class_of(code) == DX_CL_CONFIG ? EX_CONFIG : EX_TEMPFAIL;
}

int main(int argc, char **argv)
{
  static const struct option longs[] = {
      {"verbose", no_argument, NULL, 'd'},
      {STATUS_OPTION + 2, required_argument, NULL, 's'}, /* not for users */
      {"help", no_argument, NULL, 'h'},
      {"version", no_argument, NULL, 'V'},
      {NULL, 0, NULL, 0}};
  const char *config_path = NULL, *status_spool = NULL;
  int letter;

  while ((letter = getopt_long(argc, argv, "c:", longs, NULL)) != -1) {
    if (letter == 'c') {
      config_path = optarg;
    } else if (letter == 'd') {
      is_verbose = true;
    } else if (letter == 's') {
      status_spool = optarg;
    } else if (letter == 'h') {
      printf("Usage: docextractd [-c FILE] [--verbose]\n"
             "Sends print jobs to the service and fetches their results.\n\n"
             "  -c FILE    use this configuration file\n"
             "  --verbose  print every step to stderr\n"
             "  --help     print this help and exit\n"
             "  --version  print the version and exit\n");
      return EX_OK;
    } else if (letter == 'V') {
      printf("docextractd %s (%s)\n", PACKAGE_VERSION, dx_http_version());
      return EX_OK;
    } else {
      fputs("try 'docextractd --help' for more information\n", stderr);
      return EX_USAGE;
    }
  }
  if (optind < argc) {
    fputs("docextractd: takes no arguments; try 'docextractd --help' for more "
          "information\n",
          stderr);
    return EX_USAGE;
  }
  dx_process_protect();
  (void)setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
  is_journal = getenv("JOURNAL_STREAM") != NULL;
  dx_log_to(print_line);
  if (config_path == NULL)
    config_path = dx_config_path();
  if (status_spool != NULL)
    status_main(status_spool, config_path);
  return run_daemon(config_path);
}
