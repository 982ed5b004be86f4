/*
 * main.c - docextractd: finishes jobs that were handed over, so that the
 * queue need not wait for the extraction (Completion). Command line, signals,
 * configuration, systemd; the jobs are driver.c's.
 *
 * SIGTERM and SIGINT end it within two seconds; everything it did is in the
 * journals of the jobs. SIGHUP, or a changed file, reloads the configuration.
 * It runs as the user that backends run as; started by root, it becomes that
 * user if docextract was configured with its own.
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

#include "daemon/driver.h"
#include "daemon/status.h"
#include "daemon/watch.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/base/process.h"
#include "lib/base/user.h"
#include "lib/spool/sweep.h"

#define TURN_MS 60000          /* the longest wait for an event */
#define TURN_UNWATCHED_MS 5000 /* between two looks, without inotify */

struct daemon {
  const char *config_path;
  struct dx_spool spool;
  char *spool_dir;
  struct dx_http *http;
  struct driver driver;
  struct watch watch;
  struct status status;
  int signal_fd;
  int lock_fd;
  int64_t sweep_ms;
  bool stop, reload;
};

static bool is_verbose, is_journal;

/* No title, name, token or signed URL is logged, at any level. */
static void print_line(enum dx_log_level level, const char *line)
{
  static const char *const levels[] = {SD_DEBUG, SD_INFO, SD_WARNING, SD_ERR};

  if (level != DX_LOG_DEBUG || is_verbose)
    fprintf(stderr, "%s%s\n", is_journal ? levels[level] : "", line);
}

/* ---- signals ---- */

static int catch_signals(void)
{
  sigset_t set;

  (void)sigemptyset(&set);
  (void)sigaddset(&set, SIGTERM);
  (void)sigaddset(&set, SIGINT);
  (void)sigaddset(&set, SIGHUP);
  (void)signal(SIGPIPE, SIG_IGN);
  (void)signal(SIGXFSZ, SIG_IGN); /* to us, a full disk */
  if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
    return -1;
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void read_signals(struct daemon *d)
{
  struct signalfd_siginfo info;

  while (read(d->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
    if (info.ssi_signo == SIGHUP)
      d->reload = true;
    else
      d->stop = true;
  }
}

/* ---- configuration ---- */

/* What the filters log goes to the users' messages, or nowhere. */
static void warn_of_sandbox(const struct dx_config *config)
{
  size_t i;

  for (i = 0; i < config->service_count; i++)
    if (config->services[i].sandbox == DX_SANDBOX_IS_OPTIONAL)
      dx_log(DX_LOG_WARNING,
             "<Service %s>: 'Sandbox optional' is set: without seccomp in the "
             "kernel, documents are parsed without a sandbox",
             config->services[i].name);
}

/* An invalid configuration is reported and ignored. */
static void reload(struct daemon *d)
{
  struct dx_config *config = NULL;
  const char *changed = NULL;
  struct dx_err err;
  enum dx_code code;

  d->reload = false;
  (void)sd_notify(0, "RELOADING=1");
  code = dx_config_load(d->config_path, &config, &err);
  if (code == DX_OK && strcmp(config->spool_dir, d->spool_dir) != 0)
    changed = "SpoolDir";
  else if (code == DX_OK && d->status.path != NULL &&
           strcmp(config->status_socket, d->status.path) != 0)
    changed = "StatusSocket";
  if (changed != NULL) {
    code = dx_fail(&err, DX_E_CONFIG, 0, "%s has changed; restart docextractd",
                   changed);
    dx_config_free(&config);
  }
  if (code == DX_OK)
    warn_of_sandbox(config);
  if (code == DX_OK)
    code = driver_reload(&d->driver, config, &err);
  if (code == DX_OK)
    dx_log(DX_LOG_INFO, "reloaded '%s'", d->config_path);
  else
    dx_log(DX_LOG_ERROR, "%s; keeping the previous configuration", err.text);
  (void)sd_notify(0, "READY=1");
}

/* Root would leave files that the backends could not touch. Comes before the
 * spool is opened, which creates its directories. */
static enum dx_code check_user(const struct daemon *d, struct dx_err *err)
{
  char owner[DX_USER_BYTES];
  struct stat st;

  if (stat(d->spool_dir, &st) < 0 || st.st_uid == geteuid())
    return DX_OK; /* opening it reports why it cannot be used */
  dx_user_name_of(st.st_uid, owner);
  if (dx_user() != NULL) /* temporary: it is about to be given away */
    return dx_fail(err, DX_E_ACCESS, 0,
                   "SpoolDir '%s' belongs to '%s' instead of '%s'; fix it "
                   "with: docextract chown",
                   d->spool_dir, owner, dx_user());
  return dx_fail(err, DX_E_CONFIG, 0,
                 "SpoolDir '%s' belongs to '%s'; run docextractd as that user, "
                 "with systemctl start docextractd",
                 d->spool_dir, owner);
}

/* Every job keeps two files open. */
static void raise_limits(void)
{
  struct rlimit limit;

  if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
    return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* ---- start, loop, stop ---- */

static enum dx_code start(struct daemon *d, struct dx_err *err)
{
  struct dx_config *config = NULL;
  enum dx_code code = dx_config_load(d->config_path, &config, err);

  if (code != DX_OK)
    return code;
  d->spool_dir = strdup(config->spool_dir);
  d->http = dx_http_new();
  d->driver.spool = &d->spool;
  d->driver.http = d->http;
  if (d->spool_dir == NULL || d->http == NULL)
    code = dx_fail_nomem(err);
  if (code == DX_OK)
    code = check_user(d, err);
  if (code == DX_OK) /* NOLINTNEXTLINE(*-unix.Malloc): stop() frees it */
    code = dx_spool_open(d->spool_dir, &d->spool, err);
  if (code == DX_OK) {
    d->lock_fd = dx_spool_hold_daemon_lock(&d->spool, err);
    code = d->lock_fd >= 0 ? DX_OK : err->code;
  }
  if (code != DX_OK) {
    dx_config_free(&config);
    return code;
  }
  warn_of_sandbox(config);
  status_start(&d->status, config->status_socket, d->spool_dir, d->config_path);
  if (watch_start(&d->watch, d->spool_dir, d->config_path, err) != DX_OK)
    dx_log(DX_LOG_WARNING, "%s; checking every %d s instead", err->text,
           TURN_UNWATCHED_MS / 1000);
  return driver_start(&d->driver, config, err);
}

static void read_watch(struct daemon *d)
{
  struct watch_events events = {.job = driver_look, .ctx = &d->driver};

  if (d->watch.fd < 0)
    return;
  watch_read(&d->watch, &events);
  d->reload = d->reload || events.config_changed;
  if (events.lost)
    d->driver.look_ms = 0;
}

static void look_through(struct daemon *d)
{
  int64_t at = dx_monotonic_ms() + TURN_UNWATCHED_MS;

  driver_look_through(&d->driver);
  if (d->watch.fd < 0 && at < d->driver.look_ms)
    d->driver.look_ms = at;
}

static void sweep(struct daemon *d)
{
  const struct dx_sweep sweep = {
      .config = d->driver.config, .is_held = driver_holds, .ctx = &d->driver};

  if (dx_monotonic_ms() < d->sweep_ms)
    return;
  d->sweep_ms = dx_monotonic_ms() + DX_SWEEP_GAP_MS;
  dx_spool_sweep(&d->spool, &sweep);
}

/* until_ms: when OnResult is due. */
static int64_t wait_ms(const struct daemon *d, int64_t until_ms)
{
  int64_t at = d->driver.look_ms < until_ms ? d->driver.look_ms : until_ms;
  int64_t wait = at - dx_monotonic_ms();

  return wait < 0 ? 0 : wait < TURN_MS ? wait : TURN_MS;
}

/* One turn, and waiting for what comes next. */
static enum dx_code turn(struct daemon *d, struct dx_err *err)
{
  int64_t until_ms = driver_announce(&d->driver);
  const int fds[] = {d->signal_fd, d->watch.fd, d->status.fd,
                     dx_announcer_fd(d->driver.announcer)};
  int wake[sizeof(fds) / sizeof(fds[0])];
  size_t i, count = 0;

  for (i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
    if (fds[i] >= 0)
      wake[count++] = fds[i];
  return dx_engine_run(d->driver.engine, wait_ms(d, until_ms), wake, count,
                       err);
}

static enum dx_code loop(struct daemon *d, struct dx_err *err)
{
  enum dx_code code = DX_OK;

  (void)sd_notify(0, "READY=1");
  dx_log(DX_LOG_INFO, "ready");
  while (code == DX_OK) {
    read_signals(d);
    read_watch(d);
    if (d->stop)
      return DX_OK;
    if (d->reload)
      reload(d);
    sweep(d);
    look_through(d);
    status_check(&d->status);
    code = turn(d, err);
  }
  return code;
}

static void stop(struct daemon *d)
{
  (void)sd_notify(0, "STOPPING=1");
  driver_stop(&d->driver);
  status_stop(&d->status);
  watch_stop(&d->watch);
  dx_http_free(&d->http);
  if (d->lock_fd >= 0)
    (void)close(d->lock_fd);
  dx_spool_close(&d->spool);
  free(d->spool_dir);
  (void)close(d->signal_fd);
}

static int run(const char *config_path)
{
  struct daemon d = {.config_path = config_path,
                     .spool = {-1, -1},
                     .watch = {.fd = -1},
                     .status = STATUS_NONE,
                     .lock_fd = -1};
  struct dx_err err = {0};
  enum dx_code code;

  status_make_dir();
  code = dx_user_enter(&err);
  raise_limits();
  d.signal_fd = catch_signals();
  if (code == DX_OK && d.signal_fd < 0)
    code = dx_fail_sys(&err, errno, "catch", "signals");
  if (code == DX_OK)
    code = start(&d, &err);
  if (code == DX_OK)
    code = loop(&d, &err);
  stop(&d);
  if (code == DX_OK)
    return EX_OK;
  dx_log(DX_LOG_ERROR, "%s", err.text);
  return dx_class_of(code) == DX_CL_CONFIG ? EX_CONFIG : EX_TEMPFAIL;
}

static void print_help(void)
{
  printf("Usage: docextractd [-c FILE] [--verbose]\n"
         "Finishes print jobs, so that no queue waits for an extraction.\n\n"
         "  -c FILE    use this configuration file\n"
         "  --verbose  print every step to stderr\n"
         "  --help     print this help and exit\n"
         "  --version  print the version and exit\n");
}

int main(int argc, char **argv)
{
  static const struct option longs[] = {{"verbose", no_argument, NULL, 'd'},
                                        {"help", no_argument, NULL, 'h'},
                                        {"version", no_argument, NULL, 'V'},
                                        {NULL, 0, NULL, 0}};
  const char *config_path = NULL;
  char *fallback = NULL;
  int letter, status;

  while ((letter = getopt_long(argc, argv, "c:", longs, NULL)) != -1) {
    if (letter == 'c') {
      config_path = optarg;
    } else if (letter == 'd') {
      is_verbose = true;
    } else if (letter == 'h') {
      print_help();
      return EX_OK;
    } else if (letter == 'V') {
      printf("docextractd %s\n", PACKAGE_VERSION);
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
    config_path = fallback = dx_config_path(true);
  status = config_path != NULL ? run(config_path) : EX_TEMPFAIL;
  free(fallback);
  return status;
}
