/*
 * watch.c - inotify on the directory of the configuration.
 */
#include "daemon/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "lib/base/fs.h"

enum dx_code watch_start(struct watch *watch, const char *config_path,
                         struct dx_err *err)
{
  const char *slash = strrchr(config_path, '/');
  char *directory = slash != NULL ? dx_fs_parent(config_path) : strdup(".");
  int id = -1;

  watch->name = slash != NULL ? slash + 1 : config_path;
  watch->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (watch->fd >= 0 && directory != NULL)
    id = inotify_add_watch(watch->fd, directory,
                           IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR);
  if (id < 0) {
    (void)dx_fail_sys(err, errno, "watch", config_path);
    watch_stop(watch);
  }
  free(directory);
  return id >= 0 ? DX_OK : err->code;
}

void watch_stop(struct watch *watch)
{
  if (watch->fd >= 0)
    (void)close(watch->fd);
  watch->fd = -1;
}

bool watch_read(struct watch *watch)
{
  char bytes[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
  bool changed = false;
  ssize_t n;

  while ((n = read(watch->fd, bytes, sizeof(bytes))) > 0) {
    const char *p = bytes;

    while (p < bytes + n) {
      const struct inotify_event *event = (const void *)p;

      if ((event->mask & IN_Q_OVERFLOW) != 0 ||
          (event->len > 0 && strcmp(event->name, watch->name) == 0))
        changed = true;
      p += sizeof(*event) + event->len;
    }
  }
  return changed;
}
