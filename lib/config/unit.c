/*
 * unit.c - what docextractd.service protects, and which directives name
 * something behind that protection.
 */
#include "lib/config/config.h"

#include <stdio.h>
#include <string.h>

#define PLACE_BYTES 1024

/* What the unit does to a directory: daemon/docextractd.service.in. */
enum protection {
  NOT_PROTECTED,
  IS_HIDDEN,   /* ProtectHome=yes */
  IS_PRIVATE,  /* PrivateTmp=yes */
  IS_READ_ONLY /* ProtectSystem=full */
};

static bool is_below(const char *path, const char *directory)
{
  size_t len = strlen(directory);

  return strncmp(path, directory, len) == 0 &&
         (path[len] == '/' || path[len] == '\0');
}

static enum protection protection_of(const char *path)
{
  static const struct {
    const char *directory;
    enum protection protection;
  } rows[] = {
      {"/home", IS_HIDDEN},     {"/root", IS_HIDDEN},
      {"/run/user", IS_HIDDEN}, {"/tmp", IS_PRIVATE},
      {"/var/tmp", IS_PRIVATE}, {"/usr", IS_READ_ONLY},
      {"/boot", IS_READ_ONLY},  {"/etc", IS_READ_ONLY},
  };
  size_t i;

  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    if (is_below(path, rows[i].directory))
      return rows[i].protection;
  return NOT_PROTECTED;
}

/* ---- the directives ---- */

struct place {
  const char *directive;
  char path[PLACE_BYTES];
  bool is_program;
};

/* The n-th place that docextractd writes to or runs; false after the last. */
static bool nth_place(const struct dx_config *config, size_t n,
                      struct place *ret_place)
{
  const struct dx_service *s;
  const char *path;
  size_t len;

  *ret_place = (struct place){.directive = "SpoolDir"};
  path = config->spool_dir;
  len = strlen(path);
  if (n > 0) {
    if ((n - 1) / 2 >= config->service_count)
      return false;
    s = &config->services[(n - 1) / 2];
    ret_place->is_program = n % 2 == 0;
    ret_place->directive = ret_place->is_program ? "OnResult" : "ResultsDir";
    path = ret_place->is_program ? s->on_result : s->results_dir;
    if (path == NULL ||
        (!ret_place->is_program && is_below(path, config->spool_dir)))
      path = ""; /* there is none, or it goes with SpoolDir */
    len = ret_place->is_program ? strcspn(path, " \t") : strlen(path);
  }
  (void)snprintf(ret_place->path, sizeof(ret_place->path), "%.*s", (int)len,
                 path);
  return true;
}

static bool is_protected(const struct place *place)
{
  enum protection protection = protection_of(place->path);

  return protection != NOT_PROTECTED &&
         !(place->is_program && protection == IS_READ_ONLY);
}

static void describe(const struct place *place, char text[DX_ERR_TEXT_BYTES])
{
  static const char *const problems[] = {
      [IS_HIDDEN] = "is hidden from docextractd.service",
      [IS_PRIVATE] = "is not visible to docextractd.service, which has a "
                     "private /tmp and /var/tmp",
      [IS_READ_ONLY] = "is read-only for docextractd.service"};
  enum protection protection = protection_of(place->path);

  (void)snprintf(text, DX_ERR_TEXT_BYTES,
                 "%s '%.120s' %s; choose another path, or add to its section "
                 "[Service], with "
                 "'systemctl edit docextractd': %s%s=%.120s",
                 place->directive, place->path, problems[protection],
                 protection == IS_HIDDEN ? "ProtectHome=tmpfs and " : "",
                 protection == IS_READ_ONLY ? "ReadWritePaths"
                 : place->is_program        ? "BindReadOnlyPaths"
                                            : "BindPaths",
                 place->path);
}

/* ---- what is in effect ---- */

struct mount {
  char root[PLACE_BYTES], at[PLACE_BYTES], options[64];
};

/* A line of proc_pid_mountinfo(5); false if it is none, or too long. */
static bool read_mount(const char *line, struct mount *mount)
{
  return sscanf(line, "%*s %*s %*s %1023s %1023s %63s", mount->root, mount->at,
                mount->options) == 3;
}

static bool stands_in_the_way(const struct mount *mount,
                              const struct place *place)
{
  if (strstr(mount->root, "/inaccessible/") != NULL ||
      strstr(mount->root, "/systemd-private-") != NULL)
    return true;
  return !place->is_program && (strcmp(mount->options, "ro") == 0 ||
                                strncmp(mount->options, "ro,", 3) == 0);
}

/* The innermost mount that the path is on decides; of two at one place, the
 * later one. A drop-in makes one for its path. */
static bool is_in_effect(const char *mountinfo, const struct place *place)
{
  char line[4 * PLACE_BYTES];
  struct mount mount;
  size_t longest = 0;
  bool result = false;
  FILE *file = fopen(mountinfo, "re");

  while (file != NULL && fgets(line, sizeof(line), file) != NULL)
    if (read_mount(line, &mount) && is_below(place->path, mount.at) &&
        strlen(mount.at) >= longest) {
      longest = strlen(mount.at);
      result = stands_in_the_way(&mount, place);
    }
  if (file != NULL)
    (void)fclose(file);
  return result;
}

bool dx_config_drop_in(const struct dx_config *config, const char *mountinfo,
                       size_t *at, char text[DX_ERR_TEXT_BYTES])
{
  struct place place;

  while (nth_place(config, (*at)++, &place))
    if (is_protected(&place) &&
        (mountinfo == NULL || is_in_effect(mountinfo, &place))) {
      describe(&place, text);
      return true;
    }
  return false;
}
