/*
 * fuzz_verbs.c - the lines of one client of the control socket, as docextractd
 * handles them, with one stored job, which is not sent. Each line that
 * docextractd sends is one of the protocol.
 */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/manager.h"
#include "lib/base/fs.h"
#include "lib/spool/spool.h"
#include "tests/unit/fake_http.h"

#define KEY "0123456789abcdef0123456789abcdef"
#define RUN "0123456789abcdef"
#define LINES_MAX 64

static struct manager manager;
static struct dx_spool spool;

/* ---- the transport, which never responds ---- */

struct dx_http_call {
  int ignored;
};

static struct dx_http_call call;

enum dx_code __wrap_dx_http_start(struct dx_http *http,
                                  const struct dx_http_request *request,
                                  struct dx_http_call **ret_call,
                                  struct dx_err *err)
{
  (void)http;
  (void)request;
  (void)err;
  *ret_call = &call;
  return DX_OK;
}

void __wrap_dx_http_cancel(struct dx_http_call **at)
{
  *at = NULL;
}

enum dx_code __wrap_dx_http_run(struct dx_http *http, int64_t timeout_ms,
                                const int *wake, size_t wake_count,
                                struct dx_err *err)
{
  (void)http;
  (void)timeout_ms;
  (void)wake;
  (void)wake_count;
  (void)err;
  return DX_OK;
}

/* ---- the client ---- */

void control_send(struct client *client, const char *format, ...)
{
  char line[DX_CHANNEL_LINE_BYTES];
  struct dx_message message;
  va_list args;
  char *at;

  (void)client;
  va_start(args, format);
  (void)vsnprintf(line, sizeof(line), format, args);
  va_end(args);
  for (at = line; *at != '\0'; at++) /* as dx_channel_send() does */
    *at = (*at & 0x80) != 0 || *at < ' ' || *at == 0x7f ? '?' : *at;
  HOLDS(dx_message_parse(line, strlen(line), &message, NULL) == DX_OK);
  HOLDS(message.verb >= DX_VERB_NOTE && message.verb < DX_VERB_JOBS);
  if (message.verb == DX_VERB_END || message.verb == DX_VERB_ERROR)
    HOLDS(dx_code_by_name(message.words[0]) != DX_CODE_COUNT);
}

void control_limit_silence(struct client *client, int64_t ms)
{
  client->silence_ms = ms;
}

void client_close(struct client *client)
{
  client->is_gone = true;
}

void status_tell(struct status *status, struct dx_job *job)
{
  (void)status;
  (void)job;
}

/* ---- docextractd ---- */

static void store_job(void)
{
  struct dx_job *job = NULL;
  char file[DX_FILE_NAME_BYTES];

  HOLDS(dx_spool_receive(&spool, &job, NULL) == DX_OK);
  job->documents = calloc(1, sizeof(*job->documents));
  job->document_count = 1;
  job->documents[0].entry.kind = DX_KIND_DOCUMENT;
  dx_document_file(0, file);
  HOLDS(dx_fs_write(job->dirfd, file, "", 0, 0600, true, NULL) == DX_OK);
  job->service = strdup("gone"); /* without its section, it waits */
  job->base_url = strdup("https://a.example");
  (void)strcpy(job->key, KEY);
  HOLDS(dx_job_plan(job, NULL) == DX_OK);
  HOLDS(dx_spool_commit(&spool, job, NULL) == DX_OK);
  dx_job_free(&job);
}

static void start(void)
{
  struct dx_config *config = NULL;
  char text[1024];
  struct dx_err err;

  HOLDS(mkdirat(fuzz_dirfd(), "spool", 0700) == 0);
  fuzz_put("token", "T", 1);
  (void)snprintf(text, sizeof(text),
                 "SpoolDir /var/tmp\n" /* not in memory; it is not used */
                 "<Service default>\nBaseURL https://a.example\n"
                 "Token file\nTokenFile %s/token\n</Service>\n",
                 fuzz_dir());
  fuzz_put("conf", text, strlen(text));
  (void)snprintf(text, sizeof(text), "%s/conf", fuzz_dir());
  HOLDS(dx_config_load(text, &config, NULL, &err) == DX_OK);
  (void)snprintf(text, sizeof(text), "%s/spool", fuzz_dir());
  HOLDS(dx_spool_open(text, &spool, &err) == DX_OK);
  store_job();
  manager = (struct manager){.spool = &spool, .stop_fd = -1};
  HOLDS(manager_start(&manager, config, &err) == DX_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct fuzz_input in = {data, size};
  struct client client = {.is_gone = false};
  struct dx_message message;
  int i;

  if (manager.spool == NULL)
    start();
  for (i = 0; in.left > 0 && !client.is_gone && i < LINES_MAX; i++) {
    char *line = fuzz_line(&in);

    if (dx_message_parse(line, strlen(line), &message, NULL) == DX_OK &&
        message.verb < DX_VERB_NOTE)
      verbs_message(&manager, &client, &message);
    free(line);
  }
  verbs_closed(NULL, &client);
  HOLDS(LIST_EMPTY(&manager.clients));
  return 0;
}
