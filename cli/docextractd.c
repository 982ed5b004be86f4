/*
 * docextractd.c - sends requests of the command to docextractd, and prints the
 * responses (lib/control/channel.h).
 */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/control/connect.h"

#define SLOW_MS 2000 /* then it is printed what docextractd is waiting for */

/* Reads the next message. E_NOT_YET after timeout_ms (-1: never), E_STOPPED
 * after a signal, E_NET if docextractd is gone. */
static enum dx_code request_receive(struct dx_channel *channel, int timeout_ms,
                                    struct dx_message *message,
                                    struct dx_err *err)
{
  enum dx_code code;

  do {
    if (cli_stop_came())
      return dx_fail(err, DX_E_STOPPED, 0, "stopped");
    code = dx_channel_read(channel, message, err);
  } while (code == DX_E_NOT_YET && cli_stop_await(channel->fd, timeout_ms));
  return code;
}

static enum dx_code request_print(void *ctx, const struct dx_message *message)
{
  bool is_ok;

  (void)ctx;
  if (message->verb == DX_VERB_WARN)
    fprintf(stderr, "docextract: %s\n", message->text);
  if (message->verb == DX_VERB_STEP) {
    is_ok = strcmp(message->words[0], "ok") == 0;
    cli_print_word(is_ok ? "ok     " : "FAILED ", is_ok);
  } else if ((message->verb != DX_VERB_LINE && message->verb != DX_VERB_DONE) ||
             message->text[0] == '\0') {
    return DX_OK;
  }
  cli_print_plain(message->text);
  printf("\n");
  return DX_OK;
}

enum dx_code cli_request(const struct cli *cli, int patience_ms, cli_said *said,
                         void *ctx, struct dx_err *err, const char *format, ...)
{
  struct dx_channel channel = DX_CHANNEL_NONE;
  struct dx_message message = {.verb = DX_VERB_COUNT};
  bool is_over = false;
  va_list args;
  enum dx_code code = dx_docextractd_connect(cli->config, &channel, err);

  va_start(args, format);
  if (code == DX_OK)
    code = dx_channel_send_list(&channel, err, format, args);
  va_end(args);
  while (code == DX_OK && !is_over) {
    bool may_be_slow = message.verb == DX_VERB_SLOW;

    code = request_receive(&channel, may_be_slow ? SLOW_MS : patience_ms,
                           &message, err);
    if (code == DX_E_NOT_YET && may_be_slow) { /* `message` is still that */
      message.verb = DX_VERB_WARN;
      code = DX_OK;
    }
    if (code == DX_E_NOT_YET)
      (void)dx_fail(err, code, 0,
                    "docextractd does not respond; check with: docextract "
                    "jobs");
    else if (code == DX_E_NET)
      code = dx_fail(err, DX_E_NOT_YET, 0,
                     "docextractd was stopped or reloaded its configuration "
                     "before it responded; try again");
    else if (code == DX_OK)
      code = (said != NULL ? said : request_print)(ctx, &message);
    is_over = message.verb == DX_VERB_DONE || message.verb == DX_VERB_END ||
              message.verb == DX_VERB_ERROR;
    if (code == DX_OK && is_over && message.verb != DX_VERB_DONE)
      code = dx_message_outcome(&message, err);
  }
  dx_channel_close(&channel);
  return code;
}

/* ---- whether it runs ---- */

const char *cli_docextractd(const struct cli *cli)
{
  struct dx_channel channel;
  enum dx_code code = dx_docextractd_connect(cli->config, &channel, NULL);

  dx_channel_close(&channel);
  switch (code) {
  case DX_OK:
    return "running";
  case DX_E_CONFIG:
    return "not running";
  case DX_E_STATE:
    return "running, but a different version; restart it";
  default:
    return "running, not responding";
  }
}
