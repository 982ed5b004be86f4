/*
 * load.c - reads the configuration, selects the service, and changes the user
 * of the process. Everything in the spool belongs to the user that backends run
 * as (lib/base/user.h): backends could not access files of root.
 */
#include "cli/cli.h"

#include <cups/cups.h>
#include <errno.h>
#include <libgen.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/nearest.h"

/* The default user of cupsd in most distributions. */
#define CUPS_DEFAULT_USER "lp"

/* Returns the number of lines. */
static size_t load_print_lines(const char *prefix, const char *lines)
{
  size_t len, count = 0;

  for (; *lines != '\0'; lines += len + (lines[len] == '\n')) {
    len = strcspn(lines, "\n");
    fprintf(stderr, "%s%.*s\n", prefix, (int)len, lines);
    count++;
  }
  return count;
}

enum dx_code cli_check(struct cli *cli, bool is_owner, size_t *ret_warnings,
                       struct dx_err *err)
{
  struct dx_config_notes notes = {.is_user = is_owner};
  struct dx_config *config = NULL;
  enum dx_code code = dx_config_load(cli->config_path, &config, &notes, err);

  if (code == DX_OK) {
    dx_config_free(&cli->config);
    cli->config = config;
    if (ret_warnings != NULL)
      *ret_warnings =
          load_print_lines("warning: ", dx_buf_text(&notes.warnings));
  } else if (notes.mistake_count > 1) {
    (void)load_print_lines("docextract: ", dx_buf_text(&notes.mistakes));
    (void)dx_fail(err, code, 0, "found %d errors in '%s'", notes.mistake_count,
                  cli->config_path);
  } else if (err->sys_errno == EACCES && cli->config != NULL) {
    /* The caller could read it. */
    (void)dx_fail_advice(err,
                         "filters and backends must be able to read it; fix it "
                         "with: chmod a+r %s",
                         cli->config_path);
  } else if (err->sys_errno == EACCES && geteuid() != 0) {
    (void)dx_fail_advice(err, "run this command as root");
  }
  dx_config_notes_release(&notes);
  return code;
}

enum dx_code cli_load(struct cli *cli, struct dx_err *err)
{
  return cli_check(cli, false, NULL, err);
}

enum dx_code cli_service(const struct cli *cli,
                         const struct dx_service **ret_service,
                         struct dx_err *err)
{
  const struct dx_config *config = cli->config;
  struct dx_nearest nearest = {.word = cli->service};
  struct dx_buf names = {0};
  size_t i;

  if (cli->service == NULL && config->service_count == 1)
    *ret_service = &config->services[0];
  else
    *ret_service = dx_config_service(config, cli->service != NULL ? cli->service
                                                                  : "default");
  if (*ret_service != NULL)
    return DX_OK;
  for (i = 0; i < config->service_count; i++) {
    /* NOLINTNEXTLINE(*-core.NullDereference): there are that many services */
    dx_buf_printf(&names, "%s%s", i > 0 ? ", " : "", config->services[i].name);
    if (cli->service != NULL)
      dx_nearest_try(&nearest, config->services[i].name);
  }
  if (cli->service == NULL)
    (void)dx_fail(err, DX_E_CONFIG, 0,
                  "choose a service with --service NAME; configured services: "
                  "%s",
                  dx_buf_text(&names));
  else if (nearest.found != NULL)
    (void)dx_fail(err, DX_E_CONFIG, 0,
                  "unknown service '%s'; did you mean '%s'?", cli->service,
                  nearest.found);
  else
    (void)dx_fail(err, DX_E_CONFIG, 0,
                  "unknown service '%s'; configured services: %s", cli->service,
                  dx_buf_text(&names));
  dx_buf_release(&names);
  return DX_E_CONFIG;
}

void cli_server_program(const char *name, char path[PATH_MAX])
{
  const char *bin = dx_user_environment("CUPS_SERVERBIN");

  (void)snprintf(path, PATH_MAX, "%s/%s",
                 bin != NULL && bin[0] == '/' ? bin : DX_SERVERBIN, name);
}

/* ---- the files of cupsd ---- */

bool cli_read_cupsd(const struct cli *cli, const char *name,
                    cli_directive *each, void *ctx)
{
  /* Next to the file itself, because any user may own a link to it. */
  char *real = realpath(cli->config_path, NULL), *path = NULL;
  char line[1024], *value;
  cups_file_t *file = NULL;
  int number = 0;

  if (real != NULL && asprintf(&path, "%s/%s", dirname(real), name) > 0)
    file = cupsFileOpen(path, "r");
  free(path);
  free(real);
  if (file == NULL)
    return false;
  while (cupsFileGetConf(file, line, sizeof(line), &value, &number) != NULL)
    if (value != NULL)
      each(ctx, line, value);
  (void)cupsFileClose(file);
  return true;
}

static void load_read_user(void *ctx, const char *name, const char *value)
{
  if (strcasecmp(name, "User") == 0) /* the last one counts */
    (void)snprintf(ctx, DX_USER_BYTES, "%s", value);
}

/* ---- the owner of the spool ---- */

static enum dx_code load_stat_spool(const char *path, struct stat *ret_st,
                                    struct dx_err *err)
{
  int e = stat(path, ret_st) < 0      ? errno
          : !S_ISDIR(ret_st->st_mode) ? ENOTDIR
                                      : 0;

  if (e == 0)
    return DX_OK;
  if (e == EACCES)
    return dx_fail(
        err, DX_E_ACCESS, e,
        "no permission to use SpoolDir '%s'; run this command as root", path);
  return dx_fail(err, e == ENOENT ? DX_E_NOT_FOUND : DX_E_IO, e,
                 "cannot open SpoolDir '%s': %s; create the directory and give "
                 "it to the user that backends run as",
                 path, strerror(e));
}

enum dx_code cli_become_owner(const struct cli *cli, struct dx_err *err)
{
  const char *spool_dir = cli->config->spool_dir, *backends = dx_user();
  char owner[DX_USER_BYTES], user[DX_USER_BYTES] = "";
  const struct passwd *entry;
  struct stat st;
  enum dx_code code = dx_user_enter(err);

  if (code == DX_OK)
    code = load_stat_spool(spool_dir, &st, err);
  if (code != DX_OK)
    return code;
  if (backends == NULL &&
      cli_read_cupsd(cli, "cups-files.conf", load_read_user, user))
    /* Even if cupsd's user is root, these backends do not run as root. */
    backends = getpwnam(user) != NULL ? user
               : st.st_uid == 0       ? CUPS_DEFAULT_USER
                                      : NULL;
  dx_user_name_of(st.st_uid, owner);
  entry = backends != NULL ? getpwnam(backends) : NULL;
  if (backends != NULL && (entry == NULL || entry->pw_uid != st.st_uid))
    /* With E_ACCESS, a command asks docextractd instead. */
    return dx_fail(err, st.st_uid == geteuid() ? DX_E_IO : DX_E_ACCESS, 0,
                   "SpoolDir '%s' belongs to '%s', but backends run as '%s'; "
                   "fix it with: chown -R %s: '%s/'",
                   spool_dir, owner, backends, backends, spool_dir);
  entry = getpwuid(st.st_uid);
  if (geteuid() == 0 && st.st_uid != 0)
    code = dx_user_become(st.st_uid, entry != NULL ? entry->pw_gid : st.st_gid,
                          entry != NULL ? entry->pw_name : NULL, err);
  if (code != DX_OK || st.st_uid == geteuid())
    return code;
  return dx_fail(err, DX_E_ACCESS, 0,
                 "no permission to use SpoolDir '%s'; run this command as root "
                 "or as '%s'",
                 spool_dir, owner);
}

enum dx_code cli_open_spool(struct cli *cli, struct dx_err *err)
{
  enum dx_code code = cli_load(cli, err);

  if (code == DX_OK)
    code = cli_become_owner(cli, err);
  return code == DX_OK ? dx_spool_open(cli->config->spool_dir, &cli->spool, err)
                       : code;
}
