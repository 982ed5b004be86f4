/*
 * token.c - the current token: one reader for each source in config.h,
 * and when the token is read again. jwt.c signs tokens.
 */
#include "daemon/service/token.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/json.h"
#include "lib/base/policy.h"
#include "lib/base/process.h"
#include "daemon/service/jwt.h"

#define DX_TOKEN_RENEW_PERCENT 80 /* of its life */
#define DX_TOKEN_LIFE_MS 300000   /* if the token does not specify it */

#define BLANKS " \t\r\n"

static const struct dx_token_source_info *
source_of(const struct dx_token *token)
{
  return &dx_token_sources[token->service->token];
}

void dx_token_forget(struct dx_token *token)
{
  if (token->text != NULL)
    explicit_bzero(token->text, strlen(token->text));
  free(token->text);
  token->text = NULL;
}

/* Sets renew_ms to DX_TOKEN_RENEW_PERCENT of a life that begins now. */
static void set_life(struct dx_token *token, int64_t life_ms)
{
  token->renew_ms = dx_monotonic_ms() + life_ms / 100 * DX_TOKEN_RENEW_PERCENT;
}

/* Reads a file that no other user may read or change. Symbolic links are
 * followed, because /run/secrets consists of them; opening a FIFO does not
 * block. */
static enum dx_code read_secret(const char *path, struct dx_buf *ret,
                                struct dx_err *err)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  char text[DX_ERR_TEXT_BYTES];
  enum dx_code code = DX_OK;
  const char *wrong;
  struct stat st;

  if (fd < 0)
    return dx_fail_sys(err, errno, "open", path);
  if (fstat(fd, &st) < 0)
    code = dx_fail_sys(err, errno, "stat", path);
  else if (!S_ISREG(st.st_mode))
    code = dx_fail(err, DX_E_KEY, 0, "'%s' is not a file", path);
  else if ((wrong = dx_secret_wrong(path, &st, text)) != NULL)
    code = dx_fail(err, DX_E_KEY, 0, "%s", wrong);
  if (code == DX_OK)
    code = dx_fs_read_fd(fd, path, DX_TOKEN_MAX_BYTES, ret, err);
  (void)close(fd);
  return code;
}

/* Reads the file that the directive of the source names. */
static enum dx_code read_named(const struct dx_token *token, const char *path,
                               struct dx_buf *ret, struct dx_err *err)
{
  struct dx_err why;
  enum dx_code code = read_secret(path, ret, &why);

  if (code == DX_OK)
    return DX_OK;
  if (code != DX_E_NOMEM && code != DX_E_FDS)
    code = DX_E_KEY;
  return dx_fail(err, code, why.sys_errno, "the %s cannot be used: %s",
                 source_of(token)->directive, why.text);
}

/* ---- a key ---- */

static enum dx_code token_read_key(struct dx_token *token, struct dx_err *err)
{
  const struct dx_service *s = token->service;
  struct dx_buf key = {0};
  struct dx_buf text = {0};
  enum dx_code code = read_named(token, s->token_key_file, &key, err);

  if (code == DX_OK)
    code = dx_jwt_sign(s, dx_buf_text(&key), key.len, token->offset_ms / 1000,
                       &text, err);
  dx_buf_release(&key);
  if (code == DX_OK) {
    token->text = dx_buf_take(&text);
    if (token->text == NULL)
      code = dx_fail_nomem(err);
    set_life(token, s->token_lifetime_ms);
  }
  dx_buf_release(&text);
  return code;
}

/* ---- a file ---- */

/* Sets the token, which must be visible ASCII, as an Authorization header
 * requires; `instead` is what the source provides otherwise. */
static enum dx_code token_set_text(struct dx_token *token, const char *text,
                                   size_t len, const char *instead,
                                   struct dx_err *err)
{
  size_t i = 0;

  while (i < len && text[i] > ' ' && text[i] <= '~')
    i++;
  if (len == 0 || i < len)
    return dx_fail(err, DX_E_KEY, 0, "the %s provides %s",
                   source_of(token)->directive, instead);
  token->text = strndup(text, len);
  return token->text != NULL ? DX_OK : dx_fail_nomem(err);
}

/* Takes the bare token in `text`, which may have white space around it. */
static enum dx_code take_bare(struct dx_token *token, const char *text,
                              struct dx_err *err)
{
  size_t len;

  text += strspn(text, BLANKS);
  len = strcspn(text, BLANKS);
  if (text[len + strspn(text + len, BLANKS)] != '\0')
    return dx_fail(err, DX_E_KEY, 0,
                   "the %s provides more than one word; it must be the token "
                   "alone",
                   source_of(token)->directive);
  return token_set_text(token, text, len, "no token", err);
}

static enum dx_code token_read_file(struct dx_token *token, struct dx_err *err)
{
  struct dx_buf text = {0};
  enum dx_code code = read_named(token, token->service->token_file, &text, err);

  if (code == DX_OK)
    code = take_bare(token, dx_buf_text(&text), err);
  dx_buf_release(&text);
  return code;
}

/* ---- a command ---- */

/* Waits for the end of a process. E_KEY when its time is over; E_STOPPED. */
static enum dx_code await_end(const struct dx_token *token, pid_t pid,
                              struct dx_err *err)
{
  int limit_s = source_of(token)->limit_s;
  int64_t until_ms = dx_monotonic_ms() + limit_s * INT64_C(1000);
  struct pollfd p[2] = {{.fd = pidfd_open(pid, 0), .events = POLLIN},
                        {.fd = token->stop_fd, .events = POLLIN}};
  int ready;

  if (p[0].fd < 0)
    return dx_fail_sys(err, errno, "wait for", source_of(token)->directive);
  do {
    int64_t left = until_ms - dx_monotonic_ms();

    ready = left > 0 ? poll(p, 2, (int)left) : 0;
  } while (ready < 0 && errno == EINTR);
  (void)close(p[0].fd);
  if (p[1].revents != 0)
    return dx_fail(err, DX_E_STOPPED, 0, "stopped");
  if (ready > 0)
    return DX_OK;
  return dx_fail(err, DX_E_KEY, 0, "the %s took longer than %d s",
                 source_of(token)->directive, limit_s);
}

/* Runs the command to its end. Its output waits in the pipe, which has room for
 * more than a token; a command that prints still more than that cannot end. */
static enum dx_code run_command(const struct dx_token *token, char **words,
                                struct dx_buf *output, struct dx_err *err)
{
  char *no_variables[] = {NULL}, bytes[DX_TOKEN_MAX_BYTES + 1];
  int ends[2], e, status = 0;
  enum dx_code code;
  ssize_t n = 0;
  pid_t pid;

  if (pipe2(ends, O_CLOEXEC) < 0)
    return dx_fail_sys(err, errno, "create a pipe for", "TokenCommand");
  (void)fcntl(ends[0], F_SETPIPE_SZ, 2 * DX_TOKEN_MAX_BYTES);
  (void)fcntl(ends[0], F_SETFL, O_NONBLOCK); /* its children may keep it open */
  e = dx_process_start(words, no_variables, ends[1], -1, &pid);
  (void)close(ends[1]);
  if (e != 0) {
    (void)close(ends[0]);
    return dx_fail(err, DX_E_KEY, e, "cannot run the TokenCommand '%s': %s",
                   words[0], strerror(e));
  }
  code = await_end(token, pid, err);
  if (code == DX_OK)
    n = read(ends[0], bytes, sizeof(bytes));
  (void)close(ends[0]);
  if (code != DX_OK) {
    dx_process_kill(pid);
    return code;
  }
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
    ;
  dx_buf_add(output, bytes, n > 0 ? (size_t)n : 0);
  explicit_bzero(bytes, sizeof(bytes));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return dx_fail(err, DX_E_KEY, 0,
                   "the TokenCommand '%s' failed (%s %d); run it as the "
                   "owner of SpoolDir to see why",
                   words[0], WIFEXITED(status) ? "status" : "signal",
                   WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
  if (output->len > DX_TOKEN_MAX_BYTES)
    return dx_fail(err, DX_E_KEY, 0,
                   "the TokenCommand provides more than %d bytes",
                   DX_TOKEN_MAX_BYTES);
  return dx_buf_ok(output) ? DX_OK : dx_fail_nomem(err);
}

/* Reads the token and its life from {"token": ..., "expires": RFC 3339}. */
static enum dx_code take_json(struct dx_token *token, const char *bytes,
                              size_t len, struct dx_err *err)
{
  struct cJSON *json = dx_json_parse(bytes, len, NULL);
  const char *text = dx_json_string(dx_json_get(json, "token"));
  const char *expires = dx_json_string(dx_json_get(json, "expires"));
  int64_t until = expires != NULL ? dx_parse_time(expires) : -1;
  enum dx_code code =
      token_set_text(token, text, text != NULL ? strlen(text) : 0,
                     "JSON without a token", err);

  if (until >= 0)
    set_life(token, until - dx_wall_ms());
  if (text != NULL)
    explicit_bzero((void *)(uintptr_t)text, strlen(text));
  dx_json_free(&json);
  return code;
}

static enum dx_code token_read_command(struct dx_token *token,
                                       struct dx_err *err)
{
  char *line = strdup(token->service->token_command);
  char *words[DX_PROCESS_WORDS + 1];
  struct dx_buf output = {0};
  const char *text;
  enum dx_code code;

  if (line == NULL)
    return dx_fail_nomem(err);
  if (dx_process_split(line, words) == 0)
    code = dx_fail(err, DX_E_KEY, 0, "the TokenCommand has more than %d words",
                   DX_PROCESS_WORDS);
  else
    code = run_command(token, words, &output, err);
  if (code == DX_OK) {
    text = dx_buf_text(&output);
    set_life(token, DX_TOKEN_LIFE_MS);
    code = text[strspn(text, BLANKS)] == '{'
               ? take_json(token, text, output.len, err)
               : take_bare(token, text, err);
  }
  dx_buf_release(&output);
  free(line);
  return code;
}

/* ---- the current token ---- */

enum dx_code dx_token_get(struct dx_token *token, int64_t server_offset_ms,
                          const char **ret_text, struct dx_err *err)
{
#define X(NAME, word, directive, field, TYPE, type, help, limit_s, advice, \
          reader)                                                          \
  reader,
  static enum dx_code (*const readers[])(struct dx_token *, struct dx_err *) = {
      DX_TOKEN_SOURCES(X)};
#undef X
  enum dx_code code = DX_OK;

  if (token->text == NULL || dx_monotonic_ms() >= token->renew_ms) {
    dx_token_forget(token);
    token->offset_ms = server_offset_ms;
    code = readers[token->service->token](token, err);
  }
  if (code == DX_OK)
    *ret_text = token->text;
  return code;
}
