/*
 * watch.c - inotify on SpoolDir/jobs and on the directory of the configuration:
 * editors replace a file, so watching the file itself is not enough.
 */
#include "daemon/watch.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "lib/base/buf.h"

static int watch_directory(int fd, const char *path, uint32_t events,
                           struct dx_err *err)
{
  int id = inotify_add_watch(fd, path, events | IN_ONLYDIR);

  if (id < 0)
    (void)dx_fail_sys(err, errno, "watch", path);
  return id;
}

static enum dx_code add_watches(struct watch *watch, const char *spool_dir,
                                const char *config_path, struct dx_err *err)
{
  const char *slash = strrchr(config_path, '/');
  struct dx_buf jobs = {0}, directory = {0};

  watch->config_name = slash != NULL ? slash + 1 : config_path;
  dx_buf_printf(&jobs, "%s/jobs", spool_dir);
  dx_buf_printf(&directory, "%.*s/.",
                slash != NULL ? (int)(slash - config_path) : 1,
                slash != NULL ? config_path : ".");
  if (dx_buf_ok(&jobs) && dx_buf_ok(&directory)) {
    watch->jobs = watch_directory(watch->fd, dx_buf_text(&jobs),
                                  IN_MOVED_TO | IN_ATTRIB, err);
    if (watch->jobs >= 0)
      watch->config = watch_directory(watch->fd, dx_buf_text(&directory),
                                      IN_MOVED_TO | IN_CLOSE_WRITE, err);
  } else {
    (void)dx_fail_nomem(err);
  }
  dx_buf_release(&jobs);
  dx_buf_release(&directory);
  return watch->jobs >= 0 && watch->config >= 0 ? DX_OK : err->code;
}

enum dx_code watch_start(struct watch *watch, const char *spool_dir,
                         const char *config_path, struct dx_err *err)
{
  enum dx_code code;

  watch->jobs = watch->config = -1;
  watch->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (watch->fd < 0)
    return dx_fail_sys(err, errno, "watch", spool_dir);
  code = add_watches(watch, spool_dir, config_path, err);
  if (code != DX_OK)
    watch_stop(watch);
  return code;
}

void watch_stop(struct watch *watch)
{
  if (watch->fd >= 0)
    (void)close(watch->fd);
  watch->fd = -1;
}

static void take_event(const struct watch *watch,
                       const struct inotify_event *event,
                       struct watch_events *events)
{
  if (event->mask & (IN_Q_OVERFLOW | IN_IGNORED))
    events->lost = true;
  else if (event->wd == watch->jobs && event->len > 0)
    events->job(events->ctx, event->name);
  else if (event->wd == watch->config && event->len > 0 &&
           strcmp(event->name, watch->config_name) == 0)
    events->config_changed = true;
}

void watch_read(struct watch *watch, struct watch_events *events)
{
  char bytes[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
  ssize_t n;

  while ((n = read(watch->fd, bytes, sizeof(bytes))) > 0) {
    const char *p = bytes;

    while (p < bytes + n) {
      const struct inotify_event *event = (const void *)p;

      take_event(watch, event, events);
      p += sizeof(*event) + event->len;
    }
  }
}
