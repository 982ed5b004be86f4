/*
 * fault.c - the script of faults: which call goes wrong, and how.
 */
#include "sim/fault.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LINE_BYTES 8192
#define LINES_MAX 10000u
#define DELAY_MAX_MS 3600000
#define BLANKS " \t\r\n"

enum arg { ARG_NONE, ARG_CODE, ARG_MS, ARG_TEXT };

struct action_row {
  const char *word;
  enum arg arg;
  unsigned calls;
};

static const struct action_row actions[SIM_ACT_COUNT] = {
    [SIM_ACT_NONE] = {NULL, ARG_NONE, 0},
#define X(name, word, arg, calls) [SIM_ACT_##name] = {word, arg, calls},
    SIM_ACTIONS(X)
#undef X
};

static const char *const call_words[SIM_CALL_COUNT + 1] = {
#define X(name, word) [SIM_##name] = word,
    SIM_CALLS(X)
#undef X
        [SIM_CALL_COUNT] = "any",
};

struct script {
  struct sim_fault *rows;
  size_t n;
};

struct sim_faults {
  pthread_mutex_t lock;
  const char *path;
  struct script script;
  struct timespec changed_at;
  off_t size;
  ino_t inode;
  uint64_t counts[SIM_CALL_COUNT + 1]; /* the last one counts all */
};

const char *sim_call_word(enum sim_call call)
{
  return call_words[call];
}

const char *sim_action_word(enum sim_action action)
{
  return actions[action].word;
}

void sim_fault_free(struct sim_fault *fault)
{
  free(fault->text);
  *fault = (struct sim_fault){0};
}

static void script_free(struct script *s)
{
  for (size_t i = 0; i < s->n; i++)
    free(s->rows[i].text);
  free(s->rows);
  *s = (struct script){0};
}

/* Cuts the next word off *rest; an empty string when there is none. */
static char *next_word(char **rest)
{
  char *word = *rest + strspn(*rest, BLANKS);
  char *end = word + strcspn(word, BLANKS);

  *rest = *end == '\0' ? end : end + 1;
  *end = '\0';
  return word;
}

static const char *parse_call(const char *word, struct sim_fault *ret)
{
  for (unsigned i = 0; i <= SIM_CALL_COUNT; i++)
    if (i != SIM_OTHER && strcmp(word, call_words[i]) == 0) {
      ret->call = (enum sim_call)i;
      return NULL;
    }
  return "the call must be create, put, source, extract, hello or any";
}

/* Reads a number from 1; NULL when there is none. */
static const char *parse_count(const char *text, uint64_t *ret)
{
  char *end;

  if (*text < '0' || *text > '9')
    return NULL;
  *ret = strtoull(text, &end, 10);
  return *ret == 0 ? NULL : end;
}

static const char *parse_which(const char *word, struct sim_fault *ret)
{
  static const char wrong[] = "which calls must be 3, 2-4, 2- or *";
  const char *p;

  ret->from = 1;
  ret->to = UINT64_MAX;
  if (strcmp(word, "*") == 0)
    return NULL;
  p = parse_count(word, &ret->from);
  if (p == NULL)
    return wrong;
  if (*p == '\0')
    ret->to = ret->from;
  else if (*p == '-' && p[1] != '\0')
    p = parse_count(p + 1, &ret->to);
  else if (*p == '-')
    p++;
  return p == NULL || *p != '\0' || ret->to < ret->from ? wrong : NULL;
}

static const char *parse_action(const char *word, struct sim_fault *ret)
{
  unsigned calls;

  for (unsigned i = SIM_ACT_NONE + 1; i < SIM_ACT_COUNT; i++)
    if (strcmp(word, actions[i].word) == 0)
      ret->action = (enum sim_action)i;
  if (ret->action == SIM_ACT_NONE)
    return "unknown action";
  calls = actions[ret->action].calls;
  if (calls != 0 && (calls & 1u << ret->call) == 0)
    return "this action is not for this call";
  return NULL;
}

static const char *parse_ms(const char *text, int64_t *ret)
{
  char *end;
  long n = strtol(text, &end, 10);

  if (end == text || *end != '\0' || n < 0 || n > DELAY_MAX_MS)
    return "the delay must be 0 to 3600000 ms";
  *ret = n;
  return NULL;
}

static const char *keep_text(const char *text, struct sim_fault *ret)
{
  if (*text == '\0')
    return "the argument is missing";
  ret->text = strdup(text);
  return ret->text == NULL ? "out of memory" : NULL;
}

static const char *parse_code(char *text, struct sim_fault *ret)
{
  char *end;
  long n = strtol(text, &end, 10);
  const char *colon;

  if (end == text || n < 200 || n > 599 || strchr(BLANKS, *end) == NULL)
    return "the status must be 200 to 599";
  ret->code = (unsigned)n;
  end += strspn(end, BLANKS);
  if (*end == '\0')
    return NULL;
  colon = strstr(end, ": ");
  if (colon == NULL || strcspn(end, BLANKS ":") != (size_t)(colon - end))
    return "a header must be given as 'Name: value'";
  return keep_text(end, ret);
}

static void cut_comment(char *text)
{
  char *hash = text[0] == '#' ? text : strstr(text, " #");

  if (hash != NULL)
    *hash = '\0';
}

static void trim_end(char *text)
{
  size_t n = strlen(text);

  while (n > 0 && strchr(BLANKS, text[n - 1]) != NULL)
    text[--n] = '\0';
}

static const char *parse_arg(char *rest, struct sim_fault *ret)
{
  enum arg arg = actions[ret->action].arg;

  rest += strspn(rest, BLANKS);
  if (arg != ARG_TEXT) /* a body may well have a # in it */
    cut_comment(rest);
  trim_end(rest);
  switch (arg) {
  case ARG_NONE:
    return *rest == '\0' ? NULL : "this action takes no argument";
  case ARG_CODE:
    return parse_code(rest, ret);
  case ARG_MS:
    return parse_ms(rest, &ret->delay_ms);
  case ARG_TEXT:
    return keep_text(rest, ret);
  }
  return NULL;
}

/* Parses one line; NULL, or what is wrong with it. */
static const char *parse_line(char *line, struct sim_fault *ret)
{
  const char *wrong = parse_call(next_word(&line), ret);

  if (wrong == NULL)
    wrong = parse_which(next_word(&line), ret);
  if (wrong == NULL)
    wrong = parse_action(next_word(&line), ret);
  if (wrong == NULL)
    wrong = parse_arg(line, ret);
  return wrong;
}

static const char *add_line(struct script *s, char *line)
{
  struct sim_fault fault = {0};
  const char *wrong;
  char *start = line + strspn(line, BLANKS);
  struct sim_fault *rows;

  if (*start == '\0' || *start == '#')
    return NULL;
  if (s->n == LINES_MAX)
    return "too many lines";
  wrong = parse_line(start, &fault);
  if (wrong != NULL) {
    sim_fault_free(&fault);
    return wrong;
  }
  rows = reallocarray(s->rows, s->n + 1, sizeof(*rows));
  if (rows == NULL) {
    sim_fault_free(&fault);
    return "out of memory";
  }
  s->rows = rows;
  s->rows[s->n++] = fault;
  return NULL;
}

static int load(const char *path, struct script *ret)
{
  struct script s = {0};
  const char *wrong = NULL;
  char line[LINE_BYTES];
  unsigned number = 0;
  FILE *file = fopen(path, "re");

  if (file == NULL) {
    (void)fprintf(stderr, "docextract-sim: cannot open '%s': %s\n", path,
                  strerror(errno));
    return -1;
  }
  while (wrong == NULL && fgets(line, sizeof(line), file) != NULL) {
    number++;
    wrong = strlen(line) == sizeof(line) - 1 ? "the line is too long"
                                             : add_line(&s, line);
  }
  (void)fclose(file);
  if (wrong != NULL) {
    (void)fprintf(stderr, "docextract-sim: %s:%u: %s\n", path, number, wrong);
    script_free(&s);
    return -1;
  }
  *ret = s;
  return 0;
}

/* Remembers what the file looks like; false if it looks as before. */
static bool file_changed(struct sim_faults *f)
{
  struct stat st;

  if (stat(f->path, &st) != 0)
    return false;
  if (st.st_mtim.tv_sec == f->changed_at.tv_sec &&
      st.st_mtim.tv_nsec == f->changed_at.tv_nsec && st.st_size == f->size &&
      st.st_ino == f->inode)
    return false;
  f->changed_at = st.st_mtim;
  f->size = st.st_size;
  f->inode = st.st_ino;
  return true;
}

static void load_again(struct sim_faults *f)
{
  struct script s;

  if (f->path == NULL || !file_changed(f) || load(f->path, &s) < 0)
    return;
  script_free(&f->script);
  f->script = s;
}

struct sim_faults *sim_faults_new(const char *path)
{
  struct sim_faults *f = calloc(1, sizeof(*f));

  if (f == NULL)
    return NULL;
  f->path = path;
  if (path != NULL) {
    (void)file_changed(f);
    if (load(path, &f->script) < 0) {
      free(f);
      return NULL;
    }
  }
  (void)pthread_mutex_init(&f->lock, NULL);
  return f;
}

static bool fits(const struct sim_fault *row, const uint64_t *counts,
                 enum sim_call call)
{
  uint64_t n = counts[row->call];

  return (row->call == call || row->call == SIM_CALL_COUNT) && n >= row->from &&
         n <= row->to;
}

static void copy_fault(const struct sim_fault *from, struct sim_fault *ret)
{
  *ret = *from;
  if (from->text != NULL)
    ret->text = strdup(from->text); /* NULL is dealt with as "no text" */
}

void sim_faults_next(struct sim_faults *f, enum sim_call call, uint64_t *ret_n,
                     struct sim_fault *ret_fault)
{
  *ret_fault = (struct sim_fault){0};
  (void)pthread_mutex_lock(&f->lock);
  load_again(f);
  f->counts[SIM_CALL_COUNT]++;
  *ret_n = ++f->counts[call];
  for (size_t i = 0; i < f->script.n; i++)
    if (fits(&f->script.rows[i], f->counts, call)) {
      copy_fault(&f->script.rows[i], ret_fault);
      break;
    }
  (void)pthread_mutex_unlock(&f->lock);
}

void sim_faults_free(struct sim_faults *f)
{
  if (f == NULL)
    return;
  script_free(&f->script);
  (void)pthread_mutex_destroy(&f->lock);
  free(f);
}
