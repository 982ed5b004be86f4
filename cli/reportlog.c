/*
 * reportlog.c - what of cupsd's error_log may go into a bug report. The log
 * has titles and names of people in many places, and so nothing is taken out
 * of it: a line is told if it is one of a few that are known, and of that line
 * only words of fixed sets, and numbers.
 */
#include "cli/cli.h"

#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_LOG "/var/log/cups/error_log"
#define TAIL_BYTES (1024 * 1024)
#define LINES 20
#define LINE_BYTES 160
#define GROUPS 8

#define HEAD \
  "^[A-Z] \\[([0-9]{2}/[A-Za-z]{3}/[0-9:]+ [-+0-9]+)\\] \\[Job ([0-9]+)\\] "
#define PROGRAM "\\([^ ()]*/(docextract|todocextract)\\)"
#define STATE \
  "(stored|registered|uploaded|processing|complete|extracted|failed|refused)"
#define REASON                                                               \
  "[-+]docextract-(waiting-report|service-down-warning|local-trouble-error|" \
  "document-refused-error|config-error)"

/* What a line is told as is its time and job, then `tell` with the groups that
 * it names: %3 is the third. */
static const struct {
  const char *pattern;
  const char *tell;
} known[] = {
    {HEAD "PID [0-9]+ " PROGRAM " (stopped with status|crashed on signal) "
          "([0-9]+)\\.$",
     "%3 %4 %5"},
    {HEAD "PID [0-9]+ " PROGRAM " exited with no errors\\.$", "%3 exited"},
    {HEAD "Backend returned status ([0-9]+) \\(", "backend status %3"},
    {HEAD "STATE: (" REASON ")$", "%3"},
    {HEAD "submission ([0-9]+): [^,]+, " STATE " -> " STATE "$",
     "submission %3: %4 -> %5"},
    {HEAD "(GET|POST|PUT) [^ ]+ -> ([0-9]{1,3})[, ]", "%3 -> %4"},
    {HEAD "todocextract: ([0-9]+) bytes in; out: (document|sheet|refused)",
     "filter: %3 bytes, %4"},
};

#define KNOWN (sizeof(known) / sizeof(known[0]))

struct tail {
  regex_t expressions[KNOWN];
  char lines[LINES][LINE_BYTES];
  size_t count; /* all of them; the last LINES are kept */
};

/* ---- finding it ---- */

/* "ErrorLog PATH" of cups-files.conf; false if it is no file, "syslog". */
static void find_log(const char *config_path, char path[512])
{
  int fd = cli_open_beside(config_path, "cups-files.conf");
  FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
  char line[1024];

  (void)snprintf(path, 512, "%s", DEFAULT_LOG);
  while (file != NULL && fgets(line, sizeof(line), file) != NULL)
    (void)sscanf(line, " ErrorLog %511s", path);
  if (file != NULL)
    (void)fclose(file);
  else if (fd >= 0)
    (void)close(fd);
}

int report_open_log(const char *config_path)
{
  char path[512];

  find_log(config_path, path);
  return path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
}

/* ---- choosing ---- */

static void tell_line(const char *line, const char *tell, const regmatch_t *at,
                      char out[LINE_BYTES])
{
  size_t len = 0;
  const char *p;

  for (p = tell; *p != '\0' && len < LINE_BYTES - 1; p++) {
    const regmatch_t *group = *p == '%' ? &at[*++p - '0'] : NULL;

    len +=
        (size_t)snprintf(out + len, LINE_BYTES - len, "%.*s",
                         group != NULL ? (int)(group->rm_eo - group->rm_so) : 1,
                         group != NULL ? line + group->rm_so : p);
  }
}

static void look_at(struct tail *tail, const char *line)
{
  regmatch_t at[GROUPS];
  char tell[64];
  size_t i;

  for (i = 0; i < KNOWN; i++) {
    if (regexec(&tail->expressions[i], line, GROUPS, at, 0) != 0)
      continue;
    (void)snprintf(tell, sizeof(tell), "%%1 job %%2: %s", known[i].tell);
    tell_line(line, tell, at, tail->lines[tail->count++ % LINES]);
    return;
  }
}

static void read_tail(struct tail *tail, FILE *file)
{
  char line[2048];
  struct stat st;

  if (fstat(fileno(file), &st) == 0 && st.st_size > TAIL_BYTES)
    (void)fseeko(file, st.st_size - TAIL_BYTES, SEEK_SET);
  while (fgets(line, sizeof(line), file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    look_at(tail, line);
  }
}

void report_log(int fd)
{
  FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
  struct tail tail = {.count = 0};
  size_t i, compiled = 0;

  while (compiled < KNOWN &&
         regcomp(&tail.expressions[compiled], known[compiled].pattern,
                 REG_EXTENDED) == 0)
    compiled++;
  if (file == NULL)
    printf("  cannot be read\n");
  else if (compiled == KNOWN)
    read_tail(&tail, file);
  for (i = tail.count > LINES ? tail.count - LINES : 0; i < tail.count; i++)
    printf("  %s\n", tail.lines[i % LINES]);
  while (compiled > 0)
    regfree(&tail.expressions[--compiled]);
  if (file != NULL)
    (void)fclose(file);
  else if (fd >= 0)
    (void)close(fd);
}
