/*
 * main.c - the command line of `docextract`: usage, help, abbreviations, and
 * the check of arguments are derived from CLI_VERBS (cli.h) and the options
 * below. Each verb is implemented in its own file.
 */
#include "cli/cli.h"

#include <ctype.h>
#include <getopt.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "lib/base/json.h"
#include "lib/base/language.h"
#include "lib/base/log.h"
#include "lib/base/nearest.h"
#include "lib/base/process.h"
#include "lib/print/text_encoding.h"

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
    {"together", NULL, AT(together), "submit all files as one source"},
    {"text-encoding", "ENCODING", AT(text_encoding),
     "the encoding of text files (default: Auto)"},
    {"quiet", NULL, AT(quiet), "print no progress"},
    {"older-than", "AGE", AT(older_than),
     "minimum age: 90s, 5m, 2h, 7d (default: KeepJobs)"},
    {"dry-run", NULL, AT(dry_run), "only print what would be removed"},
    {"all", NULL, AT(all), "all jobs; 'jobs' otherwise omits old ones"},
    {"state", "STATE", AT(state), "only jobs in this state"},
    {"queue", "QUEUE", AT(queue), "only jobs that were printed to this queue"},
    {"user", "USER", AT(user), "only jobs of this user"},
    {"watch", NULL, AT(watch), "keep running, and print changes"},
    {"seen", NULL, AT(seen),
     "acknowledge failed jobs, so that queues stop reporting them"},
    {"json", NULL, AT(json), "print JSON"},
    {"html", NULL, AT(html), "print a page for a browser"},
    {"verbose", NULL, AT(verbose), "print every step to stderr"},
    {"help", NULL, AT(help), "print this help and exit; so do -h and 'help'"},
    {"version", NULL, AT(version), "print the version and exit"},
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

/* ---- help ---- */

/* True if the verb accepts the option; NULL: if all verbs accept it. */
static bool usage_is_accepted_by(const struct option_row *row,
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

/* The length of the arguments, which are before the options. */
static int usage_arguments_length(const struct verb *verb)
{
  const char *options = strstr(verb->pattern, " [--");

  if (strncmp(verb->pattern, "[--", 3) == 0)
    return 0;
  return options != NULL ? (int)(options - verb->pattern)
                         : (int)strlen(verb->pattern);
}

static void usage_print_line(const char *dashes, const char *name,
                             const char *argument, int len, const char *help)
{
  printf("  %s%s %-*.*s %s\n", dashes, name,
         17 - (int)(strlen(dashes) + strlen(name)), len, argument, help);
}

/* first: how many fit on the first line */
static void usage_print_states(FILE *out, size_t first)
{
  const char *word;
  size_t i;

  for (i = 0; (word = cli_state_word(i)) != NULL; i++)
    fprintf(out, "%s%s", i == first ? "\n" : " ", word);
  fputc('\n', out);
}

/* column: where the first line continues */
static void usage_print_encodings(FILE *out, int column)
{
  const char *word;
  int i;

  for (i = 0; i < DX_TEXT_ENCODING_COUNT; i++) {
    word = dx_text_encoding_word((enum dx_text_encoding)i);
    column += 1 + (int)strlen(word);
    fprintf(out, "%s%s", column <= 80 ? " " : "\n", word);
    if (column > 80)
      column = (int)strlen(word);
  }
  fputc('\n', out);
}

/* verb: NULL for all of them */
static void usage_print_help(const struct verb *verb)
{
  size_t i;

  if (verb == NULL)
    printf("Usage: docextract [-c FILE] COMMAND [ARGUMENT]...\n"
           "Submits documents for extraction and shows their status.\n"
           "Commands may be abbreviated. For one of them, run: docextract help "
           "COMMAND\n\n");
  else
    printf("Usage: docextract %s%s%s\n%c%s.\n\n", verb->name,
           verb->pattern[0] != '\0' ? " " : "", verb->pattern,
           toupper((unsigned char)verb->help[0]), verb->help + 1);
  for (i = 0; verb == NULL && i < VERB_COUNT; i++)
    usage_print_line("", verbs[i].name, verbs[i].pattern,
                     usage_arguments_length(&verbs[i]), verbs[i].help);
  if (verb == NULL)
    printf("\n");
  if (verb != NULL && strstr(verb->pattern, "JOB") != NULL)
    printf("JOB is a key from 'docextract jobs', at least its first %d "
           "digits, or a\nprint job such as chart-12.\n\n",
           CLI_KEY_LEAST);
  if (verb != NULL && strstr(verb->pattern, "STATE") != NULL) {
    printf("STATE is one of:");
    usage_print_states(stdout, 6);
    printf("\n");
  }
  if (verb != NULL && strstr(verb->pattern, "ENCODING") != NULL) {
    usage_print_encodings(stdout, printf("ENCODING is one of:"));
    printf("\n");
  }
  usage_print_line("-", "c", "FILE", -1, "use this configuration file");
  for (i = 0; i < ROW_COUNT; i++)
    if (usage_is_accepted_by(&rows[i], verb))
      usage_print_line("--", rows[i].name,
                       rows[i].argument != NULL ? rows[i].argument : "", -1,
                       rows[i].help);
}

/* ---- the command line ---- */

/* format: the error; NULL if it was printed. */
__attribute__((format(printf, 2, 3), noreturn)) static void
usage_fail(const struct verb *verb, const char *format, ...)
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
  exit(EX_USAGE);
}

/* Or else begins the list of those that are possible. Returns the column where
 * it continues; 0: there is none. */
static int usage_suggest(const char *what, const struct dx_nearest *nearest)
{
  int column = cli_print_unknown(what, nearest);

  return column != 0 ? column + fprintf(stderr, "; possible %ss:", what) : 0;
}

/* Finds the verb of that name, or the only one that begins with it. */
static const struct verb *usage_find_verb(const char *name)
{
  struct dx_nearest nearest = {.word = name};
  const struct verb *found = NULL;
  size_t i, count = 0, len = strlen(name);

  for (i = 0; i < VERB_COUNT; i++) {
    dx_nearest_try(&nearest, verbs[i].name);
    if (strncmp(verbs[i].name, name, len) != 0)
      continue;
    found = &verbs[i];
    if (found->name[len] == '\0')
      return found;
    count++;
  }
  if (count == 1)
    return found;
  if (count > 1)
    fprintf(stderr,
            "docextract: ambiguous command '%s'; possible commands:", name);
  else if (usage_suggest("command", &nearest) == 0)
    usage_fail(NULL, NULL);
  for (i = 0; i < VERB_COUNT; i++)
    if (count == 0 || strncmp(verbs[i].name, name, len) == 0)
      fprintf(stderr, " %s", verbs[i].name);
  fputc('\n', stderr);
  usage_fail(NULL, NULL);
}

/* A long option that getopt_long() does not accept. */
__attribute__((noreturn)) static void usage_fail_option(const char *option)
{
  struct dx_nearest nearest = {.word = option + strlen("--")};
  size_t i, len = strcspn(nearest.word, "="), count = 0;

  for (i = 0; i < ROW_COUNT; i++) {
    dx_nearest_try(&nearest, rows[i].name);
    if (strncmp(rows[i].name, nearest.word, len) == 0)
      count++;
  }
  if (count > 1)
    usage_fail(NULL, "ambiguous option '%s'", option);
  if (count == 1)
    usage_fail(NULL, "option '--%.*s' takes no value", (int)len, nearest.word);
  if (nearest.found != NULL)
    usage_fail(NULL, "unknown option '%s'; did you mean '--%s'?", option,
               nearest.found);
  usage_fail(NULL, "unknown option '%s'", option);
}

/* Options and arguments may be in any order. */
static void usage_read_options(struct cli *cli, int argc, char **argv)
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
  opterr = 0;
  while ((letter = getopt_long(argc, argv, ":c:h", longs, &index)) != -1) {
    if (letter == ':')
      usage_fail(NULL, "option '%s' requires a value", argv[optind - 1]);
    if (letter == '?' && optopt != 0)
      usage_fail(NULL, "unknown option '-%c'", optopt);
    if (letter == '?')
      usage_fail_option(argv[optind - 1]);
    if (letter == 'c')
      cli->config_path = optarg;
    cli->help = cli->help || letter == 'h';
    if (letter != 0)
      continue;
    field = (char *)cli + rows[index].offset;
    if (rows[index].argument != NULL)
      *(const char **)field = optarg;
    else
      *(bool *)field = true;
  }
}

/* Of a verb that changes jobs: it takes either jobs, or --all, which the other
 * options restrict. `retry JOB --service` is another option: it moves the job.
 */
static void usage_check_all(const struct cli *cli, const struct verb *verb)
{
  bool moves = verb->run == verb_retry && cli->service != NULL;
  enum dx_state state = 0;

  if (cli->all && cli->arg_count > 0)
    usage_fail(verb, "'%s' takes either JOB... or --all", verb->name);
  if (!cli->all && cli->arg_count == 0)
    usage_fail(verb, "'%s' takes JOB..., or --all for all jobs", verb->name);
  if (!cli->all && (cli->state != NULL || cli->queue != NULL ||
                    (cli->service != NULL && !moves)))
    usage_fail(verb, "--%s selects jobs, and requires --all",
               cli->state != NULL   ? "state"
               : cli->queue != NULL ? "queue"
                                    : "service");
  while (cli->state != NULL && state < DX_ST_COUNT &&
         strcmp(dx_state_word(state), cli->state) != 0)
    state++;
  if (cli->state != NULL && state < DX_ST_COUNT && dx_state_is_settled(state))
    usage_fail(verb, "jobs in state '%s' have finished; there is nothing to %s",
               cli->state, verb->name);
}

static void usage_check_state(const struct cli *cli, const struct verb *verb)
{
  struct dx_nearest nearest = {.word = cli->state};
  const char *word;
  size_t i;

  for (i = 0; (word = cli_state_word(i)) != NULL; i++) {
    if (strcmp(word, cli->state) == 0)
      return;
    dx_nearest_try(&nearest, word);
  }
  if (usage_suggest("state", &nearest) != 0)
    usage_print_states(stderr, SIZE_MAX);
  usage_fail(verb, NULL);
}

static void usage_check_encoding(const struct cli *cli, const struct verb *verb)
{
  struct dx_nearest nearest = {.word = cli->text_encoding};
  int i, column;

  if (dx_text_encoding_by_word(cli->text_encoding) != DX_TEXT_ENCODING_COUNT)
    return;
  for (i = 0; i < DX_TEXT_ENCODING_COUNT; i++)
    dx_nearest_try(&nearest, dx_text_encoding_word((enum dx_text_encoding)i));
  column = usage_suggest("encoding", &nearest);
  if (column != 0)
    usage_print_encodings(stderr, column);
  usage_fail(verb, NULL);
}

/* True if the option is on the command line. */
static bool usage_is_given(const struct cli *cli, const struct option_row *row)
{
  const void *field = (const char *)cli + row->offset;

  return row->argument != NULL ? *(const char *const *)field != NULL
                               : *(const bool *)field;
}

/* Of `what`, only one option may be given, besides those of all verbs. */
static void usage_check_alone(const struct cli *cli, const struct verb *verb,
                              const char *what, const char *option)
{
  size_t i;

  for (i = 0; i < ROW_COUNT; i++)
    if (usage_is_given(cli, &rows[i]) && strcmp(rows[i].name, option) != 0 &&
        !usage_is_accepted_by(&rows[i], NULL))
      usage_fail(verb, "%s and --%s cannot be combined", what, rows[i].name);
}

static void usage_check(const struct cli *cli, const struct verb *verb)
{
  int len = usage_arguments_length(verb);
  size_t i;

  for (i = 0; i < ROW_COUNT; i++)
    if (usage_is_given(cli, &rows[i]) && !usage_is_accepted_by(&rows[i], verb))
      usage_fail(verb, "'%s' does not accept --%s", verb->name, rows[i].name);
  if (cli->arg_count > 0 ? len == 0 : len > 0 && verb->pattern[0] != '[')
    usage_fail(verb, "'%s' takes %.*s", verb->name, len > 0 ? len : INT_MAX,
               len > 0 ? verb->pattern : "no arguments");
  if (cli->json && cli->html)
    usage_fail(verb, "--json and --html cannot be combined");
  if (cli->older_than != NULL && dx_parse_duration(cli->older_than) < 0)
    usage_fail(verb, "--older-than takes a number and s, m, h, or d, "
                     "such as 7d");
  if (cli->text_encoding != NULL)
    usage_check_encoding(cli, verb);
  if (cli->state != NULL)
    usage_check_state(cli, verb);
  if (verb->run == verb_retry || verb->run == verb_cancel)
    usage_check_all(cli, verb);
  if (verb->run == verb_jobs && cli->arg_count > 0)
    usage_check_alone(cli, verb, "JOB", "json");
  if (cli->seen)
    usage_check_alone(cli, verb, "--seen", "seen");
}

/* ---- running ---- */

static void cli_log(enum dx_log_level level, const char *line)
{
  static const char *const words[] = {"debug", "info", "warning", "error"};

  fprintf(stderr, "%s: %s\n", words[level], line);
}

static int cli_run(const struct verb *verb, struct cli *cli)
{
  struct dx_err err = {0};
  enum dx_code code;

  if (cli->verbose)
    dx_log_to(cli_log);
  code = verb->run(cli, &err);
  if (code == DX_E_SPACE)
    (void)dx_fail_advice(&err, "free space there");
  if (code != DX_OK)
    fprintf(stderr, "docextract: %s\n", err.text);
  dx_json_free(&cli->jobs);
  dx_spool_close(&cli->spool);
  dx_config_free(&cli->config);
  return cli_exit_status(dx_class_of(code));
}

int main(int argc, char **argv)
{
  const struct verb *verb;
  struct cli cli = {.config_path = dx_config_path(),
                    .spool = {.dirfd = -1, .history_dirfd = -1}};

  dx_process_protect();
  dx_process_hide_arguments(argc, argv, 1); /* titles and file names */
  dx_language_use(dx_language_of_user());
  (void)setlocale(LC_CTYPE, "C.UTF-8"); /* for wcwidth() */
  (void)signal(SIGPIPE, SIG_IGN);       /* a closed pipe must not end a job */
  (void)signal(SIGXFSZ, SIG_IGN);       /* handled like a full disk */
  (void)setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
  usage_read_options(&cli, argc, argv);
  for (; optind < argc && strcmp(argv[optind], "help") == 0; optind++)
    cli.help = true;
  verb = optind < argc && !cli.version ? usage_find_verb(argv[optind++]) : NULL;
  if (cli.version)
    printf("docextract %s\n", PACKAGE_VERSION);
  else if (cli.help)
    usage_print_help(verb);
  if (cli.version || cli.help)
    return EX_OK;
  if (verb == NULL)
    usage_fail(NULL, "missing command");
  cli.verb = verb->name;
  cli.args = argv + optind;
  cli.arg_count = (size_t)(argc - optind);
  usage_check(&cli, verb);
  return cli_run(verb, &cli);
}
