/*
 * shown.c - the file of what was shown: its ends, one a line.
 */
#include "notify/shown.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"

#define OVERLAP_MS 60000 /* ends come in no order; lib/control/status.h */

struct shown {
  GHashTable *ends; /* a set */
  int64_t last_ms;  /* of all ends that were added */
  char *path;
  int lock_fd; /* -1: cannot be locked */
};

static int64_t time_of(const char *end)
{
  return g_ascii_strtoll(end, NULL, 10);
}

static void read_file(struct shown *shown)
{
  char *text = NULL;
  char **lines;
  size_t i;

  if (!g_file_get_contents(shown->path, &text, NULL, NULL))
    return;
  lines = g_strsplit(text, "\n", -1);
  for (i = 0; lines[i] != NULL; i++)
    if (lines[i][0] != '\0')
      shown_add(shown, lines[i]);
  g_strfreev(lines);
  g_free(text);
}

/* The file itself is replaced, and so cannot be the one that is locked. */
static void lock(struct shown *shown)
{
  char *path = g_strconcat(shown->path, ".lock", NULL);

  shown->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (shown->lock_fd < 0 || flock(shown->lock_fd, LOCK_EX) < 0)
    dx_log(DX_LOG_WARNING, "cannot lock '%s': %s", path, g_strerror(errno));
  g_free(path);
}

struct shown *shown_open(void)
{
  struct shown *shown = g_new0(struct shown, 1);
  char *dir = g_build_filename(g_get_user_state_dir(), "docextract", NULL);
  char *name = g_strconcat("shown-", g_get_host_name(), NULL);

  shown->ends = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  shown->path = g_build_filename(dir, name, NULL);
  (void)g_mkdir_with_parents(dir, 0700); /* else locking it fails */
  lock(shown);
  read_file(shown);
  if (shown->last_ms == 0) {
    char *begin = g_strdup_printf("%" G_GINT64_FORMAT " begin", dx_wall_ms());

    shown_add(shown, begin);
    shown_save(shown);
    g_free(begin);
  }
  g_free(dir);
  g_free(name);
  return shown;
}

void shown_free(struct shown *shown)
{
  g_hash_table_unref(shown->ends);
  if (shown->lock_fd >= 0)
    (void)close(shown->lock_fd);
  g_free(shown->path);
  g_free(shown);
}

/* A clock that was once ahead must not hide what ends until then. */
int64_t shown_since(const struct shown *shown)
{
  return MIN(shown->last_ms, dx_wall_ms()) - OVERLAP_MS;
}

bool shown_has(const struct shown *shown, const char *end)
{
  return g_hash_table_contains(shown->ends, end);
}

void shown_add(struct shown *shown, const char *end)
{
  (void)g_hash_table_add(shown->ends, g_strdup(end));
  shown->last_ms = MAX(shown->last_ms, time_of(end));
}

static gboolean is_old(void *end, void *value, void *since)
{
  (void)value;
  return time_of(end) < *(const int64_t *)since;
}

void shown_save(struct shown *shown)
{
  int64_t since = shown_since(shown);
  GString *text = g_string_new(NULL);
  GError *error = NULL;
  GHashTableIter iter;
  void *end;

  (void)g_hash_table_foreach_remove(shown->ends, is_old, &since);
  g_hash_table_iter_init(&iter, shown->ends);
  while (g_hash_table_iter_next(&iter, &end, NULL))
    g_string_append_printf(text, "%s\n", (const char *)end);
  if (!g_file_set_contents(shown->path, text->str, (gssize)text->len, &error)) {
    dx_log(DX_LOG_WARNING, "%s", error->message);
    g_error_free(error);
  }
  (void)g_string_free(text, TRUE);
}
