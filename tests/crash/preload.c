/*
 * preload.c - between the backend or docextractd and the C library: kills the
 * process at the n-th step on disk, or lets the n-th call fail, and makes waits
 * short. Preloaded by the walks in this directory; never installed.
 *
 * Only calls that come from the program itself (libdx.a is part of it) or
 * from libcjson count and fail: libcurl, OpenSSL, and the C library are not
 * tested.
 *
 *   DX_WALK       "kill GROUP N before|after"   SIGKILL at the N-th of a group
 *                 "stop GROUP N before|after"   SIGSTOP at it, to be continued
 *                 "fail GROUP N COUNT ERROR"    the N-th and COUNT-1 more fail
 *                 "count GROUP"                 nothing happens
 *                 "trace"                       nothing happens, see below
 *                 "cut N before|after"          SIGKILL to all at it, see below
 *   DX_WALK_LOG   gets a line for each call of that group: number, what, the
 *                 place in the program; and "killed" or "failed". "count
 *                 memory" says which allocations are alike, see identify()
 *   DX_WALK_SPEED how much faster the program's boot clock runs
 *   DX_WALK_FSYNC how many milliseconds an fsync takes at least
 *
 * A trace has a line for each call that succeeded and changes what a power
 * failure would leave behind, and for each HTTP request before it is sent: the
 * process, the call, and whole paths. Every job.json that was renamed into
 * place is kept next to DX_WALK_LOG, for what it says. Several processes may
 * share a trace.
 *
 *   PID write|create|mkdir|unlink|rmdir|fsync PATH
 *   PID rename FROM TO
 *   PID journal TO COPY     follows such a rename
 *   PID send METHOD PATH    without the query
 *
 * "cut" is what a power cut needs: the processes that share DX_WALK_LOG do one
 * operation at a time, and at the N-th of all of them, all are killed. The log
 * has a line for each that succeeded, with inodes instead of paths, because an
 * fsync is one of an inode; 0 never comes. LOG.N keeps what a file contained
 * when it was fsynced. A write has the number of the operation before it: that
 * one more or one less of them came before a power cut makes no difference.
 *
 *   N create|mkdir|unlink|rmdir DIRECTORY NAME INODE MODE
 *   N write|fsync INODE MODE
 *   N rename DIRECTORY NAME DIRECTORY NAME
 *   N send METHOD PATH
 *   cut
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* name, bit: a call may belong to several */
#define GROUPS(X)                                                       \
  X(WRITE, "write", 1u << 0)                                            \
  X(FSYNC, "fsync", 1u << 1)                                            \
  X(RENAME, "rename", 1u << 2)                                          \
  X(OPEN, "open", 1u << 3)                                              \
  X(CREATE, "create", 1u << 4) /* a file that may not exist */          \
  X(MKDIR, "mkdir", 1u << 5)                                            \
  X(REMOVE, "remove", 1u << 6)                                          \
  X(MEMORY, "memory", 1u << 7)                                          \
  X(JOURNAL, "journal", 1u << 8) /* renames that change what is true */ \
  X(RESULT, "result", 1u << 9)   /* a result stored or delivered */     \
  X(SPACE, "space", 1u << 10)    /* whatever a full disk denies */      \
  X(FILE, "file", 1u << 11)      /* whatever changes the disk */

enum group {
#define X(name, word, bit) G_##name = (bit),
  GROUPS(X)
#undef X
};

static const struct {
  const char *name;
  int value;
} errors[] = {{"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT}, {"EROFS", EROFS},
              {"EACCES", EACCES}, {"EMFILE", EMFILE}, {"EIO", EIO},
              {"ENOMEM", ENOMEM}};

#define CODE_MAX 8
#define FRAMES_MAX 64
#define PROCESSES_MAX 8

static struct {
  uintptr_t base, from, to;
} code[CODE_MAX]; /* where the program and libcjson lie */
static int code_count;

static struct {
  unsigned group;
  unsigned long at, count;
  bool before, fails, traces, cuts, identifies;
  int signal; /* 0: none */
  int error;
} plan;
static unsigned long seen;
static unsigned journals; /* written by now */
static int log_fd = -1;
static long speed = 1;
static long fsync_ms;

/* Of the processes that a power cut ends; changed while the log is locked. */
static struct {
  unsigned long steps;
  bool is_cut;
  int count;
  pid_t pids[PROCESSES_MAX];
} * shared;

/* ---- where a call comes from ---- */

/* Where in the program or libcjson, the same in each run; 0: elsewhere. */
static uintptr_t place_of(const void *caller)
{
  int i;

  for (i = 0; i < code_count; i++)
    if ((uintptr_t)caller >= code[i].from && (uintptr_t)caller < code[i].to)
      return (uintptr_t)caller - code[i].base;
  return 0;
}

static bool is_ours(const void *caller)
{
  return place_of(caller) != 0;
}

/* The program itself comes first, without a name. */
static int add_code(struct dl_phdr_info *info, size_t size, void *ctx)
{
  int i;

  (void)size;
  (void)ctx;
  if (info->dlpi_name[0] != '\0' && strstr(info->dlpi_name, "libcjson") == NULL)
    return 0;
  for (i = 0; i < info->dlpi_phnum && code_count < CODE_MAX; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];

    if (p->p_type != PT_LOAD || (p->p_flags & PF_X) == 0)
      continue;
    code[code_count].base = (uintptr_t)info->dlpi_addr;
    code[code_count].from = (uintptr_t)(info->dlpi_addr + p->p_vaddr);
    code[code_count].to = code[code_count].from + (uintptr_t)p->p_memsz;
    code_count++;
  }
  return 0;
}

/* ---- the plan ---- */

static void give_up(const char *text)
{
  (void)fprintf(stderr, "preload: %s\n", text);
  _exit(99);
}

static unsigned group_by_word(const char *word)
{
#define X(name, w, bit)       \
  if (strcmp(word, (w)) == 0) \
    return (bit);
  GROUPS(X)
#undef X
  give_up("unknown group in DX_WALK");
  return 0;
}

static int error_by_name(const char *name)
{
  size_t i;

  for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
    if (strcmp(name, errors[i].name) == 0)
      return errors[i].value;
  give_up("unknown error in DX_WALK");
  return 0;
}

static void read_plan(const char *text)
{
  char what[16], group[16], rest[16];
  int n = sscanf(text, "%15s %15s", what, group);

  plan.traces = n == 1 && strcmp(what, "trace") == 0;
  if (plan.traces)
    return;
  plan.cuts = n == 2 && strcmp(what, "cut") == 0;
  if (plan.cuts) {
    plan.group = G_FILE;
    if (sscanf(text, "%*s %lu %15s", &plan.at, rest) != 2)
      give_up("DX_WALK is not understood");
    plan.before = strcmp(rest, "before") == 0;
    return;
  }
  if (n != 2)
    give_up("DX_WALK is not understood");
  plan.group = group_by_word(group);
  plan.signal = strcmp(what, "kill") == 0   ? SIGKILL
                : strcmp(what, "stop") == 0 ? SIGSTOP
                                            : 0;
  plan.fails = strcmp(what, "fail") == 0;
  plan.identifies = plan.group == G_MEMORY && strcmp(what, "count") == 0;
  if (plan.signal != 0) {
    n = sscanf(text, "%*s %*s %lu %15s", &plan.at, rest);
    plan.before = n == 2 && strcmp(rest, "before") == 0;
  } else if (plan.fails) {
    n = sscanf(text, "%*s %*s %lu %lu %15s", &plan.at, &plan.count, rest) - 1;
    plan.error = n == 2 ? error_by_name(rest) : 0;
  }
  if (n != 2)
    give_up("DX_WALK is not understood");
}

static void lock_log(void)
{
  while (flock(log_fd, LOCK_EX) < 0)
    if (errno != EINTR)
      give_up("cannot lock DX_WALK_LOG");
}

static void cut_power(void)
{
  int i;

  shared->is_cut = true;
  (void)syscall(SYS_write, log_fd, "cut\n", 4);
  for (i = 0; i < shared->count; i++)
    if (shared->pids[i] != getpid())
      (void)kill(shared->pids[i], SIGKILL);
  (void)kill(getpid(), SIGKILL);
}

static void join_others(const char *path)
{
  char name[1024];
  int fd;

  (void)snprintf(name, sizeof(name), "%s.shared", path);
  fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CREAT | O_CLOEXEC,
                    0600);
  if (fd < 0 || syscall(SYS_ftruncate, fd, sizeof(*shared)) < 0)
    give_up("cannot share DX_WALK_LOG");
  shared =
      mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  (void)syscall(SYS_close, fd);
  if (shared == MAP_FAILED)
    give_up("cannot share DX_WALK_LOG");
  lock_log();
  if (shared->is_cut || shared->count == PROCESSES_MAX)
    (void)kill(getpid(), SIGKILL);
  shared->pids[shared->count++] = getpid();
  (void)flock(log_fd, LOCK_UN);
}

__attribute__((constructor)) static void start(void)
{
  const char *text = getenv("DX_WALK");
  const char *path = getenv("DX_WALK_LOG");
  const char *factor = getenv("DX_WALK_SPEED");
  const char *slow = getenv("DX_WALK_FSYNC");

  if (slow != NULL)
    fsync_ms = strtol(slow, NULL, 10);
  if (factor != NULL)
    speed = strtol(factor, NULL, 10);
  if (path != NULL)
    log_fd = (int)syscall(SYS_openat, AT_FDCWD, path,
                          O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (text != NULL)
    read_plan(text);
  if (plan.cuts)
    join_others(path);
  (void)dl_iterate_phdr(add_code, NULL);
}

/* ---- counting ---- */

static void tell(const char *what, const char *subject, const void *caller)
{
  char line[400];
  int n;

  if (log_fd < 0)
    return;
  n = snprintf(line, sizeof(line), "%lu %s %.250s +0x%lx\n", seen, what,
               subject, (unsigned long)place_of(caller));
  if (n > 0)
    (void)syscall(SYS_write, log_fd, line, (size_t)n);
}

static void kill_us(void)
{
  const char *word = plan.signal == SIGKILL ? "killed\n" : "stopped\n";

  if (log_fd >= 0)
    (void)syscall(SYS_write, log_fd, word, strlen(word));
  (void)syscall(SYS_kill, getpid(), plan.signal);
}

static void begin_step(void)
{
  lock_log();
  shared->steps++;
  if (plan.before && shared->steps == plan.at)
    cut_power();
}

static void end_step(void)
{
  if (!plan.before && shared->steps == plan.at)
    cut_power();
  (void)flock(log_fd, LOCK_UN);
}

/* Counts a call: false if it has to fail, with errno set. */
static bool before(unsigned groups, const char *what, const char *subject,
                   const void *caller)
{
  int saved = errno;

  if ((groups & plan.group) == 0 || !is_ours(caller))
    return true;
  if (plan.cuts) {
    begin_step();
    errno = saved;
    return true;
  }
  seen++;
  tell(what, subject, caller);
  if (plan.signal != 0 && plan.before && seen == plan.at)
    kill_us();
  errno = saved;
  if (!plan.fails || seen < plan.at || seen >= plan.at + plan.count)
    return true;
  if (log_fd >= 0)
    (void)syscall(SYS_write, log_fd, "failed\n", 7);
  errno = plan.error;
  return false;
}

/* The call is done. */
static void after(unsigned groups, const void *caller)
{
  if (plan.cuts && (groups & plan.group) != 0 && is_ours(caller))
    end_step();
  if (plan.signal != 0 && !plan.before && (groups & plan.group) != 0 &&
      seen == plan.at && is_ours(caller))
    kill_us();
}

/* ---- the trace ---- */

#define PATH_BYTES 1024

/* The whole path of a name below an open directory, or of an open file. */
static void path_of(int fd, const char *name, char path[PATH_BYTES])
{
  char link[64];
  size_t len = 0;
  long n;

  if (fd != AT_FDCWD && (name == NULL || name[0] != '/')) {
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_BYTES - 1);
    len = n > 0 ? (size_t)n : 0;
    path[len] = '\0';
  }
  if (name != NULL)
    (void)snprintf(path + len, PATH_BYTES - len, "%s%s", len > 0 ? "/" : "",
                   name);
}

__attribute__((format(printf, 1, 2))) static void put_trace(const char *format,
                                                            ...)
{
  char line[2 * PATH_BYTES + 200];
  va_list args;
  int n;

  va_start(args, format);
  n = vsnprintf(line, sizeof(line), format, args);
  va_end(args);
  if (n > 0 && (size_t)n < sizeof(line))
    (void)syscall(SYS_write, log_fd, line, (size_t)n);
}

static bool is_traced(const void *caller)
{
  return (plan.traces || plan.cuts) && log_fd >= 0 && is_ours(caller);
}

static void copy_file(const char *path, const char *copy)
{
  char bytes[4096];
  long from, to, n;

  from = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  to =
      syscall(SYS_openat, AT_FDCWD, copy, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  while ((n = syscall(SYS_read, from, bytes, sizeof(bytes))) > 0)
    (void)syscall(SYS_write, to, bytes, n);
  (void)syscall(SYS_close, from);
  (void)syscall(SYS_close, to);
}

/* "DIRECTORY NAME" of a path. */
static void place_in(int fd, const char *name, char text[PATH_BYTES])
{
  const char *slash = strrchr(name, '/');
  char parent[PATH_BYTES];
  struct stat st = {0};

  (void)snprintf(parent, sizeof(parent), "%.*s",
                 slash != NULL ? (int)(slash - name) + 1 : 0, name);
  (void)fstatat(fd, slash != NULL ? parent : ".", &st, 0);
  (void)snprintf(text, PATH_BYTES, "%lu %s", (unsigned long)st.st_ino,
                 slash != NULL ? slash + 1 : name);
}

static void record(const char *call, int fd, const char *name)
{
  char place[PATH_BYTES] = "", link[64], copy[PATH_BYTES], target[64] = "";
  struct stat st = {0};

  if (name != NULL) {
    place_in(fd, name, place);
    (void)fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW);
  } else if (fstat(fd, &st) < 0 || S_ISSOCK(st.st_mode) ||
             S_ISFIFO(st.st_mode)) {
    return;
  }
  if (S_ISLNK(st.st_mode) &&
      readlinkat(fd, name, target, sizeof(target) - 1) < 0)
    return;
  put_trace("%lu %s%s%s %lu %o %s\n", shared->steps, call,
            name != NULL ? " " : "", place, (unsigned long)st.st_ino,
            st.st_mode & 07777, target);
  if (strcmp(call, "fsync") != 0 || !S_ISREG(st.st_mode))
    return;
  (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  (void)snprintf(copy, sizeof(copy), "%s.%lu", getenv("DX_WALK_LOG"),
                 shared->steps);
  copy_file(link, copy);
}

static void trace(const char *call, int fd, const char *name,
                  const void *caller)
{
  char path[PATH_BYTES];
  int saved = errno;

  if (!is_traced(caller))
    return;
  if (plan.cuts) {
    record(call, fd, name);
  } else {
    path_of(fd, name, path);
    put_trace("%d %s %s\n", (int)getpid(), call, path);
  }
  errno = saved;
}

static void keep_journal(const char *path)
{
  static unsigned count;
  char copy[PATH_BYTES];

  (void)snprintf(copy, sizeof(copy), "%s.%d.%u", getenv("DX_WALK_LOG"),
                 (int)getpid(), ++count);
  copy_file(path, copy);
  put_trace("%d journal %s %s\n", (int)getpid(), path, copy);
}

static void trace_rename(int from_fd, const char *from, int to_fd,
                         const char *to, const void *caller)
{
  char before[PATH_BYTES], now[PATH_BYTES];
  int saved = errno;

  if (!is_traced(caller))
    return;
  if (plan.cuts) {
    place_in(from_fd, from, before);
    place_in(to_fd, to, now);
    put_trace("%lu rename %s %s\n", shared->steps, before, now);
  } else {
    path_of(from_fd, from, before);
    path_of(to_fd, to, now);
    put_trace("%d rename %s %s\n", (int)getpid(), before, now);
    if (strcmp(to, "job.json") == 0)
      keep_journal(now);
  }
  errno = saved;
}

/* Without TLS a request is sent as it is, beginning with its first line. */
static bool is_request(const char *bytes, size_t len, char text[PATH_BYTES])
{
  char line[PATH_BYTES], method[8], path[PATH_BYTES];

  (void)snprintf(line, sizeof(line), "%.*s", (int)len, bytes);
  if (sscanf(line, "%7[A-Z] /%1000[^? ]", method, path) != 2)
    return false;
  (void)snprintf(text, PATH_BYTES, "%s /%.*s", method, PATH_BYTES - 10, path);
  return true;
}

/* ---- the calls ---- */

#define CALLER __builtin_return_address(0)

/* No step for a power cut, which takes all that was written before an fsync. */
static unsigned groups_of_write(void)
{
  return plan.cuts ? G_WRITE : G_WRITE | G_SPACE | G_FILE;
}

ssize_t write(int fd, const void *bytes, size_t len)
{
  ssize_t n;

  if (!before(groups_of_write(), "write", "", CALLER))
    return -1;
  n = syscall(SYS_write, fd, bytes, len);
  if (n > 0)
    trace("write", fd, NULL, CALLER);
  after(groups_of_write(), CALLER);
  return n;
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
  ssize_t n;

  if (!before(groups_of_write(), "pwrite", "", CALLER))
    return -1;
  n = syscall(SYS_pwrite64, fd, bytes, len, at);
  if (n > 0)
    trace("write", fd, NULL, CALLER);
  after(groups_of_write(), CALLER);
  return n;
}

/* An fsync that takes as long as on a slow disk. */
static int sync_slowly(long number, int fd, const void *caller)
{
  struct timespec until;
  int result;

  (void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &until);
  result = (int)syscall(number, fd);
  if (fsync_ms == 0 || !is_ours(caller))
    return result;
  until.tv_nsec += fsync_ms * 1000000;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  (void)syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &until,
                NULL);
  return result;
}

int fsync(int fd)
{
  int result;

  if (!before(G_FSYNC | G_FILE, "fsync", "", CALLER))
    return -1;
  result = sync_slowly(SYS_fsync, fd, CALLER);
  if (result == 0)
    trace("fsync", fd, NULL, CALLER);
  after(G_FSYNC | G_FILE, CALLER);
  return result;
}

int fdatasync(int fd)
{
  int result;

  if (!before(G_FSYNC | G_FILE, "fdatasync", "", CALLER))
    return -1;
  result = sync_slowly(SYS_fdatasync, fd, CALLER);
  if (result == 0)
    trace("fsync", fd, NULL, CALLER);
  after(G_FSYNC | G_FILE, CALLER);
  return result;
}

static unsigned groups_of_rename(const char *from, const char *to)
{
  unsigned groups = G_RENAME | G_SPACE | G_FILE;
  size_t len = strlen(to);

  if (strcmp(to, "job.json") == 0 || strncmp(from, "incoming/", 9) == 0 ||
      strncmp(from, "received/", 9) == 0)
    return groups | G_JOURNAL;
  if (len > 5 && strcmp(to + len - 5, ".json") == 0)
    return groups | G_RESULT;
  return groups;
}

static int do_rename(int from_fd, const char *from, int to_fd, const char *to,
                     unsigned flags, const void *caller)
{
  unsigned groups = groups_of_rename(from, to);
  int result;

  if (!before(groups, "rename", to, caller))
    return -1;
  result = (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
  if (result == 0) {
    journals += (groups & G_JOURNAL) != 0;
    trace_rename(from_fd, from, to_fd, to, caller);
  }
  after(groups, caller);
  return result;
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to,
              unsigned flags)
{
  return do_rename(from_fd, from, to_fd, to, flags, CALLER);
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
  return do_rename(from_fd, from, to_fd, to, 0, CALLER);
}

int rename(const char *from, const char *to)
{
  return do_rename(AT_FDCWD, from, AT_FDCWD, to, 0, CALLER);
}

static int do_open(int dirfd, const char *path, int flags, mode_t mode,
                   const void *caller)
{
  unsigned groups =
      (flags & O_CREAT) != 0 ? G_OPEN | G_CREATE | G_SPACE | G_FILE : G_OPEN;
  int fd;

  if (!before(groups, "open", path, caller))
    return -1;
  fd = (int)syscall(SYS_openat, dirfd, path, flags, mode);
  if (fd >= 0 && (flags & O_CREAT) != 0)
    trace("create", dirfd, path, caller);
  after(groups, caller);
  return fd;
}

static mode_t mode_of(int flags, va_list args)
{
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
  va_list args;
  mode_t mode;

  va_start(args, flags);
  mode = mode_of(flags, args);
  va_end(args);
  return do_open(AT_FDCWD, path, flags, mode, CALLER);
}

int openat(int dirfd, const char *path, int flags, ...)
{
  va_list args;
  mode_t mode;

  va_start(args, flags);
  mode = mode_of(flags, args);
  va_end(args);
  return do_open(dirfd, path, flags, mode, CALLER);
}

/* What _FORTIFY_SOURCE makes of them. */
int __open_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);

int __open_2(const char *path, int flags)
{
  return do_open(AT_FDCWD, path, flags, 0, CALLER);
}

int __openat_2(int dirfd, const char *path, int flags)
{
  return do_open(dirfd, path, flags, 0, CALLER);
}

/* The names that programs with large files use. */
int __open64_2(const char *path, int flags) __attribute__((alias("__open_2")));
int __openat64_2(int dirfd, const char *path, int flags)
    __attribute__((alias("__openat_2")));
int open64(const char *path, int flags, ...) __attribute__((alias("open")));
int openat64(int dirfd, const char *path, int flags, ...)
    __attribute__((alias("openat")));
ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t at)
    __attribute__((alias("pwrite")));

int mkdirat(int dirfd, const char *path, mode_t mode)
{
  int result;

  if (!before(G_MKDIR | G_SPACE | G_FILE, "mkdir", path, CALLER))
    return -1;
  result = (int)syscall(SYS_mkdirat, dirfd, path, mode);
  if (result == 0)
    trace("mkdir", dirfd, path, CALLER);
  after(G_MKDIR | G_SPACE | G_FILE, CALLER);
  return result;
}

int symlinkat(const char *text, int dirfd, const char *path)
{
  int result;

  if (!before(G_CREATE | G_SPACE | G_FILE, "symlink", path, CALLER))
    return -1;
  result = (int)syscall(SYS_symlinkat, text, dirfd, path);
  if (result == 0)
    trace("symlink", dirfd, path, CALLER);
  after(G_CREATE | G_SPACE | G_FILE, CALLER);
  return result;
}

int unlinkat(int dirfd, const char *path, int flags)
{
  int result;

  if (!before(G_REMOVE | G_FILE, "remove", path, CALLER))
    return -1;
  result = (int)syscall(SYS_unlinkat, dirfd, path, flags);
  if (result == 0)
    trace((flags & AT_REMOVEDIR) != 0 ? "rmdir" : "unlink", dirfd, path,
          CALLER);
  after(G_REMOVE | G_FILE, CALLER);
  return result;
}

/* libcurl's, which has no other way to a socket. */
ssize_t send(int fd, const void *bytes, size_t len, int flags)
{
  char text[PATH_BYTES];
  ssize_t n;

  if ((!plan.traces && !plan.cuts) || log_fd < 0 ||
      !is_request(bytes, len, text))
    return syscall(SYS_sendto, fd, bytes, len, flags, NULL, 0);
  if (plan.cuts)
    begin_step();
  put_trace("%lu send %s\n",
            plan.cuts ? shared->steps : (unsigned long)getpid(), text);
  n = syscall(SYS_sendto, fd, bytes, len, flags, NULL, 0);
  if (plan.cuts)
    end_step();
  return n;
}

/* ---- memory ---- */

/* Which allocation it is: by which call path, and in which state of the
 * journal. An array's items are alike. */
static void identify(char text[32])
{
  void *frames[FRAMES_MAX];
  uint64_t hash = 14695981039346656037u; /* FNV-1a */
  int i, n = backtrace(frames, FRAMES_MAX);

  for (i = 0; i < n; i++)
    hash = (hash ^ place_of(frames[i])) * 1099511628211u;
  (void)snprintf(text, 32, "%u/%016" PRIx64, journals, hash);
}

static bool before_memory(const char *what, const void *caller)
{
  char text[32] = "";

  if (plan.identifies && is_ours(caller))
    identify(text);
  return before(G_MEMORY, what, text, caller);
}

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
  return before_memory("malloc", CALLER) ? __libc_malloc(size) : NULL;
}

void *calloc(size_t count, size_t size)
{
  return before_memory("calloc", CALLER) ? __libc_calloc(count, size) : NULL;
}

void *realloc(void *old, size_t size)
{
  return before_memory("realloc", CALLER) ? __libc_realloc(old, size) : NULL;
}

static char *copy(const char *text, size_t len)
{
  char *fresh = __libc_malloc(len + 1);

  if (fresh == NULL)
    return NULL;
  memcpy(fresh, text, len);
  fresh[len] = '\0';
  return fresh;
}

char *strdup(const char *text)
{
  return before_memory("strdup", CALLER) ? copy(text, strlen(text)) : NULL;
}

char *strndup(const char *text, size_t len)
{
  return before_memory("strndup", CALLER) ? copy(text, strnlen(text, len))
                                          : NULL;
}

/* ---- time ---- */

/* The same for all processes: what one of them left in a file still fits. */
int clock_gettime(clockid_t id, struct timespec *ts)
{
  int result = (int)syscall(SYS_clock_gettime, id, ts);

  if (result == 0 && id == CLOCK_BOOTTIME && is_ours(CALLER)) {
    int64_t ns = ((int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec) * speed;

    ts->tv_sec = (time_t)(ns / 1000000000);
    ts->tv_nsec = (long)(ns % 1000000000);
  }
  return result;
}

static int shorter(int timeout_ms)
{
  return timeout_ms <= 0 ? timeout_ms : (int)((timeout_ms + speed - 1) / speed);
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
  static int (*real)(struct pollfd *, nfds_t, int);

  if (real == NULL)
    *(void **)&real = dlsym(RTLD_NEXT, "poll");
  return real(fds, count, is_ours(CALLER) ? shorter(timeout_ms) : timeout_ms);
}

/* libcurl's, without its header: this library goes into any program. */
int curl_multi_poll(void *multi, void *fds, unsigned count, int timeout_ms,
                    int *ret_count);

int curl_multi_poll(void *multi, void *fds, unsigned count, int timeout_ms,
                    int *ret_count)
{
  static int (*real)(void *, void *, unsigned, int, int *);

  if (real == NULL)
    *(void **)&real = dlsym(RTLD_NEXT, "curl_multi_poll");
  return real(multi, fds, count, shorter(timeout_ms), ret_count);
}
