/*
 * unit.c - the directories that docextractd.service protects, and the
 * directives that refer to them.
 */
#include "lib/config/config.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define PLACE_BYTES 1024

static bool is_below(const char *path, const char *directory)
{
  size_t len = strlen(directory);

  return strncmp(path, directory, len) == 0 &&
         (path[len] == '/' || path[len] == '\0');
}

/* What the unit does to a directory: daemon/docextractd.service.in. */
#define HIDDEN "is hidden from docextractd.service" /* ProtectHome=yes */
#define PRIVATE                                     /* PrivateTmp=yes */ \
  "is not visible to docextractd.service, which has a private /tmp and " \
  "/var/tmp"
#define READ_ONLY \
  "is read-only for docextractd.service" /* ProtectSystem=full */

static const struct protection {
  const char *directory, *problem, *also;
  bool is_read_only;
} protections[] = {
    {"/home", HIDDEN, "ProtectHome=tmpfs and ", false},
    {"/root", HIDDEN, "ProtectHome=tmpfs and ", false},
    {"/run/user", HIDDEN, "ProtectHome=tmpfs and ", false},
    {"/tmp", PRIVATE, "", false},
    {"/var/tmp", PRIVATE, "", false},
    {"/usr", READ_ONLY, "", true},
    {"/boot", READ_ONLY, "", true},
    {"/etc", READ_ONLY, "", true},
    {NULL, NULL, NULL, false},
};

/* ---- the directives ---- */

struct place {
  const char *directive;
  char path[PLACE_BYTES];
  bool is_program;
};

/* The n-th path that docextractd writes to or runs; false after the last. */
static bool nth_place(const struct dx_config *config, size_t n,
                      struct place *ret_place)
{
  const struct dx_service *s;
  const char *path = config->spool_dir;

  *ret_place = (struct place){.directive = "SpoolDir"};
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
  }
  (void)snprintf(ret_place->path, sizeof(ret_place->path), "%.*s",
                 ret_place->is_program ? (int)strcspn(path, " \t") : INT_MAX,
                 path);
  return true;
}

/* ---- what is in effect ---- */

/* In proc_pid_mountinfo(5), the innermost mount of the path applies; of two at
 * one place, the later one. A drop-in adds a mount for its path. */
static bool is_in_effect(const char *mountinfo, const struct place *place)
{
  char line[4 * PLACE_BYTES], root[PLACE_BYTES], at[PLACE_BYTES], options[64];
  size_t longest = 0;
  bool result = false;
  FILE *file = fopen(mountinfo, "re");

  while (file != NULL && fgets(line, sizeof(line), file) != NULL)
    if (sscanf(line, "%*s %*s %*s %1023s %1023s %63s", root, at, options) ==
            3 &&
        is_below(place->path, at) && strlen(at) >= longest) {
      longest = strlen(at);
      result = strstr(root, "/inaccessible/") != NULL ||
               strstr(root, "/systemd-private-") != NULL ||
               (!place->is_program && (strcmp(options, "ro") == 0 ||
                                       strncmp(options, "ro,", 3) == 0));
    }
  if (file != NULL)
    (void)fclose(file);
  return result;
}

bool dx_config_drop_in(const struct dx_config *config, const char *mountinfo,
                       size_t *at, char text[DX_ERR_TEXT_BYTES])
{
  const struct protection *p;
  struct place place;

  while (nth_place(config, (*at)++, &place)) {
    for (p = protections; p->directory != NULL; p++)
      if (is_below(place.path, p->directory))
        break;
    if (p->directory == NULL || (place.is_program && p->is_read_only) ||
        (mountinfo != NULL && !is_in_effect(mountinfo, &place)))
      continue;
    (void)snprintf(text, DX_ERR_TEXT_BYTES,
                   "%s '%.120s' %s; choose another path, or add to its section "
                   "[Service], with 'systemctl edit docextractd': %s%s=%.120s",
                   place.directive, place.path, p->problem, p->also,
                   p->is_read_only    ? "ReadWritePaths"
                   : place.is_program ? "BindReadOnlyPaths"
                                      : "BindPaths",
                   place.path);
    return true;
  }
  return false;
}
