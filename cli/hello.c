/*
 * hello.c - `docextract hello`: takes the steps that a job would take, one
 * after the other; the first that fails is named, with what to do. Here are
 * those that need the rights of the caller; docextractd takes the others.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cupsd.h"
#include "lib/base/sandbox.h"
#include "lib/control/start.h"

struct hello {
  struct cli *cli;
  const struct dx_service *service;
  int cupsd_conf_fd; /* opened with the caller's rights; -1: none */
  bool is_owner;     /* warnings can be checked */
  unsigned sandbox_layers;
  enum dx_started started;
  char detail[256]; /* of a step that succeeded */
};

__attribute__((format(printf, 2, 3))) static void
detail(struct hello *h, const char *format, ...)
{
  va_list args;

  va_start(args, format);
  (void)vsnprintf(h->detail, sizeof(h->detail), format, args);
  va_end(args);
}

/* ---- the steps ---- */

static enum dx_code step_configuration(struct hello *h, struct dx_err *err)
{
  enum dx_code code = cli_load(h->cli, err);

  if (code == DX_OK)
    code = cli_service(h->cli, &h->service, err);
  if (code != DX_OK)
    return code;
  h->cupsd_conf_fd = cupsd_open(h->cli->config_path, "cupsd.conf");
  detail(h, "%s, service '%s'", h->cli->config_path, h->service->name);
  return DX_OK;
}

/* There is no way back: tried in a process of its own. */
unsigned cli_sandbox_layers(void)
{
  pid_t child = fork(), ended;
  int status = 0;

  if (child == 0)
    _exit((int)dx_sandbox_enter());
  do
    ended = child > 0 ? waitpid(child, &status, 0) : -1;
  while (ended < 0 && errno == EINTR && child > 0);
  return ended > 0 && WIFEXITED(status) ? (unsigned)WEXITSTATUS(status) : 0;
}

static enum dx_code step_sandbox(struct hello *h, struct dx_err *err)
{
  h->sandbox_layers = cli_sandbox_layers();
  if ((h->sandbox_layers & DX_SANDBOX_SECCOMP) == 0 &&
      h->service->sandbox == DX_SANDBOX_IS_REQUIRED)
    return dx_fail(err, DX_E_CONFIG, 0, DX_SANDBOX_MISSING);
  detail(h, "%s%s", dx_sandbox_text(h->sandbox_layers),
         h->service->sandbox == DX_SANDBOX_IS_OPTIONAL
             ? "; Sandbox optional is set"
             : "");
  return DX_OK;
}

/* Backends may not be able to read what root can. */
static enum dx_code step_user(struct hello *h, struct dx_err *err)
{
  char name[DX_USER_BYTES];
  const char *spool_dir = h->cli->config->spool_dir;
  enum dx_code code = cli_check_owner(
      spool_dir, cupsd_open(h->cli->config_path, "cups-files.conf"), err);

  if (code == DX_OK)
    code = cli_become_owner(spool_dir, err);
  if (code != DX_OK)
    return code;
  code = cli_load(h->cli, err);
  if (code == DX_OK)
    code = cli_service(h->cli, &h->service, err);
  cli_user_name(name);
  if (code != DX_OK)
    return dx_fail_advice(
        err, "backends run as '%s', which must be able to read it", name);
  h->is_owner = true;
  detail(h, "%s, the owner of SpoolDir%s", name,
         dx_user() == NULL ? ", as whom the filters of all printers run" : "");
  return DX_OK;
}

/* Without it nothing is sent; where nobody else does, this starts it. */
static enum dx_code step_docextractd(struct hello *h, struct dx_err *err)
{
  struct dx_channel channel = DX_CHANNEL_NONE;
  enum dx_code code = cli_check_spool(h->cli->config, err);

  if (code == DX_OK)
    code = dx_docextractd_connect(h->cli->config, h->cli->config_path, &channel,
                                  err);
  h->started = channel.started;
  dx_channel_close(&channel);
  detail(h, "%s%s", cli_started_text(h->started),
         h->started == DX_STARTED_DEMAND &&
                 h->service->completion == DX_COMPLETION_AUTO
             ? ", so print jobs stay until their results are there"
             : "");
  return code;
}

/* ---- all of them ---- */

static const struct {
  const char *name;
  enum dx_code (*run)(struct hello *, struct dx_err *);
} steps[] = {
    {"configuration", step_configuration},
    {"sandbox", step_sandbox},
    {"user", step_user},
    {"docextractd", step_docextractd},
};

static void print_step(bool good, const char *name, const char *text)
{
  printf("%s%-6s%s %-14s%s%s\n", cli_color(good ? CLI_GREEN : CLI_RED),
         good ? "ok" : "FAILED", cli_color(CLI_PLAIN), name,
         text[0] != '\0' ? "  " : "", text);
}

static enum dx_code take_steps(struct hello *h, struct dx_err *err)
{
  enum dx_code code = DX_OK;
  size_t i;

  for (i = 0; code == DX_OK && i < sizeof(steps) / sizeof(steps[0]); i++) {
    code = steps[i].run(h, err);
    print_step(code == DX_OK, steps[i].name, code == DX_OK ? h->detail : "");
  }
  return code;
}

/* Those of docextractd: in color, too; and what a slow one waits for. */
static void print_said(void *ctx, const struct dx_message *message)
{
  static const char *const words[] = {"ok ", "FAILED "};
  const char *text = message->text;
  size_t i;

  (void)ctx;
  if (message->verb == DX_VERB_WARN) {
    fprintf(stderr, "%s\n", text);
    return;
  }
  if (message->verb != DX_VERB_LINE)
    return;
  for (i = 0; i < 2; i++)
    if (strncmp(text, words[i], strlen(words[i])) == 0) {
      printf("%s%.*s%s", cli_color(i == 0 ? CLI_GREEN : CLI_RED),
             (int)strlen(words[i]) - 1, words[i], cli_color(CLI_PLAIN));
      text += strlen(words[i]) - 1;
    }
  (void)cli_print_plain(text, SIZE_MAX);
  (void)putchar('\n');
}

enum dx_code verb_hello(struct cli *cli, struct dx_err *err)
{
  struct hello h = {.cli = cli, .cupsd_conf_fd = -1};
  enum dx_code code = take_steps(&h, err);

  if (code == DX_OK)
    code = cli_request(cli, -1, print_said, NULL, err, "hello %s",
                       h.service->name);
  if (code == DX_OK && (h.sandbox_layers & DX_SANDBOX_SECCOMP) == 0)
    hello_warn(DX_SANDBOX_OPTIONAL);
  if (h.is_owner)
    hello_warn_all(h.service, h.started, h.cupsd_conf_fd);
  else if (h.cupsd_conf_fd >= 0)
    (void)close(h.cupsd_conf_fd);
  return code;
}
