/*
 * hello.c - `docextract hello`: performs the steps of a job, one after the
 * other, and reports the first one that fails, with advice. This file contains
 * the steps that need the rights of the caller; docextractd performs the
 * others. Then it warns of later failures, although the service responds now.
 * The last line says whether documents would be sent.
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/sandbox.h"
#include "lib/control/connect.h"

struct hello {
  struct cli *cli;
  const struct dx_service *service;
  struct dx_buf cupsd_warnings; /* cupsd.conf, with the caller's rights */
  bool is_owner;                /* warnings can be checked */
  unsigned sandbox_layers;
  char detail[256]; /* of a step that succeeded */
};

/* ---- cupsd.conf ---- */

/* Warns of every wrong line, even if a later line overrides it. */
static void hello_check_directive(void *ctx, const char *name,
                                  const char *value)
{
  static const char *const no = "^(no|off|false|0)$";
  const struct {
    const char *name, *bad /* values, a regular expression */, *why;
  } rows[] = {
      /* With these, print jobs are lost, or their loss is not noticed. */
      {"PreserveJobFiles", no,
       "a chart whose backend was killed cannot be printed again; set a time, "
       "such as 8h"},
      {"PreserveJobHistory", no,
       "canceled and lost print jobs cannot be distinguished; remove the line"},
      {"MaxJobs", "^([1-9][0-9]?|[1-4][0-9]{2})$",
       "more print jobs are rejected while this many wait; remove the line"},
      {"MultipleOperationTimeout", "^([0-9]{1,2}|[12][0-9]{2}|[0-4]m)$",
       "a print job is started without documents that arrive too late; remove "
       "the line"},
      {"JobPrivateValues", "all|job-uuid",
       "docextractd cannot detect lost print jobs; set it to default"},
      /* Less than 30 minutes: see DX_TOGGLE_MS in doc/policy.md. 0: no limit.
       */
      {"MaxJobTime", "^([1-9][0-9]{0,2}|1[0-7][0-9]{2}|[1-9]m|[12][0-9]m)$",
       "print jobs that wait for their results longer than that are canceled; "
       "set it to at least 30m, or remove the line"},
      /* Titles may name patients. */
      {"LogLevel", "^debug",
       "cupsd logs the titles of print jobs, which may name patients; set it "
       "to warn"},
      {"PageLogFormat", "job-name",
       "page_log contains the titles of print jobs, which may name patients; "
       "remove job-name"},
  };
  regex_t bad;
  size_t i;

  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (strcasecmp(name, rows[i].name) != 0 ||
        regcomp(&bad, rows[i].bad, REG_EXTENDED | REG_ICASE | REG_NOSUB) != 0)
      continue;
    if (regexec(&bad, value, 0, NULL, 0) == 0)
      dx_buf_printf(ctx, "warning: '%s %s' is set in cupsd.conf: %s\n", name,
                    value, rows[i].why);
    regfree(&bad);
  }
}

/* ---- the steps ---- */

static enum dx_code hello_step_configuration(struct hello *h,
                                             struct dx_err *err)
{
  enum dx_code code = cli_load(h->cli, err);

  if (code == DX_OK)
    code = cli_service(h->cli, &h->service, err);
  if (code != DX_OK)
    return code;
  (void)cli_read_cupsd(h->cli, "cupsd.conf", hello_check_directive,
                       &h->cupsd_warnings);
  (void)snprintf(h->detail, sizeof(h->detail), "%s, service '%s'",
                 h->cli->config_path, h->service->name);
  return DX_OK;
}

static enum dx_code hello_step_sandbox(struct hello *h, struct dx_err *err)
{
  h->sandbox_layers = dx_sandbox_test();
  if ((h->sandbox_layers & DX_SANDBOX_SECCOMP) == 0 &&
      h->service->sandbox == DX_SANDBOX_IS_REQUIRED)
    return dx_fail(err, DX_E_CONFIG, 0, DX_SANDBOX_MISSING);
  (void)snprintf(h->detail, sizeof(h->detail), "%s%s",
                 dx_sandbox_text(h->sandbox_layers),
                 h->service->sandbox == DX_SANDBOX_IS_OPTIONAL
                     ? "; Sandbox optional is set"
                     : "");
  return DX_OK;
}

/* Backends may not be able to read files that root can read. */
static enum dx_code hello_step_user(struct hello *h, struct dx_err *err)
{
  char name[DX_USER_BYTES];
  enum dx_code code = cli_become_owner(h->cli, err);

  if (code == DX_OK)
    code = cli_load(h->cli, err);
  if (code == DX_OK)
    code = cli_service(h->cli, &h->service, err);
  if (code != DX_OK)
    return code;
  h->is_owner = true;
  dx_user_name_of(geteuid(), name);
  (void)snprintf(
      h->detail, sizeof(h->detail), "%s, the owner of SpoolDir%s", name,
      dx_user() == NULL ? ", which also runs the filters of all printers" : "");
  return DX_OK;
}

/* Nothing is sent without docextractd. */
static enum dx_code hello_step_docextractd(struct hello *h, struct dx_err *err)
{
  struct dx_channel channel = DX_CHANNEL_NONE;
  const char *spool_dir = h->cli->config->spool_dir;
  enum dx_code code;

  if (faccessat(AT_FDCWD, spool_dir, W_OK | X_OK, AT_EACCESS) < 0) {
    (void)dx_fail_sys(err, errno, "write in directory", spool_dir);
    return dx_user_advise_writer(err);
  }
  code = dx_spool_open(spool_dir, &h->cli->spool, err);
  if (code != DX_OK)
    return code;
  code = dx_docextractd_connect(h->cli->config, &channel, err);
  dx_channel_close(&channel);
  (void)snprintf(h->detail, sizeof(h->detail), "running");
  return code;
}

/* ---- warnings ---- */

/* The permissions of the backend determine the user that cupsd runs it as. */
static void hello_warn_backend(void)
{
  char path[PATH_MAX];
  struct stat st;

  cli_server_program("backend/docextract", path);
  if (stat(path, &st) == 0 && /* if it is missing, cupsd reports it */
      ((st.st_mode & (S_IWGRP | S_IRWXO)) == 0) != (dx_user() != NULL))
    printf("warning: cupsd does not run the backend as '%s'; fix it with: "
           "chown root: %s && chmod %s %s\n",
           dx_user() != NULL ? dx_user() : "its own user", path,
           dx_user() != NULL ? "700" : "755", path);
}

/* Errors of one service do not show in the test of another one. */
static void hello_name_others(const struct hello *h)
{
  const struct dx_config *config = h->cli->config;
  size_t i;

  if (h->cli->service != NULL || h->service == NULL ||
      config->service_count == 1)
    return;
  printf("Only service '%s' was tested; for another one, add --service:",
         h->service->name);
  for (i = 0; i < config->service_count; i++)
    if (&config->services[i] != h->service)
      printf(" %s", config->services[i].name);
  printf("\n");
}

/* ---- all of it ---- */

/* The verdict. If a step failed, its error follows. was_root: it could be
 * tested. */
static void hello_print_verdict(const struct hello *h, enum dx_code code,
                                bool was_root)
{
  if (code == DX_OK)
    printf("Ready: documents for service '%s' are sent to %s\n",
           h->service->name, h->service->base_url);
  else if (code == DX_E_ACCESS && !was_root && !h->is_owner)
    printf("Not tested: this user may not do that\n");
  else
    printf("Not ready: no documents are sent until this is solved\n");
}

enum dx_code verb_hello(struct cli *cli, struct dx_err *err)
{
  static const struct {
    const char *name;
    enum dx_code (*run)(struct hello *, struct dx_err *);
  } steps[] = {
      {"configuration", hello_step_configuration},
      {"sandbox", hello_step_sandbox},
      {"user", hello_step_user},
      {"docextractd", hello_step_docextractd},
  };
  struct hello h = {.cli = cli};
  bool was_root = geteuid() == 0;
  enum dx_code code = DX_OK;
  size_t i;

  for (i = 0; code == DX_OK && i < sizeof(steps) / sizeof(steps[0]); i++) {
    code = steps[i].run(&h, err);
    cli_print_word(code == DX_OK ? "ok    " : "FAILED", code == DX_OK);
    printf(" %-14s%s%s\n", steps[i].name, code == DX_OK ? "  " : "",
           code == DX_OK ? h.detail : "");
  }
  if (code == DX_OK)
    code = cli_request(cli, -1, NULL, NULL, err, "hello %s", h.service->name);
  if (code == DX_OK && (h.sandbox_layers & DX_SANDBOX_SECCOMP) == 0)
    printf("warning: " DX_SANDBOX_OPTIONAL "\n");
  if (h.is_owner) { /* the user that backends run as */
    hello_warn_backend();
    (void)fputs(dx_buf_text(&h.cupsd_warnings), stdout);
    (void)cli_check_queues(h.cli->config, stdout);
  }
  hello_name_others(&h);
  hello_print_verdict(&h, code, was_root);
  dx_buf_release(&h.cupsd_warnings);
  return code;
}
