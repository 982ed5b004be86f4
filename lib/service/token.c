/*
 * token.c - the current token: one reader for each source of token_source.h,
 * and when it is read again. How a token is signed is jwt.c's business.
 */
#include "lib/service/token.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
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
#include "lib/service/jwt.h"

#define COMMAND_WORDS 64

struct dx_token {
  const struct dx_service *service;
  char *text;          /* NULL: none now */
  int64_t renew_ms;    /* monotonic; 80 % of its life */
  const char *watched; /* path; NULL: renew_ms counts, else its changes */
  struct stat file;    /* what was there when it was read */
  int64_t offset_ms;   /* added to our clock when signing */
  int wake_fd;         /* -1: none */
};

struct dx_token *dx_token_new(const struct dx_service *service)
{
  struct dx_token *token = calloc(1, sizeof(*token));

  if (token == NULL)
    return NULL;
  token->service = service;
  token->wake_fd = -1;
  return token;
}

void dx_token_wake_by(struct dx_token *token, int fd)
{
  token->wake_fd = fd;
}

void dx_token_forget(struct dx_token *token)
{
  if (token->text != NULL)
    explicit_bzero(token->text, strlen(token->text));
  free(token->text);
  token->text = NULL;
}

void dx_token_free(struct dx_token **token)
{
  if (*token == NULL)
    return;
  dx_token_forget(*token);
  free(*token);
  *token = NULL;
}

/* From now on until 80 % of its life is over. */
static void set_life(struct dx_token *token, int64_t life_ms)
{
  if (life_ms < 0)
    life_ms = 0;
  token->renew_ms = dx_monotonic_ms() + life_ms / 100 * DX_TOKEN_RENEW_PERCENT;
}

/* One word of visible ASCII, as an Authorization header can hold it. */
static bool is_token(const char *text)
{
  const char *p;

  for (p = text; *p != '\0'; p++)
    if (*p <= ' ' || *p > '~')
      return false;
  return p > text;
}

static const struct dx_token_source_info *
source_of(const struct dx_token *token)
{
  return dx_token_source_info(token->service->token);
}

/* Takes the bare token out of what a file or a command gave. */
static enum dx_code take_bare(struct dx_token *token, char *text,
                              struct dx_err *err)
{
  const char *from = source_of(token)->directive;
  size_t start = strspn(text, " \t\r\n");
  size_t len = strcspn(text + start, " \t\r\n");

  if (text[start + len + strspn(text + start + len, " \t\r\n")] != '\0')
    return dx_fail(err, DX_E_KEY, 0, "the %s provides more than one token",
                   from);
  token->text = strndup(text + start, len);
  if (token->text == NULL)
    return dx_fail_nomem(err);
  if (is_token(token->text))
    return DX_OK;
  dx_token_forget(token);
  return dx_fail(err, DX_E_KEY, 0, "the %s provides no token", from);
}

/* ---- a key ---- */

static enum dx_code read_key(struct dx_token *token, struct dx_err *err)
{
  const struct dx_service *s = token->service;
  struct dx_buf key = {.secret = true};
  struct dx_buf signed_text = {.secret = true};
  struct dx_err why;
  enum dx_code code;

  code = dx_fs_read_linked(s->token_key_file, DX_TOKEN_MAX_BYTES, &key, &why);
  if (code != DX_OK)
    code = dx_fail(err, code == DX_E_NOMEM ? code : DX_E_KEY, why.sys_errno,
                   "the TokenKeyFile cannot be used: %s", why.text);
  else
    code = dx_jwt_sign(s, key.data != NULL ? key.data : "", key.len,
                       (dx_wall_ms() + token->offset_ms) / 1000, &signed_text,
                       err);
  dx_buf_wipe(&key);
  if (code == DX_OK) {
    token->text = dx_buf_take(&signed_text);
    if (token->text == NULL)
      code = dx_fail_nomem(err);
    set_life(token, s->token_lifetime_ms);
  }
  dx_buf_wipe(&signed_text);
  return code;
}

/* ---- a file ---- */

static bool is_same_file(const struct stat *a, const struct stat *b)
{
  return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
         a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
         a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static enum dx_code read_file(struct dx_token *token, struct dx_err *err)
{
  const char *path = token->service->token_file;
  struct dx_buf text = {.secret = true};
  struct dx_err why;
  enum dx_code code;

  if (stat(path, &token->file) < 0)
    return dx_fail(err, DX_E_KEY, errno,
                   "the TokenFile '%s' cannot be used: %s", path,
                   strerror(errno));
  token->watched = path;
  /* Not O_NOFOLLOW: /run/secrets is made of links. */
  code = dx_fs_read_linked(path, DX_TOKEN_MAX_BYTES, &text, &why);
  if (code != DX_OK)
    code = dx_fail(err, code == DX_E_NOMEM ? code : DX_E_KEY, why.sys_errno,
                   "the TokenFile cannot be used: %s", why.text);
  else
    code = take_bare(token, text.data != NULL ? text.data : (char[]){""}, err);
  dx_buf_wipe(&text);
  return code;
}

/* ---- a command ---- */

static void kill_and_reap(pid_t pid, int *ret_status)
{
  (void)kill(-pid, SIGKILL); /* its children too: it leads a group */
  while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
    ;
}

/* Until when to wait, and what ends the wait before. */
struct patience {
  const struct dx_token_source_info *source;
  int64_t until; /* monotonic */
  int wake_fd;
};

static struct patience patience_for(const struct dx_token *token)
{
  const struct dx_token_source_info *source = source_of(token);

  return (struct patience){source, dx_monotonic_ms() + source->limit_s * 1000,
                           token->wake_fd};
}

/* Waits until fd can be read. */
static enum dx_code await(int fd, const struct patience *patience,
                          struct dx_err *err)
{
  struct pollfd p[2] = {{.fd = fd, .events = POLLIN},
                        {.fd = patience->wake_fd, .events = POLLIN}};
  int ready;

  do {
    int64_t left = patience->until - dx_monotonic_ms();

    ready = left > 0 ? poll(p, 2, (int)left) : 0;
  } while (ready < 0 && errno == EINTR);
  if (p[1].revents != 0)
    return dx_fail(err, DX_E_STOPPED, 0, "stopped");
  if (ready > 0)
    return DX_OK;
  return dx_fail(err, DX_E_KEY, 0, "the %s took longer than %d s",
                 patience->source->directive, patience->source->limit_s);
}

static enum dx_code read_output(int fd, const struct patience *patience,
                                struct dx_buf *output, struct dx_err *err)
{
  char bytes[4096];
  ssize_t n = 1;

  while (n > 0 && output->len <= DX_TOKEN_MAX_BYTES) {
    enum dx_code code = await(fd, patience, err);

    if (code != DX_OK)
      return code;
    n = read(fd, bytes, sizeof(bytes));
    if (n > 0)
      dx_buf_add(output, bytes, (size_t)n);
  }
  explicit_bzero(bytes, sizeof(bytes));
  if (output->len > DX_TOKEN_MAX_BYTES)
    return dx_fail(err, DX_E_KEY, 0, "the %s provides more than %d bytes",
                   patience->source->directive, DX_TOKEN_MAX_BYTES);
  return dx_buf_ok(output) ? DX_OK : dx_fail_nomem(err);
}

/* A command may close its output and go on all the same. */
static enum dx_code await_end(pid_t pid, const struct patience *patience,
                              struct dx_err *err)
{
  int fd = pidfd_open(pid, 0);
  enum dx_code code;

  if (fd < 0)
    return dx_fail_sys(err, errno, "wait for", "TokenCommand");
  code = await(fd, patience, err);
  (void)close(fd);
  return code;
}

/* stdin and stderr from and to nowhere, everything above 2 closed. */
static int start_command(char **words, int out_fd, pid_t *ret_pid)
{
  static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:"
                       "/usr/bin:/sbin:/bin";
  char *environment[] = {path, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attr;
  sigset_t none;
  int e;

  (void)sigemptyset(&none);
  e = posix_spawn_file_actions_init(&actions);
  if (e != 0)
    return e;
  e = posix_spawnattr_init(&attr);
  if (e == 0) {
    (void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP |
                                              POSIX_SPAWN_SETSIGMASK);
    (void)posix_spawnattr_setpgroup(&attr, 0);
    (void)posix_spawnattr_setsigmask(&attr, &none);
    e = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (e == 0)
      e = posix_spawn_file_actions_adddup2(&actions, out_fd, 1);
    if (e == 0)
      e = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY,
                                           0);
    if (e == 0)
      e = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    if (e == 0)
      e = posix_spawn(ret_pid, words[0], &actions, &attr, words, environment);
    (void)posix_spawnattr_destroy(&attr);
  }
  (void)posix_spawn_file_actions_destroy(&actions);
  return e;
}

static enum dx_code run_command(char **words, const struct patience *patience,
                                struct dx_buf *output, struct dx_err *err)
{
  int ends[2], e, status = 0;
  pid_t pid;
  enum dx_code code;

  if (pipe2(ends, O_CLOEXEC) < 0)
    return dx_fail_sys(err, errno, "make a pipe for", "TokenCommand");
  e = start_command(words, ends[1], &pid);
  (void)close(ends[1]);
  if (e != 0) {
    (void)close(ends[0]);
    return dx_fail(err, DX_E_KEY, e, "cannot run the TokenCommand '%s': %s",
                   words[0], strerror(e));
  }
  code = read_output(ends[0], patience, output, err);
  (void)close(ends[0]);
  if (code == DX_OK)
    code = await_end(pid, patience, err);
  if (code != DX_OK) {
    kill_and_reap(pid, &status);
    return code;
  }
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
    ;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return dx_fail(err, DX_E_KEY, 0,
                   "the TokenCommand '%s' failed (%s %d); run it as the "
                   "user of the backends to see why",
                   words[0], WIFEXITED(status) ? "status" : "signal",
                   WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
  return DX_OK;
}

/* {"token": ..., "expires": RFC 3339} */
static enum dx_code take_json(struct dx_token *token, struct dx_json *json,
                              struct dx_err *err)
{
  const char *text = dx_json_string(dx_json_get(json, "token"));
  const char *expires = dx_json_string(dx_json_get(json, "expires"));
  int64_t until = expires != NULL ? dx_parse_time(expires) : -1;

  if (text == NULL || !is_token(text))
    return dx_fail(err, DX_E_KEY, 0, "the %s provides JSON without a token",
                   source_of(token)->directive);
  token->text = strdup(text);
  if (token->text == NULL)
    return dx_fail_nomem(err);
  if (until >= 0)
    set_life(token, until - dx_wall_ms());
  return DX_OK;
}

static enum dx_code take_output(struct dx_token *token, struct dx_buf *output,
                                struct dx_err *err)
{
  char *text = output->data != NULL ? output->data : (char[]){""};
  struct dx_json *json = NULL;
  enum dx_code code;

  set_life(token, DX_TOKEN_LIFE_MS);
  if (text[strspn(text, " \t\r\n")] != '{')
    return take_bare(token, text, err);
  json = dx_json_parse(text, output->len, NULL);
  code = take_json(token, json, err); /* takes NULL: there is no token */
  dx_json_free(&json);
  return code;
}

static enum dx_code read_command(struct dx_token *token, struct dx_err *err)
{
  char *line = strdup(token->service->token_command);
  char *words[COMMAND_WORDS + 1] = {NULL};
  struct dx_buf output = {.secret = true};
  struct patience patience = patience_for(token);
  char *rest = NULL;
  int count = 0;
  enum dx_code code;

  if (line == NULL)
    return dx_fail_nomem(err);
  while (count <= COMMAND_WORDS &&
         (words[count] = strtok_r(count == 0 ? line : NULL, " \t", &rest)) !=
             NULL)
    count++;
  if (count > COMMAND_WORDS)
    code = dx_fail(err, DX_E_KEY, 0, "the TokenCommand has more than %d words",
                   COMMAND_WORDS);
  else
    code = run_command(words, &patience, &output, err);
  if (code == DX_OK)
    code = take_output(token, &output, err);
  dx_buf_wipe(&output);
  free(line);
  return code;
}

/* ---- the current one ---- */

static bool is_fresh(const struct dx_token *token)
{
  struct stat now;

  if (token->text == NULL)
    return false;
  if (token->watched != NULL)
    return stat(token->watched, &now) == 0 && is_same_file(&now, &token->file);
  return dx_monotonic_ms() < token->renew_ms;
}

/* Gets a token from where the service has it. */
static enum dx_code read_token(struct dx_token *token, struct dx_err *err)
{
#define X(NAME, word, directive, field, TYPE, type, help, limit_s, advice, \
          reader)                                                          \
  reader,
  static enum dx_code (*const readers[])(struct dx_token *, struct dx_err *) = {
      DX_TOKEN_SOURCES(X)};
#undef X

  return readers[token->service->token](token, err);
}

enum dx_code dx_token_get(struct dx_token *token, int64_t server_offset_ms,
                          const char **ret_text, struct dx_err *err)
{
  enum dx_code code = DX_OK;

  if (!is_fresh(token)) {
    dx_token_forget(token);
    token->offset_ms = server_offset_ms;
    code = read_token(token, err);
  }
  if (code == DX_OK)
    *ret_text = token->text;
  return code;
}
