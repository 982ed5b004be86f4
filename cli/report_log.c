/*
 * report_log.c - which lines of cupsd's error_log may go into a bug report. The
 * log has titles and names of people in many places, so nothing is removed from
 * it: a line is printed if it is one of a few known ones, and of that line only
 * words of fixed sets, and numbers.
 */
#include "cli/cli.h"

#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cupsd.h"

#define DEFAULT_LOG "/var/log/cups/error_log"
#define PATH_BYTES 512
#define TAIL_BYTES (1024 * 1024)
#define LINES 20
#define LINE_BYTES 160
#define GROUPS 8

#define HEAD \
  "^[A-Z] \\[([0-9]{2}/[A-Za-z]{3}/[0-9:]+ [-+0-9]+)\\] \\[Job ([0-9]+)\\] "
#define PROGRAM "\\([^ ()]*/(docextract|todocextract)\\)"
#define STATE \
  "(stored|registered|uploaded|processing|complete|extracted|failed|refused)"
#define REASON                                                         \
  "[-+]docextract-(waiting-report|service-down-warning|storage-error|" \
  "document-refused-error|config-error)"

/* A line is printed as its time and job, then `format` with the groups that it
 * names: %3 is the third. */
static const struct {
  const char *pattern;
  const char *format;
} known[] = {
    {HEAD "PID [0-9]+ " PROGRAM " (stopped with status|crashed on signal) "
          "([0-9]+)\\.$",
     "%3 %4 %5"},
    {HEAD "PID [0-9]+ " PROGRAM " exited with no errors\\.$", "%3 exited"},
    {HEAD "Backend returned status ([0-9]+) \\(", "backend status %3"},
    {HEAD "STATE: (" REASON ")$", "%3"},
    {HEAD "submission ([0-9]+): [^,]+, " STATE " -> " STATE "$",
     "submission %3: %4 -> %5"},
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

static void read_log_path(void *ctx, const char *name, const char *value)
{
  if (strcasecmp(name, "ErrorLog") == 0)
    (void)snprintf(ctx, PATH_BYTES, "%s", value);
}

int report_open_log(const char *config_path)
{
  char path[PATH_BYTES] = DEFAULT_LOG;
  int fd = cupsd_open(config_path, "cups-files.conf");

  if (fd >= 0)
    cupsd_directives(fd, read_log_path, path);
  /* it may be "syslog" */
  return path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
}

/* ---- choosing ---- */

static void format_line(const char *line, const char *format,
                        const regmatch_t *at, char out[LINE_BYTES])
{
  size_t len = 0;
  const char *p;

  for (p = format; *p != '\0' && len < LINE_BYTES - 1; p++) {
    const regmatch_t *group = *p == '%' ? &at[*++p - '0'] : NULL;

    len +=
        (size_t)snprintf(out + len, LINE_BYTES - len, "%.*s",
                         group != NULL ? (int)(group->rm_eo - group->rm_so) : 1,
                         group != NULL ? line + group->rm_so : p);
  }
}

static void add_line(struct tail *tail, const char *line)
{
  regmatch_t at[GROUPS];
  char format[64];
  size_t i;

  for (i = 0; i < KNOWN; i++) {
    if (regexec(&tail->expressions[i], line, GROUPS, at, 0) != 0)
      continue;
    (void)snprintf(format, sizeof(format), "%%1 job %%2: %s", known[i].format);
    format_line(line, format, at, tail->lines[tail->count++ % LINES]);
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
    add_line(tail, line);
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
