/*
 * report.c - `docextract report`: what is needed first to look into a bug, safe
 * to send to anybody. It is made of what is known to be harmless (versions,
 * numbers, words of fixed sets), never by removing secrets from something:
 * nothing that a person wrote is in it, no title, no name of a user, host,
 * queue or file.
 */
#include "cli/cli.h"

#include <cups/cups.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cupsd.h"
#include "cli/list.h"
#include "lib/base/buf.h"
#include "lib/control/start.h"

#define LINE_BYTES 80 /* of what the filter prints */
#define WORDS_MAX 12  /* the states of a job, and "undecided" */

struct count {
  struct cli *cli;
  struct {
    const char *word;
    size_t count;
  } states[WORDS_MAX];
  size_t codes[DX_CODE_COUNT]; /* why submissions ended */
  size_t messages;
  size_t unreadable;
};

/* ---- versions ---- */

/* Only a program knows the versions of its libraries. It prints one line. */
static void ask_program(const char *path, char line[LINE_BYTES])
{
  char *const args[] = {(char *)(uintptr_t)path,
                        (char *)(uintptr_t) "--version", NULL};
  posix_spawn_file_actions_t actions;
  ssize_t n = 0;
  int ends[2];
  pid_t pid = 0;

  if (pipe2(ends, O_CLOEXEC) < 0)
    return;
  (void)posix_spawn_file_actions_init(&actions);
  (void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  if (posix_spawn(&pid, path, &actions, NULL, args, environ) != 0)
    pid = 0;
  (void)posix_spawn_file_actions_destroy(&actions);
  (void)close(ends[1]);
  if (pid != 0)
    n = read(ends[0], line, LINE_BYTES - 1);
  line[n > 0 ? n : 0] = '\0';
  (void)close(ends[0]);
  if (pid != 0)
    (void)waitpid(pid, NULL, 0);
}

static void print_program(const char *path, const char *name)
{
  char line[LINE_BYTES] = "";

  ask_program(path, line);
  line[strcspn(line, "\n")] = '\0';
  if (strncmp(line, name, strlen(name)) == 0)
    printf("  %s\n", line);
  else
    printf("  %s is not where it is looked for\n", name);
}

static void print_filter(void)
{
  const char *serverbin = getenv("CUPS_SERVERBIN");
  struct dx_buf path = {0};

  dx_buf_printf(&path, "%s/filter/todocextract",
                serverbin != NULL ? serverbin : DX_SERVERBIN);
  if (dx_buf_ok(&path))
    print_program(dx_buf_text(&path), "todocextract");
  dx_buf_release(&path);
}

static void print_system(void)
{
  FILE *file = fopen("/etc/os-release", "re");
  struct utsname name;
  char line[256], system[256];

  while (file != NULL && fgets(line, sizeof(line), file) != NULL)
    if (sscanf(line, "PRETTY_NAME=\"%255[^\"\n]", system) == 1)
      printf("  %s\n", system);
  if (file != NULL)
    (void)fclose(file);
  if (uname(&name) == 0)
    printf("  %s %s %s\n", name.sysname, name.release, name.machine);
}

static void print_versions(void)
{
  const char *agent = cupsUserAgent(); /* "CUPS/2.4.2 (...) IPP/2.0" */

  printf("Versions\n  docextract %s\n", PACKAGE_VERSION);
  print_filter();
  print_program(dx_docextractd_path(), "docextractd");
  printf("  lib%.*s\n", (int)strcspn(agent, " "), agent);
  print_system();
}

/* ---- configuration and queues ---- */

static size_t number_of(const struct cli *cli, const char *service)
{
  size_t i;

  for (i = 0; cli->config != NULL && i < cli->config->service_count; i++)
    if (strcmp(cli->config->services[i].name, service) == 0)
      return i + 1;
  return 0;
}

static void print_queue(const struct cli *cli, size_t number,
                        const struct queue *queue)
{
  size_t service = number_of(cli, queue->service);

  printf("  queue %zu: %s, %s, %d job%s", number, queue->state,
         queue->accepting ? "accepting" : "rejecting", queue->jobs,
         queue->jobs == 1 ? "" : "s");
  if (service > 0)
    printf(", service %zu", service);
  else if (cli->config != NULL)
    printf(", a service that is not configured");
  printf("%s%s\n", queue->reasons[0] != '\0' ? ", " : "", queue->reasons);
}

static void print_queues(const struct cli *cli)
{
  struct queue *queues;
  struct dx_err err;
  size_t count, i;

  printf("\nQueues\n");
  if (cupsd_queues(&queues, &count, &err) != DX_OK)
    printf("  %s\n", err.text);
  else if (count == 0)
    printf("  no queue prints to docextract\n");
  for (i = 0; i < count; i++)
    print_queue(cli, i + 1, &queues[i]);
  free(queues);
}

/* ---- jobs ---- */

static void count_word(struct count *c, const char *word)
{
  size_t i = 0;

  while (i < WORDS_MAX - 1 && c->states[i].word != NULL &&
         strcmp(c->states[i].word, word) != 0)
    i++;
  c->states[i].word = word;
  c->states[i].count++;
}

static enum dx_code look_at(void *ctx, const char *name)
{
  struct count *c = ctx;
  struct dx_job *job;
  size_t i;

  if (cli_read_job(c->cli, name, &job, NULL) != DX_OK) {
    c->unreadable++;
    return DX_OK;
  }
  count_word(c, dx_job_status(job));
  for (i = 0; i < job->submission_count; i++)
    c->codes[job->submissions[i].code]++;
  c->messages += job->message[0] != '\0';
  dx_job_free(&job);
  return DX_OK;
}

static void print_counts(struct count *c)
{
  size_t i;

  for (i = 0; i < WORDS_MAX && c->states[i].word != NULL; i++)
    printf("  %-12s %zu\n", c->states[i].word, c->states[i].count);
  printf("  %-12s %zu\n", "with message", c->messages);
  printf("  %-12s %zu\n", "damaged",
         c->unreadable + dx_spool_count_damaged(&c->cli->spool));
  for (i = DX_OK + 1; i < DX_CODE_COUNT; i++)
    if (c->codes[i] > 0)
      printf("  ended with %s (%s) %zu\n", dx_code_name((enum dx_code)i),
             dx_class_word(dx_class_of((enum dx_code)i)), c->codes[i]);
}

static void print_jobs(struct cli *cli)
{
  struct count count = {.cli = cli};
  struct dx_err err;
  enum dx_code code = cli_open_spool(cli, &err);

  printf("\nJobs\n");
  if (code == DX_OK)
    code = cli_each_job(cli, look_at, look_at, &count, &err);
  if (code == DX_OK)
    print_counts(&count);
  else
    printf("  cannot be read: %s\n", dx_code_name(code));
  if (code == DX_OK)
    printf("  %-12s %s\n", "docextractd", cli_docextractd(cli));
}

/* What only the caller may read is opened before we become the owner of the
 * spool. An error in one part is part of the report. */
enum dx_code verb_report(struct cli *cli, struct dx_err *err)
{
  int log = report_open_log(cli->config_path);
  struct dx_err why;
  enum dx_code code = cli_load(cli, &why);

  if (code == DX_OK) /* print_jobs() reports a failure */
    (void)!cli_become_owner(cli->config->spool_dir, NULL);
  print_versions();
  printf("\nConfiguration\n");
  if (code == DX_OK)
    dx_config_print_anonymous(cli->config, stdout);
  else
    printf("  cannot be used: %s; %s\n", dx_code_name(code),
           why.sys_errno == EACCES ? "run this command as root"
                                   : "see: docextract config");
  print_queues(cli);
  print_jobs(cli);
  printf("\nLast lines of cupsd's log about our programs\n");
  report_log(log);
  return fflush(stdout) == 0 ? DX_OK
                             : dx_fail_sys(err, errno, "write", "output");
}
