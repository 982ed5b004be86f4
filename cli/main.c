/*
 * main.c - the command line of `docextract`: usage, help, abbreviations, and
 * the check of arguments are derived from CLI_VERBS (cli.h) and the options
 * below. Each verb is implemented in its own file.
 */
#include "cli/cli.h"

#include <ctype.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "lib/base/json.h"
#include "lib/base/log.h"
#include "lib/base/process.h"

struct verb {
  const char *name;
  const char *pattern;
  const char *help;
  cli_verb *run;
};

static const struct verb verbs[] = {
#define X(name, pattern, help) {#name, pattern, help, verb_##name},
    CLI_VERBS(X)
#undef X
};

#define VERB_COUNT (sizeof(verbs) / sizeof(verbs[0]))

struct option_row {
  const char *name;
  const char *argument; /* NULL: takes none, and the field is a bool */
  size_t offset;        /* of the field in struct cli */
  const char *help;
};

#define AT(field) offsetof(struct cli, field)

static const struct option_row rows[] = {
    {"service", "NAME", AT(service),
     "the service, a section of the configuration"},
    {"title", "TEXT", AT(title),
     "title of the job (default: name of the first file)"},
    {"together", NULL, AT(together),
     "submit the files as one unit: all of them or none"},
    {"older-than", "AGE", AT(older_than),
     "idle for at least 90s, 5m, 2h, 7d (default: KeepJobs)"},
    {"dry-run", NULL, AT(dry_run), "only print what would be removed"},
    {"all", NULL, AT(all), "also what was finished more than a day ago"},
    {"state", "STATE", AT(state), "only jobs in this state"},
    {"queue", "QUEUE", AT(queue), "only jobs that were printed to this queue"},
    {"user", "USER", AT(user), "only jobs of this user"},
    {"watch", NULL, AT(watch), "keep running, and print what changes"},
    {"seen", NULL, AT(seen),
     "acknowledge failed jobs, so that queues stop reporting them"},
    {"json", NULL, AT(json), "print JSON"},
    {"html", NULL, AT(html), "print a page for a browser"},
    {"verbose", NULL, AT(verbose), "print every step to stderr"},
    {"help", NULL, AT(help), "print this help and exit"},
    {"version", NULL, AT(version), "print the version and exit"},
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

#define HELP_COLUMNS 80

/* ---- patterns ---- */

/* True if the verb accepts the option; NULL: if all verbs accept it. */
static bool is_accepted_by(const struct option_row *row,
                           const struct verb *verb)
{
  static const char everywhere[] = "[--verbose] [--help] [--version]";
  char text[64];

  (void)snprintf(text, sizeof(text),
                 row->argument != NULL ? "[--%s %s]" : "[--%s]", row->name,
                 row->argument);
  return strstr(everywhere, text) != NULL ||
         (verb != NULL && strstr(verb->pattern, text) != NULL);
}

/* The length of the word or the bracketed item at p. */
static size_t item_length(const char *p)
{
  size_t len = strcspn(p, *p == '[' ? "]" : " ");

  return len + (p[len] == ']');
}

static const char *next_item(const char *p)
{
  p += item_length(p);
  return p + strspn(p, " ");
}

/* ---- help ---- */

static void print_line(const char *name, const char *argument, int len,
                       const char *help)
{
  printf("  %s %-*.*s %s\n", name, 18 - (int)strlen(name) - 1, len, argument,
         help);
}

/* Prints a word, on the next line if it does not fit on this one. Returns the
 * column after it. */
static int print_word(int column, int indent, const char *word, size_t len)
{
  if (column + 1 + (int)len >= HELP_COLUMNS)
    column = printf("\n%*s", indent, "") - 1;
  return column + printf(" %.*s", (int)len, word);
}

static void print_verb_help(const struct verb *verb)
{
  static const char usage[] = "Usage: docextract";
  int column = printf("%s %s", usage, verb->name);
  const char *p, *word;
  size_t i;

  for (p = verb->pattern; *p != '\0'; p = next_item(p))
    column = print_word(column, (int)sizeof(usage) - 1, p, item_length(p));
  printf("\n%c%s.\n\n", toupper((unsigned char)verb->help[0]), verb->help + 1);
  if (strstr(verb->pattern, "STATE") != NULL) {
    column = printf("STATE is one of:");
    for (i = 0; (word = cli_state_word(i)) != NULL; i++)
      column = print_word(column, 0, word, strlen(word));
    printf("\n\n");
  }
  if (strstr(verb->pattern, "JOB") != NULL)
    printf("JOB is a key from 'docextract jobs', at least its first %d "
           "digits, or a\nprint job such as chart-12.\n\n",
           CLI_KEY_LEAST);
}

/* verb: NULL for all of them */
static void print_help(const struct verb *verb)
{
  const char *options;
  char name[40];
  size_t i;

  if (verb != NULL)
    print_verb_help(verb);
  else
    printf("Usage: docextract [-c FILE] COMMAND [ARGUMENT]...\n"
           "Submits documents for extraction and shows their status.\n"
           "Commands may be abbreviated.\n\n");
  for (i = 0; verb == NULL && i < VERB_COUNT; i++) {
    options = strstr(verbs[i].pattern, "[--");
    print_line(verbs[i].name, verbs[i].pattern,
               options != NULL ? (int)(options - verbs[i].pattern) : -1,
               verbs[i].help);
  }
  printf("%s", verb == NULL ? "\n" : "");
  print_line("-c", "FILE", -1, "use this configuration file");
  for (i = 0; i < ROW_COUNT; i++) {
    if (!is_accepted_by(&rows[i], verb))
      continue;
    (void)snprintf(name, sizeof(name), "--%s", rows[i].name);
    print_line(name, rows[i].argument != NULL ? rows[i].argument : "", -1,
               rows[i].help);
  }
}

/* ---- the command line ---- */

/* format: the error; NULL if it was printed. */
__attribute__((format(printf, 2, 3))) static int
fail_usage(const struct verb *verb, const char *format, ...)
{
  va_list args;

  if (format != NULL) {
    va_start(args, format);
    (void)fputs("docextract: ", stderr);
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
    va_end(args);
  }
  fprintf(stderr, "try 'docextract %s%s--help' for more information\n",
          verb != NULL ? verb->name : "", verb != NULL ? " " : "");
  return EX_USAGE;
}

/* Finds the verb of that name, or the only one that begins with it. */
static int find_verb(const char *name, const struct verb **ret_verb)
{
  size_t i, count = 0, len = strlen(name);

  for (i = 0; i < VERB_COUNT; i++) {
    if (strncmp(verbs[i].name, name, len) != 0)
      continue;
    *ret_verb = &verbs[i];
    if (verbs[i].name[len] == '\0')
      return EX_OK;
    count++;
  }
  if (count == 1)
    return EX_OK;
  fprintf(stderr, "docextract: %s command '%s'; possible commands:",
          count > 1 ? "ambiguous" : "unknown", name);
  for (i = 0; i < VERB_COUNT; i++)
    if (count == 0 || strncmp(verbs[i].name, name, len) == 0)
      fprintf(stderr, " %s", verbs[i].name);
  fputc('\n', stderr);
  return fail_usage(NULL, NULL);
}

/* Options and arguments may be in any order. */
static int read_options(struct cli *cli, int argc, char **argv,
                        bool given[ROW_COUNT])
{
  struct option longs[ROW_COUNT + 1] = {{0}};
  int index, letter;
  void *field;
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
      continue;
    }
    if (letter != 0) /* getopt has printed it */
      return fail_usage(NULL, NULL);
    field = (char *)cli + rows[index].offset;
    given[index] = true;
    if (rows[index].argument != NULL)
      *(const char **)field = optarg;
    else
      *(bool *)field = true;
  }
  return EX_OK;
}

static int check_usage(const struct cli *cli, const struct verb *verb,
                       const bool given[ROW_COUNT])
{
  size_t i, least = 0, most = 0;
  const char *p;

  for (i = 0; i < ROW_COUNT; i++)
    if (given[i] && !is_accepted_by(&rows[i], verb))
      return fail_usage(verb, "'%s' does not accept --%s", verb->name,
                        rows[i].name);
  for (p = verb->pattern; *p != '\0'; p = next_item(p)) {
    if (strncmp(p, "[--", 3) == 0)
      continue;
    least += *p != '[';
    most = memmem(p, item_length(p), "...", 3) != NULL ? SIZE_MAX : most + 1;
  }
  if (cli->arg_count < least || cli->arg_count > most)
    return fail_usage(verb, "'%s' takes %s", verb->name,
                      verb->pattern[0] != '\0' ? verb->pattern
                                               : "no arguments");
  if (cli->json && cli->html)
    return fail_usage(verb, "--json and --html exclude each other");
  if (cli->older_than != NULL && dx_parse_duration(cli->older_than) < 0)
    return fail_usage(verb, "--older-than takes a number and s, m, h or d, "
                            "such as 7d");
  for (i = 0; cli->state != NULL && cli_state_word(i) != NULL; i++)
    if (strcmp(cli_state_word(i), cli->state) == 0)
      return EX_OK;
  if (cli->state == NULL)
    return EX_OK;
  fprintf(stderr, "docextract: unknown state; possible states:");
  for (i = 0; cli_state_word(i) != NULL; i++)
    fprintf(stderr, " %s", cli_state_word(i));
  fputc('\n', stderr);
  return fail_usage(verb, NULL);
}

/* ---- running ---- */

static void log_line(enum dx_log_level level, const char *line)
{
  static const char *const words[] = {"debug", "info", "warning", "error"};

  fprintf(stderr, "%s: %s\n", words[level], line);
}

static int run(const struct verb *verb, struct cli *cli)
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
  code = cli->config_path != NULL ? verb->run(cli, &err) : dx_fail_nomem(&err);
  if (code == DX_E_SPACE)
    (void)dx_fail_advice(&err, "free space there");
  if (code != DX_OK)
    fprintf(stderr, "docextract: %s\n", err.text);
  dx_json_free(&cli->jobs);
  dx_spool_close(&cli->spool);
  dx_config_free(&cli->config);
  free(fallback);
  return cli_exit_status(dx_class_of(code));
}

int main(int argc, char **argv)
{
  const struct verb *verb = NULL;
  bool given[ROW_COUNT] = {false};
  int status;
  struct cli cli = {.spool = {-1, -1}};

  dx_process_protect();
  dx_process_hide_arguments(argc, argv, 1); /* titles and file names */
  (void)signal(SIGPIPE, SIG_IGN); /* a closed pipe must not end a job */
  (void)signal(SIGXFSZ, SIG_IGN); /* handled like a full disk */
  (void)setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
  status = read_options(&cli, argc, argv, given);
  if (status != EX_OK)
    return status;
  if (cli.version) {
    printf("docextract %s\n", PACKAGE_VERSION);
    return EX_OK;
  }
  if (optind < argc)
    status = find_verb(argv[optind++], &verb);
  if (status != EX_OK)
    return status;
  if (cli.help) {
    print_help(verb);
    return EX_OK;
  }
  if (verb == NULL)
    return fail_usage(NULL, "missing command");
  cli.args = argv + optind;
  cli.arg_count = (size_t)(argc - optind);
  status = check_usage(&cli, verb, given);
  return status == EX_OK ? run(verb, &cli) : status;
}
