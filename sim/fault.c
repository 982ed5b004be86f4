/*
 * fault.c - the fault script, which specifies the faults of calls.
 */
#include "sim/sim.h"

#include <ctype.h>
#include <err.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#define DELAY_MAX_MS 3600000
#define CUT_MAX_BYTES 2147483647
#define GROUPS_MAX 10

enum kind { NONE, STATUS, HEADER, TEXT, EDIT, MS, BYTES };

static const struct {
  const char *word;
  enum kind kind;
} actions[SIM_ACT_COUNT] = {
#define X(name, word, kind) {word, kind},
    SIM_ACTIONS(X)
#undef X
};

struct line {
  unsigned call; /* SIM_CALL_COUNT: any */
  uint64_t from;
  uint64_t to;
  unsigned action;
  const char *arg; /* NULL: a comment */
};

static bool fault_parse_which(const char *word, struct line *ret)
{
  char *end;

  ret->from = 1;
  ret->to = UINT64_MAX;
  if (strcmp(word, "*") == 0)
    return true;
  ret->from = strtoul(word, &end, 10);
  if (*end != '-')
    ret->to = ret->from;
  else if (*++end != '\0')
    ret->to = strtoul(end, &end, 10);
  return ret->from > 0 && ret->to >= ret->from && *end == '\0';
}

static bool fault_is_header(const char *text)
{
  size_t n = strcspn(text, " :");

  return n > 0 && strncmp(text + n, ": ", 2) == 0;
}

static bool fault_is_argument(enum kind kind, const char *text)
{
  char *end;
  unsigned long n = strtoul(text, &end, 10);

  switch (kind) {
  case NONE:
    return *text == '\0';
  case STATUS:
    return n >= 200 && n <= 599 &&
           (*end == '\0' ||
            (*end == ' ' && fault_is_header(end + strspn(end, " "))));
  case HEADER:
    return fault_is_header(text);
  case EDIT:
    return sim_fault_edit(text, NULL);
  case MS:
    return end != text && *end == '\0' && n <= DELAY_MAX_MS;
  case BYTES:
    return end != text && *end == '\0' && n <= CUT_MAX_BYTES;
  case TEXT:
    break;
  }
  return *text != '\0';
}

static bool fault_is_connection(unsigned call)
{
  return call == SIM_CONNECT || call == SIM_CONNECT_STORAGE;
}

/* Of a connection, only its end can be specified. */
static bool fault_is_possible(unsigned call, unsigned action)
{
  switch (action) {
  case SIM_ACT_WORD:
    return call == SIM_SOURCE;
  case SIM_ACT_CUT:
  case SIM_ACT_KEEP:
    return call == SIM_PUT;
  case SIM_ACT_DROP:
    return true;
  default:
    return !fault_is_connection(call);
  }
}

/* Returns NULL, or the part of the line that is invalid. The argument points
 * into `text`. */
static const char *fault_parse_line(char *text, struct line *ret)
{
  size_t n = strlen(text);
  char call[16];
  char which[32];
  char action[16];
  int rest = 0;

  while (n > 0 && isspace((unsigned char)text[n - 1]))
    text[--n] = '\0';
  text += strspn(text, " \t");
  if (*text == '\0' || *text == '#')
    return NULL;
  if (sscanf(text, "%15s %31s %15s %n", call, which, action, &rest) != 3)
    return "number of words";
  while (
      ret->call <= SIM_CALL_COUNT &&
      (ret->call == SIM_OTHER || strcmp(call, sim_call_words[ret->call]) != 0))
    ret->call++;
  if (ret->call > SIM_CALL_COUNT)
    return "CALL";
  if (!fault_parse_which(which, ret))
    return "WHICH";
  while (ret->action < SIM_ACT_COUNT &&
         strcmp(action, actions[ret->action].word) != 0)
    ret->action++;
  if (ret->action == SIM_ACT_COUNT ||
      !fault_is_possible(ret->call, ret->action))
    return "ACTION";
  ret->arg = text + rest;
  return fault_is_argument(actions[ret->action].kind, ret->arg) ? NULL
                                                                : "ARGUMENT";
}

/* Reads the script, and sets the faults of the call with these counts: of this
 * call, and last of all. False after printing the reason. */
static bool fault_read(enum sim_call call,
                       const uint64_t counts[SIM_CALL_COUNT + 1],
                       struct sim_fault *ret)
{
  const char *path = sim_service.options.fault_script, *wrong = NULL;
  FILE *file = fopen(path, "re");
  char *rest, *text;
  size_t size = 0;

  if (file == NULL) {
    warn("cannot open '%s'", path);
    return false;
  }
  if (getdelim(&ret->script, &size, '\0', file) < 0) { /* it is empty */
    ret->script = sim_new(realloc(ret->script, 1));
    ret->script[0] = '\0';
  }
  (void)fclose(file);
  rest = ret->script;
  for (unsigned number = 1; (text = strsep(&rest, "\n")) != NULL; number++) {
    struct line line = {0};

    wrong = fault_parse_line(text, &line);
    if (wrong != NULL) {
      warnx("%s:%u: invalid %s; the form is CALL WHICH ACTION [ARGUMENT]", path,
            number, wrong);
      return false;
    }
    if (line.arg == NULL ||
        (line.call != call &&
         (line.call != SIM_CALL_COUNT || fault_is_connection(call))) ||
        counts[line.call] < line.from || counts[line.call] > line.to)
      continue;
    if (ret->word == NULL)
      ret->word = actions[line.action].word;
    if (ret->arg[line.action] == NULL)
      ret->arg[line.action] = line.arg;
  }
  return true;
}

void sim_script_check(void)
{
  const uint64_t none[SIM_CALL_COUNT + 1] = {0};
  struct sim_fault unused = {0};

  if (sim_service.options.fault_script != NULL &&
      !fault_read(SIM_OTHER, none, &unused))
    exit(EX_UNAVAILABLE);
  free(unused.script);
}

void sim_script_next(enum sim_call call, uint64_t *ret_n,
                     struct sim_fault *ret_fault)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static uint64_t counts[SIM_CALL_COUNT + 1]; /* the last entry: all calls */
  uint64_t now[SIM_CALL_COUNT + 1];

  (void)pthread_mutex_lock(&lock);
  if (!fault_is_connection(call))
    counts[SIM_CALL_COUNT]++;
  *ret_n = ++counts[call];
  memcpy(now, counts, sizeof(now));
  (void)pthread_mutex_unlock(&lock);
  if (sim_service.options.fault_script != NULL &&
      !fault_read(call, now, ret_fault))
    *ret_fault = (struct sim_fault){.script = ret_fault->script};
}

unsigned sim_fault_number(const struct sim_fault *f, enum sim_action action)
{
  return f->arg[action] == NULL ? 0
                                : (unsigned)strtoul(f->arg[action], NULL, 10);
}

enum MHD_Result sim_fault_accept(void *cls, const struct sockaddr *address,
                                 socklen_t len)
{
  struct sim_fault fault = {0};
  uint64_t n;
  bool is_refused;

  (void)address;
  (void)len;
  sim_script_next(cls != NULL ? SIM_CONNECT_STORAGE : SIM_CONNECT, &n, &fault);
  is_refused = fault.arg[SIM_ACT_DROP] != NULL;
  free(fault.script);
  return is_refused ? MHD_NO : MHD_YES;
}

/* Writes `text`, in which \0 to \9 are replaced by the groups of the match. */
static void edit_expand(FILE *out, const char *text, const char *body,
                        const regmatch_t *groups)
{
  for (; *text != '\0'; text++) {
    const regmatch_t *g;

    if (text[0] != '\\' || !isdigit((unsigned char)text[1])) {
      (void)putc(*text, out);
      continue;
    }
    g = &groups[*++text - '0'];
    if (g->rm_so >= 0)
      (void)fwrite(body + g->rm_so, 1, (size_t)(g->rm_eo - g->rm_so), out);
  }
}

bool sim_fault_edit(const char *edit, char **body)
{
  const char slash[] = {*edit, '\0'};
  char *copy = sim_new(strdup(edit));
  char *rest = copy, *edited = NULL;
  const char *pattern, *text;
  regmatch_t groups[GROUPS_MAX];
  regex_t regex;
  size_t len;
  FILE *out;
  bool valid;

  (void)strsep(&rest, slash); /* the empty text before the first slash */
  pattern = strsep(&rest, slash);
  text = strsep(&rest, slash);
  valid = rest != NULL && *rest == '\0' &&
          regcomp(&regex, pattern, REG_EXTENDED) == 0;
  if (valid && body != NULL && *body != NULL &&
      regexec(&regex, *body, GROUPS_MAX, groups, 0) == 0) {
    out = sim_new(open_memstream(&edited, &len));
    (void)fwrite(*body, 1, (size_t)groups[0].rm_so, out);
    edit_expand(out, text, *body, groups);
    (void)fputs(*body + groups[0].rm_eo, out);
    (void)fclose(out);
    free(*body);
    *body = edited;
  }
  if (valid)
    regfree(&regex);
  free(copy);
  return valid;
}
