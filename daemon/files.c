/*
 * files.c - a line of text for each file, with what stat() returns; a change of
 * the text is a change of the files.
 */
#include "daemon/files.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/clock.h"

#define DX_FILES_LOOK_MS 5000 /* between two looks */

/* ctime covers contents, owner, and mode. */
static void files_add(struct dx_buf *seen, const char *path, size_t len)
{
  char name[DX_VALUE_BYTES];
  struct stat st;

  (void)snprintf(name, sizeof(name), "%.*s", (int)len, path);
  if (stat(name, &st) < 0)
    dx_buf_printf(seen, "%d\n", errno);
  else
    dx_buf_printf(seen, "%ju %ju %jd %jd.%ld %jd.%ld\n", (uintmax_t)st.st_dev,
                  (uintmax_t)st.st_ino, (intmax_t)st.st_size,
                  (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
                  (intmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
}

/* Takes what was seen now; true if it differs from what was seen before. */
static bool files_replace(struct dx_buf *before, struct dx_buf *now)
{
  bool differs = strcmp(dx_buf_text(before), dx_buf_text(now)) != 0;

  dx_buf_release(before);
  *before = *now;
  return differs;
}

static bool files_of_config(struct files *files)
{
  struct dx_buf now = {0};

  files_add(&now, files->path, strlen(files->path));
  return files_replace(&files->config, &now);
}

/* The file that a directive names, in a section, or, if it is NULL, outside;
 * NULL: none. Sets the length of its path: of a command, the first word. */
static const char *files_path(const struct dx_directive *row,
                              const struct dx_config *config,
                              const struct dx_service *service, size_t *ret_len)
{
  const char *path = NULL;

  if ((row->kind == DX_VALUE_FILE_PATH || row->kind == DX_VALUE_KEY_PATH ||
       row->kind == DX_VALUE_CA_PATH || row->kind == DX_VALUE_COMMAND) &&
      (service != NULL ? row->in_service : row->in_general))
    path = *(char *const *)dx_directive_field(row, config, service);
  if (path != NULL)
    *ret_len = strcspn(path, row->kind == DX_VALUE_COMMAND ? " \t" : "");
  return path;
}

static void files_of_section(const struct dx_config *config,
                             const struct dx_service *service,
                             struct dx_buf *named, struct dx_buf *tokens)
{
  const struct dx_directive *row;
  const char *path;
  size_t i, len;

  for (i = 0; (row = dx_directive(i)) != NULL; i++) {
    path = files_path(row, config, service, &len);
    if (path != NULL)
      files_add(service != NULL && path == service->token_file ? tokens : named,
                path, len);
  }
}

static void files_named(struct files *files, const struct dx_config *config,
                        struct files_changes *ret_changes)
{
  struct dx_buf named = {0}, tokens = {0};
  size_t i;

  files_of_section(config, NULL, &named, &tokens);
  for (i = 0; i < config->service_count; i++)
    files_of_section(config, &config->services[i], &named, &tokens);
  ret_changes->named = files_replace(&files->named, &named);
  ret_changes->tokens = files_replace(&files->tokens, &tokens);
}

void files_begin(struct files *files, const char *path)
{
  files->path = path;
  files->due_ms = dx_monotonic_ms() + DX_FILES_LOOK_MS;
  (void)files_of_config(files);
}

void files_follow(struct files *files, const struct dx_config *config)
{
  struct files_changes ignored;

  files_named(files, config, &ignored);
}

bool files_look(struct files *files, const struct dx_config *config,
                struct files_changes *ret_changes)
{
  *ret_changes = (struct files_changes){.config = false};
  if (dx_monotonic_ms() < files->due_ms)
    return false;
  files->due_ms = dx_monotonic_ms() + DX_FILES_LOOK_MS;
  if (config != NULL)
    files_named(files, config, ret_changes);
  ret_changes->config = files_of_config(files);
  return true;
}

void files_release(struct files *files)
{
  dx_buf_release(&files->config);
  dx_buf_release(&files->named);
  dx_buf_release(&files->tokens);
}
