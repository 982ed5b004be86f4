/*
 * report.c - `docextract report`: prints the information that is needed first
 * to analyze a bug, safe for a public bug report. It prints only data that is
 * known to be harmless (versions, numbers, words of fixed sets), instead of
 * removing secrets from other data. It contains no text written by users: no
 * titles, and no names of users, hosts, queues, or files.
 */
#include "cli/cli.h"

#include <cups/cups.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <regex.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cupsd.h"
#include "lib/base/clock.h"
#include "lib/base/process.h"
#include "lib/control/start.h"

#define LINE_BYTES 80   /* limit for the output of a program */
#define VERSION_MS 5000 /* timeout for this output */

struct count {
  struct cli *cli;
  size_t states[DX_ST_COUNT + 1]; /* by cli_state_word() */
  size_t codes[DX_CODE_COUNT];    /* reasons of ended submissions */
  size_t messages[DX_ST_COUNT + 1][DX_CODE_COUNT]; /* by state and code */
  size_t unreadable;
};

/* ---- versions ---- */

/* Reads a line, or less if it ends or VERSION_MS has passed. */
static void read_line(int fd, char line[LINE_BYTES])
{
  int64_t end_ms = dx_monotonic_ms() + VERSION_MS, left_ms = VERSION_MS;
  struct pollfd fds = {.fd = fd, .events = POLLIN};
  size_t len = 0;
  ssize_t n = 1;

  while (n > 0 && memchr(line, '\n', len) == NULL && left_ms > 0 &&
         poll(&fds, 1, (int)left_ms) > 0) {
    n = read(fd, line + len, LINE_BYTES - 1 - len);
    len += n > 0 ? (size_t)n : 0;
    left_ms = end_ms - dx_monotonic_ms();
  }
  line[len] = '\0';
  line[strcspn(line, "\n")] = '\0';
}

/* Prints the `--version` line: only the program knows its libraries. */
static void print_program(char *program, const char *name)
{
  char option[] = "--version", line[LINE_BYTES] = "";
  char *const words[] = {program, option, NULL}, *const none[] = {NULL};
  bool is_started = false;
  int ends[2], status;
  pid_t pid;

  if (pipe2(ends, O_CLOEXEC) == 0) {
    is_started = dx_process_start(words, none, ends[1], &pid) == 0;
    (void)close(ends[1]);
    if (is_started) {
      read_line(ends[0], line);
      dx_process_kill(pid, &status);
    }
    (void)close(ends[0]);
  }
  if (strncmp(line, name, strlen(name)) == 0)
    printf("  %s\n", line);
  else
    printf("  %s %s\n", name,
           is_started ? "does not print its version" : "was not found");
}

static void print_versions(void)
{
  const char *agent = cupsUserAgent(); /* "CUPS/2.4.2 (...) IPP/2.0" */
  FILE *file = fopen("/etc/os-release", "re");
  char path[PATH_MAX], line[256], system[256];
  struct utsname name;

  printf("Versions\n  docextract %s\n", PACKAGE_VERSION);
  cli_server_program("filter/todocextract", path);
  print_program(path, "todocextract");
  (void)snprintf(path, sizeof(path), "%s", dx_docextractd_path());
  print_program(path, "docextractd");
  printf("  lib%.*s\n", (int)strcspn(agent, " "), agent);
  while (file != NULL && fgets(line, sizeof(line), file) != NULL)
    if (sscanf(line, "PRETTY_NAME=\"%255[^\"\n]", system) == 1)
      printf("  %s\n", system);
  if (file != NULL)
    (void)fclose(file);
  if (uname(&name) == 0)
    printf("  %s %s %s\n", name.sysname, name.release, name.machine);
}

/* ---- queues ---- */

static void print_queues(const struct cli *cli)
{
  const struct dx_config *config = cli->config;
  struct queues queues;
  struct dx_err err;
  size_t i;

  printf("\nQueues\n");
  if (cupsd_queues(&queues, &err) != DX_OK)
    printf("  %s\n", err.text);
  else if (queues.count == 0)
    printf("  no queue prints to docextract\n");
  for (i = 0; i < queues.count; i++) {
    const struct queue *queue = &queues.list[i];
    const struct dx_service *service =
        config != NULL ? dx_config_service(config, queue->service) : NULL;

    printf("  queue %zu: %s, %s, %d job%s", i + 1, queue->state,
           queue->accepting ? "accepting" : "rejecting", queue->jobs,
           queue->jobs == 1 ? "" : "s");
    if (service != NULL)
      printf(", service %td", service - config->services + 1);
    else if (config != NULL)
      printf(", a service that is not configured");
    printf("%s%s\n", queue->reasons[0] != '\0' ? ", " : "", queue->reasons);
  }
  free(queues.list);
}

/* ---- tests ---- */

static void print_clock(const char *text)
{
  const char *clock = strstr(text, DX_HELLO_CLOCK);
  long long seconds;
  char word[8];

  if (clock != NULL &&
      sscanf(clock, DX_HELLO_CLOCK "%lld s %7[a-z]", &seconds, word) == 2 &&
      (strcmp(word, "behind") == 0 || strcmp(word, "ahead") == 0))
    printf("  the clock is %lld s %s\n", seconds, word);
}

/* Prints only whether a step of `hello` succeeded. Addresses and texts of the
 * service are omitted. */
static void print_step(const struct dx_message *message)
{
#define X(function, name) DX_HELLO_OK name, DX_HELLO_FAILED name,
  static const char *const steps[] = {DX_HELLO_STEPS(X)};
#undef X
  const char *text = message->text;
  size_t i, len;

  if (message->verb != DX_VERB_LINE)
    return;
  print_clock(text);
  if (strncmp(text, DX_HELLO_NO_RESULTS, strlen(DX_HELLO_NO_RESULTS)) == 0)
    printf("  %s\n", DX_HELLO_NO_RESULTS);
  for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
    len = strlen(steps[i]);
    if (strncmp(text, steps[i], len) == 0 &&
        (text[len] == '\0' || strncmp(text + len, "  ", 2) == 0))
      printf("  %s\n", steps[i]);
  }
}

/* Runs the tests of `docextract hello`. */
static void test_services(const struct cli *cli)
{
  struct dx_err err;
  size_t i;

  for (i = 0; i < cli->config->service_count; i++) {
    printf("\nTest of service %zu\n", i + 1);
    if (cli_request(cli, CLI_PATIENCE_MS, print_step, &err, "hello %s",
                    cli->config->services[i].name) == DX_OK)
      continue;
    print_clock(err.text);
    printf("  %s (%s)%s%s\n", dx_code_name(err.code),
           dx_class_word(dx_class_of(err.code)), err.sys_errno != 0 ? ": " : "",
           err.sys_errno != 0 ? strerror(err.sys_errno) : "");
  }
}

/* ---- jobs ---- */

static enum dx_code count_job(void *ctx, enum dx_spool_part part,
                              const char *name)
{
  struct count *c = ctx;
  struct dx_job *job;
  size_t i = 0;

  (void)part;
  if (cli_read_job(c->cli, name, &job, NULL) != DX_OK) {
    c->unreadable++;
    return DX_OK;
  }
  while (strcmp(cli_state_word(i), dx_job_status(job)) != 0)
    i++;
  c->states[i]++;
  if (job->message[0] != '\0')
    c->messages[i][job->message_code]++;
  for (i = 0; i < job->submission_count; i++)
    c->codes[job->submissions[i].code]++;
  dx_job_free(&job);
  return DX_OK;
}

/* code: of the attempt to become the owner of the spool */
static void print_jobs(struct cli *cli, enum dx_code code)
{
  struct count c = {.cli = cli};
  struct dx_err err;
  size_t i, k;

  printf("\nJobs\n");
  if (code == DX_OK)
    code = dx_spool_open(cli->config->spool_dir, &cli->spool, &err);
  if (code == DX_OK)
    code = cli_each_job(cli, count_job, &c, &err);
  if (code != DX_OK) {
    printf("  cannot be read: %s\n", dx_code_name(code));
    return;
  }
  for (i = 0; cli_state_word(i) != NULL; i++)
    if (c.states[i] > 0)
      printf("  %-12s %zu\n", cli_state_word(i), c.states[i]);
  for (i = 0; cli_state_word(i) != NULL; i++)
    for (k = DX_OK; k < DX_CODE_COUNT; k++)
      if (c.messages[i][k] > 0)
        printf("  message of %s jobs: %s (%s) %zu\n", cli_state_word(i),
               dx_code_name((enum dx_code)k),
               dx_class_word(dx_class_of((enum dx_code)k)), c.messages[i][k]);
  printf("  %-12s %zu\n", "damaged",
         c.unreadable + dx_spool_count_damaged(&cli->spool));
  for (i = DX_OK + 1; i < DX_CODE_COUNT; i++)
    if (c.codes[i] > 0)
      printf("  ended with %s (%s) %zu\n", dx_code_name((enum dx_code)i),
             dx_class_word(dx_class_of((enum dx_code)i)), c.codes[i]);
  printf("  %-12s %s\n", "docextractd", cli_docextractd(cli));
}

/* ---- cupsd's error_log ---- */

/*
 * The log contains titles and names of people in many places. Therefore only
 * lines of a few known forms are printed, and only the groups of their
 * patterns: numbers and words of fixed sets.
 */
#define DEFAULT_LOG "/var/log/cups/error_log"
#define PATH_BYTES 512
#define TAIL_BYTES (1024 * 1024)
#define LINES 20
#define LOG_LINE_BYTES 160
#define GROUPS 8

#define HEAD \
  "^[A-Z] \\[([0-9]{2}/[A-Za-z]{3}/[0-9:]+ [-+0-9]+)\\] \\[Job ([0-9]+)\\] "
#define PROGRAM "PID [0-9]+ \\([^ ()]*/(docextract|todocextract)\\) "
#define STATE \
  "(stored|registered|uploaded|processing|complete|extracted|failed|refused)"

static const char *const known[] = {
    HEAD PROGRAM "((stopped with status|crashed on signal) [0-9]+)\\.$",
    HEAD PROGRAM "(exited) with no errors\\.$",
    HEAD "Backend returned (status [0-9]+) \\(",
    HEAD "STATE: ([-+]docextract-(waiting-report|service-down-warning|"
         "storage-error|document-refused-error|config-error))$",
    HEAD "(submission [0-9]+:) [^,]+, (" STATE " -> " STATE ")$",
    HEAD "todocextract: ([0-9]+ bytes) in; out: (document|sheet|refused)",
};

#define KNOWN (sizeof(known) / sizeof(known[0]))

static void read_log_path(void *ctx, const char *name, const char *value)
{
  if (strcasecmp(name, "ErrorLog") == 0)
    (void)snprintf(ctx, PATH_BYTES, "%s", value);
}

/* Opened with the rights of the caller; NULL: not available. */
static FILE *open_log(const char *config_path)
{
  char path[PATH_BYTES] = DEFAULT_LOG;
  int fd;

  cupsd_directives(cupsd_open(config_path, "cups-files.conf"), read_log_path,
                   path);
  /* it may be "syslog" */
  fd = path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
  return fd >= 0 ? fdopen(fd, "r") : NULL;
}

/* Joins the groups of a line: the time, the job, and all others that are not
 * part of another one. */
static void join_groups(const char *line, const regmatch_t at[GROUPS],
                        char text[LOG_LINE_BYTES])
{
  int end = at[1].rm_eo;
  size_t i, len;

  len = (size_t)snprintf(text, LOG_LINE_BYTES, "%.*s job", end - at[1].rm_so,
                         line + at[1].rm_so);
  for (i = 2; i < GROUPS && len < LOG_LINE_BYTES; i++)
    if (at[i].rm_so >= end) {
      end = at[i].rm_eo;
      len += (size_t)snprintf(text + len, LOG_LINE_BYTES - len, " %.*s%s",
                              end - at[i].rm_so, line + at[i].rm_so,
                              i == 2 ? ":" : "");
    }
}

/* Prints the last known lines. Closes the file. */
static void print_log(FILE *file)
{
  regex_t expressions[KNOWN];
  regmatch_t at[GROUPS];
  char line[2048], kept[LINES][LOG_LINE_BYTES]; /* the last ones */
  size_t i, compiled = 0, count = 0;

  if (file == NULL) {
    printf("  cannot be read\n");
    return;
  }
  while (compiled < KNOWN &&
         regcomp(&expressions[compiled], known[compiled], REG_EXTENDED) == 0)
    compiled++;
  (void)fseeko(file, -TAIL_BYTES, SEEK_END); /* fails in a shorter file */
  while (fgets(line, sizeof(line), file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    for (i = 0; i < compiled; i++)
      if (regexec(&expressions[i], line, GROUPS, at, 0) == 0) {
        join_groups(line, at, kept[count++ % LINES]);
        break;
      }
  }
  for (i = count > LINES ? count - LINES : 0; i < count; i++)
    printf("  %s\n", kept[i % LINES]);
  while (compiled > 0)
    regfree(&expressions[--compiled]);
  (void)fclose(file);
}

/* ---- the verb ---- */

/* Files that only the caller may read are opened before the process becomes the
 * owner of the spool; root becomes nobody if it cannot, because the report runs
 * programs. If a part fails, the report contains the error. */
enum dx_code verb_report(struct cli *cli, struct dx_err *err)
{
  FILE *log = open_log(cli->config_path);
  struct dx_err why, ignored;
  enum dx_code code = cli_load(cli, &why);
  enum dx_code spool = code == DX_OK ? cli_become_owner(cli, &ignored) : code;

  if (geteuid() == 0 && dx_user_become(DX_NOBODY, DX_NOBODY, err) != DX_OK)
    return err->code;
  print_versions();
  printf("\nConfiguration\n");
  if (code == DX_OK)
    dx_config_print_anonymous(cli->config, stdout);
  else
    printf("  cannot be used: %s; %s\n", dx_code_name(code),
           why.sys_errno == EACCES ? "run this command as root"
                                   : "see: docextract config");
  print_queues(cli);
  print_jobs(cli, spool);
  if (code == DX_OK)
    test_services(cli);
  printf("\nLast lines about docextract in cupsd's log\n");
  print_log(log);
  return fflush(stdout) == 0 ? DX_OK
                             : dx_fail_sys(err, errno, "write", "output");
}
