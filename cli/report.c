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
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/process.h"
#include "lib/control/connect.h"
#include "lib/print/print_job.h"
#include "lib/spool/sentence.h"

#define RUN_MS 5000 /* timeout for a program */
#define MIB 1048576

/* "E_NET (transient)" */
static void report_print_code(enum dx_code code)
{
  printf("%s (%s)", dx_code_name(code), dx_class_word(dx_class_of(code)));
}

/* Runs a program until it ends or RUN_MS has passed. Returns its output, which
 * the caller closes; NULL if it cannot be started. */
static FILE *report_run_program(const char *const *words)
{
  int fd = memfd_create("output", MFD_CLOEXEC), pid_fd;
  char *const none[] = {NULL};
  pid_t pid;

  if (fd < 0 || dx_process_start((char *const *)(uintptr_t)words, none, fd, -1,
                                 &pid) != 0) {
    (void)close(fd);
    return NULL;
  }
  pid_fd = pidfd_open(pid, 0);
  (void)poll(&(struct pollfd){.fd = pid_fd, .events = POLLIN}, 1, RUN_MS);
  dx_process_kill(pid);
  (void)close(pid_fd);
  (void)lseek(fd, 0, SEEK_SET);
  return fdopen(fd, "r");
}

/* ---- versions ---- */

/* Prints the `--version` line: only the program knows its libraries. */
static void report_print_program(const char *path, const char *name)
{
  const char *const words[] = {path, "--version", NULL};
  FILE *output = report_run_program(words);
  char line[256] = "";

  if (output != NULL && fgets(line, sizeof(line), output) != NULL &&
      strncmp(line, name, strlen(name)) == 0)
    printf("  %.*s\n", (int)strcspn(line, "\n"), line);
  else
    printf("  %s %s\n", name,
           output != NULL ? "does not print its version" : "was not found");
  if (output != NULL)
    (void)fclose(output);
}

static void report_print_versions(void)
{
  const char *agent = cupsUserAgent(); /* "CUPS/2.4.2 (...) IPP/2.0" */
  FILE *file = fopen("/etc/os-release", "re");
  char path[PATH_MAX], line[256], system[256];
  struct utsname name;

  printf("Versions\n  docextract %s\n", PACKAGE_VERSION);
  cli_server_program("filter/todocextract", path);
  report_print_program(path, "todocextract");
  report_print_program(DX_SBINDIR "/docextractd", "docextractd");
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

#define QUEUES_MS 3000 /* for cupsd */

struct queue_list {
  const struct dx_config *config; /* NULL: it cannot be used */
  int count;
};

static void report_print_queue(void *ctx, const struct dx_queue *queue)
{
  const struct dx_service *service = NULL;
  struct queue_list *list = ctx;
  char section[DX_SECTION_BYTES];

  if (strncmp(queue->uri, DX_DEVICE_SCHEME, strlen(DX_DEVICE_SCHEME)) != 0)
    return;
  if (list->config != NULL && dx_section_of_uri(queue->uri, section))
    service = dx_config_service(list->config, section);
  printf("  queue %d: %s, %s, %d job%s", ++list->count, queue->state,
         queue->is_accepting ? "accepting" : "rejecting", queue->jobs,
         queue->jobs == 1 ? "" : "s");
  if (service != NULL)
    printf(", service %td", service - list->config->services + 1);
  else if (list->config != NULL)
    printf(", a service that is not configured");
  printf("%s%s\n", queue->reasons[0] != '\0' ? ", " : "", queue->reasons);
}

static void report_print_queues(const struct dx_config *config)
{
  struct queue_list list = {.config = config};

  printf("\nQueues\n");
  if (!dx_queues_ask(QUEUES_MS, report_print_queue, &list))
    printf("  cupsd does not respond\n");
  else if (list.count == 0)
    printf("  no queue prints to docextract\n");
}

/* ---- directories ---- */

static void report_print_directory(const char *name, const char *path)
{
  struct dx_err err = {.code = DX_OK};
  enum dx_code code = dx_fs_probe(path, &err);
  struct statvfs st;

  printf("  %-12s ", name);
  if (code == DX_OK)
    printf("ok");
  else
    report_print_code(code);
  if (err.sys_errno != 0)
    printf(": %s", strerror(err.sys_errno));
  if (statvfs(path, &st) == 0)
    printf(", %llu MiB free%s",
           (unsigned long long)st.f_bavail * st.f_frsize / MIB,
           st.f_files > 0 && st.f_favail == 0 ? ", no inodes free" : "");
  printf("\n");
}

/* ---- tests ---- */

static void report_print_clock(const char *text)
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
static enum dx_code report_print_step(void *ctx,
                                      const struct dx_message *message)
{
  const char *text = message->text, *result = strstr(text, "  ");

  (void)ctx;
  if (message->verb == DX_VERB_STEP)
    printf("  %-6s %.*s\n", message->words[0],
           result != NULL ? (int)(result - text) : INT_MAX, text);
  if (message->verb != DX_VERB_LINE)
    return DX_OK;
  report_print_clock(text);
  if (strncmp(text, DX_HELLO_NO_RESULTS, strlen(DX_HELLO_NO_RESULTS)) == 0)
    printf("  %s\n", DX_HELLO_NO_RESULTS);
  return DX_OK;
}

/* Runs the tests of `docextract hello`. */
static void report_test_services(const struct cli *cli)
{
  struct dx_err err;
  size_t i;

  for (i = 0; i < cli->config->service_count; i++) {
    printf("\nTest of service %zu\n", i + 1);
    if (cli_request(cli, CLI_PATIENCE_MS, report_print_step, NULL, &err,
                    "hello %s", cli->config->services[i].name) == DX_OK)
      continue;
    report_print_clock(err.text);
    printf("  ");
    report_print_code(err.code);
    printf("%s%s\n", err.sys_errno != 0 ? ": " : "",
           err.sys_errno != 0 ? strerror(err.sys_errno) : "");
  }
}

/* ---- jobs ---- */

struct count {
  struct cli *cli;
  size_t states[CLI_STATES]; /* by cli_state_word() */
  size_t unreadable;
  /* By state and code; of uploads; and of ended submissions. */
  size_t messages[CLI_STATES][DX_CODE_COUNT];
  size_t uploads[DX_CODE_COUNT], ends[DX_CODE_COUNT];
};

static enum dx_code report_count_job(void *ctx, enum dx_spool_part part,
                                     const char *name)
{
  struct count *c = ctx;
  const struct dx_problem *problem;
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
  problem = dx_job_problem(job);
  if (problem->is_of_storage)
    c->uploads[problem->code]++;
  else if (problem->text != NULL)
    c->messages[i][problem->code]++;
  for (i = 0; i < job->submission_count; i++)
    c->ends[job->submissions[i].code]++;
  dx_job_free(&job);
  return DX_OK;
}

static void report_print_counts(const char *what,
                                const size_t counts[DX_CODE_COUNT])
{
  size_t i;

  for (i = DX_OK + 1; i < DX_CODE_COUNT; i++)
    if (counts[i] > 0) {
      printf("  %s ", what);
      report_print_code((enum dx_code)i);
      printf(" %zu\n", counts[i]);
    }
}

/* code: of the attempt to become the owner of the spool */
static void report_print_jobs(struct cli *cli, enum dx_code code)
{
  struct count c = {.cli = cli};
  struct dx_err err;
  char what[64];
  size_t i;

  printf("\nJobs\n");
  if (code == DX_OK)
    code = dx_spool_open(cli->config->spool_dir, &cli->spool, &err);
  if (code == DX_OK)
    code = cli_each_job(cli, report_count_job, &c, &err);
  if (code != DX_OK) {
    printf("  cannot be read: %s\n", dx_code_name(code));
    return;
  }
  for (i = 0; cli_state_word(i) != NULL; i++)
    if (c.states[i] > 0)
      printf("  %-12s %zu\n", cli_state_word(i), c.states[i]);
  printf("  %-12s %zu\n", "damaged",
         c.unreadable + dx_spool_count_damaged(&cli->spool));
  for (i = 0; cli_state_word(i) != NULL; i++) {
    (void)snprintf(what, sizeof(what),
                   "message of %s jobs:", cli_state_word(i));
    report_print_counts(what, c.messages[i]);
  }
  report_print_counts("storage:", c.uploads);
  report_print_counts("ended with", c.ends);
}

/* ---- logs ---- */

/*
 * Logs contain titles and names of people in many places. Therefore only lines
 * of a few known forms are printed, and only the groups of their patterns:
 * numbers and words of fixed sets. The first group is the time.
 */
#define DEFAULT_LOG "/var/log/cups/error_log"
#define PATH_BYTES 512
#define LOG_BYTES (1024 * 1024) /* at its end, that are read */
#define LINES 20
#define LOG_LINE_BYTES 160
#define GROUPS 8
#define PATTERNS 8

#define HEAD \
  "^[A-Z] \\[([0-9]{2}/[A-Za-z]{3}/[0-9:]+ [-+0-9]+)\\] (\\[Job [0-9]+\\]) "
#define PROGRAM "PID [0-9]+ \\([^ ()]*/(docextract|todocextract)\\) "
#define STATE \
  "(stored|registered|uploaded|processing|complete|extracted|failed|refused)"
#define X(name, ...) "|" #name
#define CODE "(" DX_CODE_SENTENCES(X) "): " /* the rows have no prefix */

static const char *const cupsd_patterns[PATTERNS] = {
    HEAD PROGRAM "((stopped with status|crashed on signal) [0-9]+)\\.$",
    HEAD PROGRAM "(exited) with no errors\\.$",
    HEAD "Backend returned (status [0-9]+) \\(",
    HEAD "STATE: ([-+]docextract-(waiting-report|service-down-warning|"
         "storage-error|document-refused-error|config-error))$",
    HEAD "job [0-9a-f]{32}, service [^,]+, (submission [0-9]+:) [^,]+, (" STATE
         " -> " STATE ")$",
    HEAD "todocextract: ([0-9]+ bytes) in; out: (document|sheet|refused)",
    HEAD CODE};

/* Of `journalctl -o short-iso`. The texts of docextractd contain no code. */
static const char *const journal_patterns[PATTERNS] = {
    "^([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]+[-+][0-9:]+) .*[ :]" CODE};
#undef X

static void report_read_log_path(void *ctx, const char *name, const char *value)
{
  if (strcasecmp(name, "ErrorLog") == 0)
    (void)snprintf(ctx, PATH_BYTES, "%s", value);
}

/* Joins the groups of a line that are not part of another one. */
static void report_join_groups(const char *line, const regmatch_t at[GROUPS],
                               char text[LOG_LINE_BYTES])
{
  size_t i, len = 0;
  int end = 0;

  for (i = 1; i < GROUPS && len < LOG_LINE_BYTES; i++)
    if (at[i].rm_so >= end) {
      end = at[i].rm_eo;
      len += (size_t)snprintf(text + len, LOG_LINE_BYTES - len, "%s%.*s",
                              i > 1 ? " " : "", end - at[i].rm_so,
                              line + at[i].rm_so);
    }
}

/* Prints the last lines of these forms. Closes the file. */
static void report_print_log(FILE *file, const char *const patterns[PATTERNS])
{
  regex_t expressions[PATTERNS];
  regmatch_t at[GROUPS];
  char line[2048], kept[LINES][LOG_LINE_BYTES]; /* the last ones */
  size_t i, compiled = 0, count = 0;

  if (file == NULL || ungetc(getc(file), file) == EOF) /* or it is empty */
    printf("  its log is missing, empty, or not readable\n");
  if (file == NULL)
    return;
  while (compiled < PATTERNS && patterns[compiled] != NULL &&
         regcomp(&expressions[compiled], patterns[compiled], REG_EXTENDED) == 0)
    compiled++;
  (void)fseeko(file, -LOG_BYTES, SEEK_END); /* fails in a shorter file */
  while (fgets(line, sizeof(line), file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    for (i = 0; i < compiled; i++)
      if (regexec(&expressions[i], line, GROUPS, at, 0) == 0) {
        report_join_groups(line, at, kept[count++ % LINES]);
        break;
      }
  }
  for (i = count > LINES ? count - LINES : 0; i < count; i++)
    printf("  %s\n", kept[i % LINES]);
  while (compiled > 0)
    regfree(&expressions[--compiled]);
  (void)fclose(file);
}

/* ---- docextractd ---- */

/* Both run with the rights of the caller, because only some users can read the
 * journal. Only systemd has a unit of docextractd. */
static const char *const report_unit[] = {
    "/usr/bin/systemctl",
    "show",
    "docextractd",
    "-p",
    "LoadState,ActiveState,Result,ExecMainStatus",
    NULL};
static const char *const report_journal[] = {
    "/usr/bin/journalctl",
    "-q",
    "--no-pager",
    "-n",
    "1000",
    "-o",
    "short-iso",
    "_SYSTEMD_UNIT=docextractd.service",
    NULL};

/* Closes the files. */
static void report_print_docextractd(const struct cli *cli, FILE *unit,
                                     FILE *journal)
{
  char line[256];

  printf("\ndocextractd\n");
  if (cli->spool.dirfd >= 0)
    printf("  %s\n", cli_docextractd(cli));
  while (unit != NULL && fgets(line, sizeof(line), unit) != NULL)
    printf("  %s", line);
  if (unit != NULL)
    (void)fclose(unit);
  report_print_log(journal, journal_patterns);
}

/* ---- the verb ---- */

/* Logs that only the caller may read are opened before the process becomes the
 * owner of the spool. If root cannot become the owner, it becomes nobody,
 * because our programs are run. If a part fails, the report contains the
 * error. */
enum dx_code verb_report(struct cli *cli, struct dx_err *err)
{
  char log_path[PATH_BYTES] = DEFAULT_LOG, name[32];
  FILE *log, *unit, *journal;
  struct dx_err why, ignored;
  enum dx_code code, spool;
  int fd = -1;
  size_t i;

  (void)cli_read_cupsd(cli, "cups-files.conf", report_read_log_path, log_path);
  if (log_path[0] == '/') /* it may be "syslog" */
    fd = open(log_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  log = fd >= 0 ? fdopen(fd, "r") : NULL;
  unit = report_run_program(report_unit);
  journal = report_run_program(report_journal);
  code = cli_load(cli, &why);
  spool = code == DX_OK ? cli_become_owner(cli, &ignored) : code;
  if (geteuid() == 0 &&
      dx_user_become(DX_NOBODY, DX_NOBODY, NULL, err) != DX_OK)
    return err->code;
  report_print_versions();
  printf("\nConfiguration\n");
  if (code == DX_OK)
    dx_config_print_anonymous(cli->config, stdout);
  else
    printf("  cannot be used: %s; %s\n", dx_code_name(code),
           why.sys_errno == EACCES ? "run this command as root"
                                   : "see: docextract config");
  report_print_queues(cli->config);
  report_print_jobs(cli, spool);
  report_print_docextractd(cli, unit, journal);
  if (code == DX_OK) {
    printf("\nDirectories\n");
    report_print_directory("SpoolDir", cli->config->spool_dir);
    for (i = 0; i < cli->config->service_count; i++) {
      (void)snprintf(name, sizeof(name), "ResultsDir %zu", i + 1);
      report_print_directory(name, cli->config->services[i].results_dir);
    }
    report_print_directory("/var/tmp", "/var/tmp"); /* of submit */
    report_test_services(cli);
  }
  printf("\ncupsd\n");
  report_print_log(log, cupsd_patterns);
  return fflush(stdout) == 0 ? DX_OK
                             : dx_fail_sys(err, errno, "write", "output");
}
