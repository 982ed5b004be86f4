/*
 * main.c - the command line of `docextract`. A new verb is a row in `verbs`
 * and a file; usage, help, abbreviations and the check of arguments come from
 * the rows. What a verb does lives in its file.
 */
#include "cli/cli.h"

#include <ctype.h>
#include <getopt.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "lib/base/log.h"

/*
 * The pattern is the law: words in capitals are arguments that must be there,
 * one with "..." may be repeated, and of the options that are not taken
 * everywhere a verb takes those that its pattern names.
 */
struct verb {
  const char *name;
  const char *pattern;
  const char *help;
  cli_verb *run;
};

static const struct verb verbs[] = {
    {"cancel", "JOB", "send and fetch nothing more of a job", verb_cancel},
    {"config", "", "check the configuration; tell its values and their origin",
     verb_config},
    {"hello", "[--service NAME]",
     "say whether the service will take our jobs, or what fails", verb_hello},
    {"jobs", "[--json] [--watch]",
     "list the jobs in the spool, the newest last", verb_jobs},
    {"purge", "[--older-than AGE] [--dry-run]",
     "remove the records of finished jobs; results stay", verb_purge},
    {"report", "", "print what a bug report needs, without any person's data",
     verb_report},
    {"retry", "JOB", "go on with a job or with what failed in it", verb_retry},
    {"show", "JOB|FILE [--json]", "show what was extracted, as a table",
     verb_show},
    {"submit", "FILE... [--service NAME] [--title TEXT] [--together]",
     "send PDF, JPEG or PNG files and wait for the results", verb_submit},
};

#define VERB_COUNT (sizeof(verbs) / sizeof(verbs[0]))

struct row {
  const char *name;
  const char *argument; /* NULL: takes none, and its place is a bool */
  bool everywhere;
  size_t place; /* in struct cli */
  const char *help;
};

static const struct row rows[] = {
    {"service", "NAME", false, offsetof(struct cli, service),
     "the section of the configuration that is meant"},
    {"title", "TEXT", false, offsetof(struct cli, title),
     "the title of the job; without it the name of the first file"},
    {"together", NULL, false, offsetof(struct cli, together),
     "the files are one submission: all of them or none"},
    {"older-than", "AGE", false, offsetof(struct cli, older_than),
     "without activity for so long: 90s, 5m, 2h, 7d (default KeepJobs)"},
    {"dry-run", NULL, false, offsetof(struct cli, dry_run),
     "only say what would be done"},
    {"watch", NULL, false, offsetof(struct cli, watch),
     "go on until interrupted, and tell what changes"},
    {"json", NULL, false, offsetof(struct cli, json),
     "print JSON, for programs"},
    {"verbose", NULL, true, offsetof(struct cli, verbose),
     "tell every step on stderr"},
    {"help", NULL, true, offsetof(struct cli, help), "print this and exit"},
    {"version", NULL, true, offsetof(struct cli, version),
     "print the version and exit"},
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

/* ---- patterns ---- */

static bool is_taken_by(const struct row *row, const struct verb *verb)
{
  char text[64];

  (void)snprintf(text, sizeof(text),
                 row->argument != NULL ? "[--%s %s]" : "[--%s]", row->name,
                 row->argument);
  return row->everywhere || strstr(verb->pattern, text) != NULL;
}

static void count_arguments(const char *pattern, size_t *ret_least,
                            size_t *ret_most)
{
  const char *p = pattern;

  *ret_least = 0;
  *ret_most = 0;
  while (*p != '\0') {
    size_t len = strcspn(p, *p == '[' ? "]" : " ");

    if (*p != '[') {
      *ret_least += 1;
      *ret_most =
          len > 3 && memcmp(p + len - 3, "...", 3) == 0 ? SIZE_MAX : *ret_least;
    }
    p += len + (p[len] == ']');
    p += strspn(p, " ");
  }
}

/* ---- help ---- */

/* The pattern without its options; static memory. */
static const char *arguments_of(const struct verb *verb)
{
  static char text[64];

  (void)snprintf(text, sizeof(text), "%.*s", (int)strcspn(verb->pattern, "["),
                 verb->pattern);
  return text;
}

static void print_line(const char *name, const char *argument, const char *help)
{
  printf("  %s %-*s %s\n", name, 18 - (int)strlen(name) - 1, argument, help);
}

static void print_options(const struct verb *verb)
{
  char name[40];
  size_t i;

  print_line("-c", "FILE", "read this configuration");
  for (i = 0; i < ROW_COUNT; i++) {
    if (verb != NULL ? !is_taken_by(&rows[i], verb) : !rows[i].everywhere)
      continue;
    (void)snprintf(name, sizeof(name), "--%s", rows[i].name);
    print_line(name, rows[i].argument != NULL ? rows[i].argument : "",
               rows[i].help);
  }
}

static void print_help(const struct verb *verb)
{
  size_t i;

  if (verb != NULL) {
    printf("Usage: docextract [-c FILE] %s%s%s\n%c%s.\n\n", verb->name,
           verb->pattern[0] != '\0' ? " " : "", verb->pattern,
           toupper((unsigned char)verb->help[0]), verb->help + 1);
    if (strstr(verb->pattern, "JOB") != NULL)
      printf("JOB is a key from 'docextract jobs' or its beginning, at least "
             "%d digits.\n\n",
             CLI_KEY_LEAST);
  } else {
    printf("Usage: docextract [-c FILE] COMMAND [ARGUMENT]...\n"
           "Sends documents for extraction, and tells what became of them.\n"
           "A command may be abbreviated.\n\n");
    for (i = 0; i < VERB_COUNT; i++)
      print_line(verbs[i].name, arguments_of(&verbs[i]), verbs[i].help);
    printf("\n");
  }
  print_options(verb);
}

/* ---- the command line ---- */

static int wrong_usage(const struct verb *verb)
{
  fprintf(stderr, "try: docextract %s%s--help\n",
          verb != NULL ? verb->name : "", verb != NULL ? " " : "");
  return EX_USAGE;
}

/* The verb of that name, or the only one that begins so; else NULL, and the
 * possibilities are told. */
static const struct verb *find_verb(const char *name)
{
  const struct verb *found = NULL;
  size_t i, count = 0;

  for (i = 0; i < VERB_COUNT; i++) {
    if (strncmp(verbs[i].name, name, strlen(name)) != 0)
      continue;
    found = &verbs[i];
    if (strcmp(verbs[i].name, name) == 0)
      return found;
    count++;
  }
  if (count == 1)
    return found;
  fprintf(stderr, "docextract: '%s' %s; possibilities are:", name,
          count > 1 ? "can mean more than one command" : "is no command");
  for (i = 0; i < VERB_COUNT; i++)
    if (count == 0 || strncmp(verbs[i].name, name, strlen(name)) == 0)
      fprintf(stderr, " %s", verbs[i].name);
  fputc('\n', stderr);
  return NULL;
}

static void set_option(struct cli *cli, const struct row *row)
{
  void *place = (char *)cli + row->place;

  if (row->argument != NULL)
    *(const char **)place = optarg;
  else
    *(bool *)place = true;
}

/* Options may stand anywhere. False if one is wrong: getopt has said so. */
static bool read_options(struct cli *cli, int argc, char **argv,
                         bool given[ROW_COUNT])
{
  struct option longs[ROW_COUNT + 1] = {{0}};
  int index, letter;
  size_t i;

  for (i = 0; i < ROW_COUNT; i++) {
    longs[i].name = rows[i].name;
    longs[i].has_arg =
        rows[i].argument != NULL ? required_argument : no_argument;
  }
  while ((letter = getopt_long(argc, argv, "c:", longs, &index)) != -1) {
    if (letter == 'c') {
      cli->config_path = optarg;
      cli->config_from = "-c";
    } else if (letter == 0) {
      given[index] = true;
      set_option(cli, &rows[index]);
    } else {
      return false;
    }
  }
  return true;
}

static bool fits(const struct verb *verb, const bool given[ROW_COUNT],
                 size_t count)
{
  size_t i, least, most;

  for (i = 0; i < ROW_COUNT; i++)
    if (given[i] && !is_taken_by(&rows[i], verb)) {
      fprintf(stderr, "docextract: '%s' does not take --%s\n", verb->name,
              rows[i].name);
      return false;
    }
  count_arguments(verb->pattern, &least, &most);
  if (count >= least && count <= most)
    return true;
  fprintf(stderr, "docextract: '%s' takes %s\n", verb->name,
          verb->pattern[0] != '\0' ? verb->pattern : "no arguments");
  return false;
}

static bool is_well_said(const struct cli *cli)
{
  if (cli->older_than == NULL || dx_parse_duration(cli->older_than) >= 0)
    return true;
  fprintf(stderr, "docextract: --older-than takes a number with s, m, h or d, "
                  "such as 7d\n");
  return false;
}

/* ---- running ---- */

static void log_line(enum dx_log_level level, const char *line)
{
  static const char *const words[] = {"debug", "info", "warning", "error"};

  fprintf(stderr, "%s: %s\n", words[level], line);
}

static int run(const struct verb *verb, struct cli *cli, size_t count,
               char **args)
{
  char *fallback = NULL;
  struct dx_err err = {0};
  enum dx_code code = DX_OK;

  if (cli->verbose)
    dx_log_to(log_line);
  if (cli->config_path == NULL) {
    fallback = dx_config_path(true);
    cli->config_path = fallback;
    cli->config_from = getenv("CUPS_SERVERROOT") != NULL ? "CUPS_SERVERROOT"
                                                         : "the built-in path";
  }
  code = cli->config_path != NULL ? verb->run(cli, count, args, &err)
                                  : dx_fail_nomem(&err);
  if (code != DX_OK)
    fprintf(stderr, "docextract: %s\n", err.text);
  dx_config_free(&cli->config);
  free(fallback);
  return cli_exit_status(dx_class_of(code));
}

/* No token may get into a core file or to another process of the same user;
 * a pipe that broke is no reason to leave a job. */
static void set_up_process(void)
{
  (void)umask(077);
  (void)prctl(PR_SET_DUMPABLE, 0);
  (void)unsetenv("SSLKEYLOGFILE");
  (void)signal(SIGPIPE, SIG_IGN);
  (void)setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
}

int main(int argc, char **argv)
{
  const struct verb *verb = NULL;
  bool given[ROW_COUNT] = {false};
  struct cli cli = {0};

  set_up_process();
  if (!read_options(&cli, argc, argv, given))
    return wrong_usage(NULL);
  if (cli.version) {
    printf("docextract %s\n", PACKAGE_VERSION);
    return EX_OK;
  }
  if (optind < argc) {
    verb = find_verb(argv[optind++]);
    if (verb == NULL)
      return wrong_usage(NULL);
  }
  if (cli.help) {
    print_help(verb);
    return EX_OK;
  }
  if (verb == NULL) {
    fputs("docextract: a command is missing\n", stderr);
    return wrong_usage(NULL);
  }
  if (!fits(verb, given, (size_t)(argc - optind)) || !is_well_said(&cli))
    return wrong_usage(verb);
  return run(verb, &cli, (size_t)(argc - optind), argv + optind);
}
