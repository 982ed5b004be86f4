/*
 * postscript.c - the comments of a document, Ghostscript, and its messages.
 */
#include "filter/postscript.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/isolate.h"
#include "filter/options.h"
#include "lib/base/fs.h"
#include "lib/base/policy.h"
#include "lib/base/sandbox.h"

#define CANNOT_RUN                                          \
  66 /* exit status of the child; Ghostscript has 1 and 255 \
      */
#define NO_SANDBOX 67

#define DOS_EPS_HEADER 30

/* Of the pages of a document that does not set their size, in points: one for
 * A4 must not lose its top on Letter, nor one for Letter its right side on A4.
 */
#define PAGE_WIDTH_MIN 612
#define PAGE_HEIGHT_MIN 842
#define AREA_MAX 14400 /* points, in each direction; 5 m */

/* A figure with a preview for Windows: where the PostScript is, and its size,
 * are in its header. Ghostscript reads that, too. */
static const char dos_eps[] = "\xC5\xD0\xD3\xC6";

static bool begins_dos_eps(const char *text, size_t len)
{
  return len >= DOS_EPS_HEADER && memcmp(text, dos_eps, 4) == 0;
}

static size_t dos_eps_number(const char *text, size_t at)
{
  const unsigned char *b = (const unsigned char *)text + at;

  return b[0] | (size_t)b[1] << 8 | (size_t)b[2] << 16 | (size_t)b[3] << 24;
}

bool postscript_begins(const void *bytes, size_t len, size_t *ret_start)
{
  static const char uel[] = "\033%-12345X";
  const char *text = bytes, *found;
  size_t at = 0;

  *ret_start = 0;
  if (begins_dos_eps(text, len))
    return true;
  while (at < len && strchr("\004\r\n \t", text[at]) != NULL &&
         text[at] != '\0')
    at++;
  if (len - at >= sizeof(uel) - 1 &&
      memcmp(text + at, uel, sizeof(uel) - 1) == 0) {
    do {
      at++; /* to the next one at the start of a line, or behind a Ctrl-D */
      found = memmem(text + at, len - at, "%!", 2);
      if (found == NULL)
        return false;
      at = (size_t)(found - text);
    } while (memchr("\004\r\n", found[-1], 3) == NULL);
  }
  *ret_start = at;
  return len - at >= 2 && memcmp(text + at, "%!", 2) == 0;
}

/* ---- the comments ---- */

struct comments {
  bool is_cut;     /* the file ends before its PostScript */
  bool structured; /* "%!PS-Adobe" */
  bool is_figure;  /* EPSF: made for inclusion, often without comments */
  bool states_pages, states_at_end;
  bool has_trailer, has_end;
  bool refers_to_end; /* a comment does: "(atend)" */
  bool ends_line;     /* its last byte does */
  bool has_code;      /* not only comments */
  long pages;
  long open; /* sections that have begun */
  int area[4];
};

struct line {
  const char *text;
  size_t len;
};

/* The next line; false at the end. CR, LF, and CR LF end a line. */
static bool next_line(const char **at, const char *end, struct line *line)
{
  const char *c = *at;

  if (c == end)
    return false;
  line->text = c;
  while (c < end && *c != '\r' && *c != '\n')
    c++;
  line->len = (size_t)(c - line->text);
  if (c < end)
    c += *c == '\r' && c + 1 < end && c[1] == '\n' ? 2 : 1;
  *at = c;
  return true;
}

static bool is(const struct line *line, const char *comment)
{
  size_t len = strlen(comment);

  return line->len >= len && memcmp(line->text, comment, len) == 0;
}

/* "%%Pages: 3", or "(atend)". In version 1, the order of pages follows. */
static void read_pages(const struct line *line, struct comments *c)
{
  char value[16] = "", *end;
  size_t at = strlen("%%Pages:");

  while (at < line->len && (line->text[at] == ' ' || line->text[at] == '\t'))
    at++;
  (void)snprintf(value, sizeof(value), "%.*s",
                 (int)(line->len - at < 15 ? line->len - at : 15),
                 line->text + at);
  if (strncmp(value, "(atend)", 7) == 0) {
    c->states_at_end = true;
  } else if (isdigit((unsigned char)value[0])) {
    c->pages = strtol(value, &end, 10);
    c->states_pages = true;
  }
}

static int limited(double points)
{
  return !(fabs(points) <= AREA_MAX) ? 0
         : points < 0                ? (int)floor(points)
                                     : (int)ceil(points);
}

/* "%%BoundingBox: 0 0 595 842", "%%DocumentMedia: A4 595 842 0 () ()": the area
 * grows. What refers to the end ("(atend)") has no numbers. */
static void read_area(const struct line *line, struct comments *c)
{
  double box[4] = {0};
  char text[128];
  int i;

  (void)snprintf(text, sizeof(text), "%.*s",
                 (int)(line->len < sizeof(text) ? line->len : sizeof(text)),
                 line->text);
  if (sscanf(text, "%%%%DocumentMedia: %*s %lf %lf", &box[2], &box[3]) != 2 &&
      sscanf(text, "%%%%BoundingBox: %lf %lf %lf %lf", &box[0], &box[1],
             &box[2], &box[3]) != 4 &&
      sscanf(text, "%%%%PageBoundingBox: %lf %lf %lf %lf", &box[0], &box[1],
             &box[2], &box[3]) != 4)
    return;
  for (i = 0; i < 4; i++)
    if (i < 2 ? limited(box[i]) < c->area[i] : limited(box[i]) > c->area[i])
      c->area[i] = limited(box[i]);
}

/* The comments of documents inside this one do not count. */
static struct comments read_comments(const char *text, size_t len)
{
  const char *at = text, *end = text + len;
  struct comments c = {0};
  bool in_header = true;
  long depth = 0;
  struct line line;

  if (!next_line(&at, end, &line) || !is(&line, "%!PS-Adobe"))
    return c;
  c.structured = true;
  c.is_figure = memmem(line.text, line.len, "EPSF", 4) != NULL;
  c.ends_line = end[-1] == '\r' || end[-1] == '\n';
  while (next_line(&at, end, &line)) {
    if (line.len == 0 || line.text[0] != '%' || is(&line, "%%EndComments"))
      in_header = false;
    if (in_header && memmem(line.text, line.len, "(atend)", 7) != NULL)
      c.refers_to_end = true;
    if (line.len > 0 && line.text[0] != '%')
      c.has_code = true;
    else if (is(&line, "%%Begin"))
      c.open++;
    else if (is(&line, "%%End") && !is(&line, "%%EndComments") && c.open > 0)
      c.open--;
    if (is(&line, "%%BeginDocument"))
      depth++;
    else if (is(&line, "%%EndDocument") && depth > 0)
      depth--;
    else if (is(&line, "%%Pages:") && depth == 0 &&
             (in_header || c.states_at_end))
      read_pages(&line, &c);
    else if (is(&line, "%%EOF") && depth == 0)
      c.has_end = true;
    else if (is(&line, "%%Trailer") && depth == 0)
      c.has_trailer = true;
    if (is(&line, "%%") && depth == 0)
      read_area(&line, &c);
  }
  return c;
}

static bool comments_of(const struct pdf_task *task, struct comments *ret)
{
  off_t start = lseek(task->in_fd, 0, SEEK_CUR);
  size_t len, size, at = (size_t)start;
  char *text = dx_fs_map(task->in_fd, &len);

  if (text == NULL || start < 0 || at > len)
    return false;
  size = len - at;
  if (begins_dos_eps(text + at, size)) {
    at = dos_eps_number(text, 4);
    size = dos_eps_number(text, 8);
  }
  *ret = at <= len && size <= len - at ? read_comments(text + at, size)
                                       : (struct comments){.is_cut = true};
  (void)munmap(text, len);
  return true;
}

static enum dx_reason end_is_missing(struct pdf_done *done)
{
  (void)snprintf(done->why, sizeof(done->why), "its end is missing");
  return DX_REASON_INCOMPLETE;
}

enum dx_reason postscript_check(const struct pdf_task *task,
                                struct pdf_done *done)
{
  struct comments c;

  if (!comments_of(task, &c))
    return DX_REASON_TROUBLE;
  if (c.is_cut ||
      (!c.states_pages &&
       (c.states_at_end || (c.structured && !c.is_figure && !c.has_end))))
    return end_is_missing(done);
  done->pages = c.pages > 0 && c.pages <= DX_PAGES_MAX ? (int)c.pages : 1;
  if (!c.is_figure) /* what is left of its page is not printed */
    c.area[0] = c.area[1] = 0;
  memcpy(done->area, c.area, sizeof(done->area));
  return DX_REASON_NONE;
}

/* For run_isolated(), after an error, which a missing end may have caused, or
 * if the number of pages is unknown. */
static enum dx_reason check_end(const struct pdf_task *task,
                                struct pdf_done *done)
{
  struct comments c;

  if (!comments_of(task, &c))
    return DX_REASON_TROUBLE;
  done->pages = 1;
  return c.structured && !c.has_end ? end_is_missing(done) : DX_REASON_NONE;
}

static enum dx_reason end_is_unknown(struct pdf_done *done)
{
  (void)snprintf(done->why, sizeof(done->why), "its end cannot be recognized");
  return DX_REASON_POSTSCRIPT;
}

/* For run_isolated(), if something was begun behind the last page, and perhaps
 * cut: only comments can tell that it is not another page. */
static enum dx_reason check_last_page(const struct pdf_task *task,
                                      struct pdf_done *done)
{
  struct comments c;

  if (!comments_of(task, &c))
    return DX_REASON_TROUBLE;
  return c.structured ? DX_REASON_NONE : end_is_unknown(done);
}

/* For run_isolated(), if no page was ended: a figure need not do that, and
 * Ghostscript then writes what is drawn. */
static enum dx_reason check_figure(const struct pdf_task *task,
                                   struct pdf_done *done)
{
  struct comments c;

  if (!comments_of(task, &c))
    return DX_REASON_TROUBLE;
  if (!c.is_figure)
    return end_is_missing(done);
  done->pages = 1;
  return c.has_end || c.has_trailer ? DX_REASON_NONE : end_is_unknown(done);
}

/* The same, if the stacks are as they were before: figures must leave them so,
 * and what is cut within a drawing seldom does. */
static enum dx_reason check_restored_figure(const struct pdf_task *task,
                                            struct pdf_done *done)
{
  struct comments c;

  if (!comments_of(task, &c))
    return DX_REASON_TROUBLE;
  if (!c.is_figure || !c.ends_line || !c.has_code || c.refers_to_end ||
      c.open > 0)
    return check_figure(task, done);
  done->pages = 1;
  return DX_REASON_NONE;
}

/* ---- Ghostscript ---- */

/* Errors of PostScript. Other texts of Ghostscript may quote the document. */
static const char *const errors[] = {"VMerror",
                                     "configurationerror",
                                     "dictfull",
                                     "dictstackoverflow",
                                     "dictstackunderflow",
                                     "execstackoverflow",
                                     "handleerror",
                                     "interrupt",
                                     "invalidaccess",
                                     "invalidexit",
                                     "invalidfileaccess",
                                     "invalidfont",
                                     "invalidrestore",
                                     "ioerror",
                                     "limitcheck",
                                     "nocurrentpoint",
                                     "rangecheck",
                                     "stackoverflow",
                                     "stackunderflow",
                                     "syntaxerror",
                                     "timeout",
                                     "typecheck",
                                     "undefined",
                                     "undefinedfilename",
                                     "undefinedresource",
                                     "undefinedresult",
                                     "unmatchedmark",
                                     "unregistered"};

/* Printed when the document has ended, by end_code, or has ended Ghostscript
 * itself, by begin_code. */
#define PAGES "docextract-pages: "
#define PRINT_PAGES \
  "systemdict begin (" PAGES ") print currentpagedevice /PageCount get =only "
static const char begin_code[] =
    "userdict /quit {" PRINT_PAGES "( quit) = flush end systemdict /quit get "
    "exec} bind put";
static const char end_code[] = PRINT_PAGES
    "( ) print count 0 eq countdictstack 4 eq and =only ( ) print "
    "count 0 ne {currentpoint} stopped {false} {pop pop true} ifelse or = "
    "flush end";

/* The last messages of Ghostscript. */
struct messages {
  bool failed;       /* an error handler of the document has reported an error,
                        perhaps without an exit status */
  const char *error; /* NULL: none, or unknown */
  int pages;         /* that the document has ended; -1: unknown */
  bool quits;        /* it has ended Ghostscript itself */
  bool restored;     /* nothing is left on its operand and dictionary stacks */
  bool has_begun;    /* operands or a path are left behind the last page */
  bool lacks_font;   /* of which another one has other characters */
};

/* The text behind the last occurrence; NULL: there is none. */
static const char *behind_last(const char *text, size_t len, const char *what)
{
  const char *last = NULL, *found = text, *end = text + len;
  size_t size = strlen(what);

  while ((found = memmem(found, (size_t)(end - found), what, size)) != NULL) {
    found += size;
    last = found;
  }
  return last;
}

/* True if this font has other characters than letters have: a font of East
 * Asia, whose name ends with the direction of its text, of which Ghostscript
 * shows each byte as a letter of Courier; or a font of symbols or barcodes, in
 * which a letter is, for example, a check mark. */
static bool has_other_characters(const char *font)
{
  static const char *const words[] = {"dings",    "dingbats", "Marlett",
                                      "MT Extra", "MT-Extra", "MTExtra",
                                      "barcode",  "Code39",   "Code128"};
  size_t len = strlen(font), i;

  if (len > 2 && font[len - 2] == '-' &&
      (font[len - 1] == 'H' || font[len - 1] == 'V'))
    return true;
  for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
    if (strcasestr(font, words[i]) != NULL)
      return true;
  return false;
}

/* True if such a font was replaced by one of letters ("Substituting font
 * Courier for Wingdings."). In other fonts, the same letters have another
 * shape. */
static bool lacks_font(const char *text, size_t len)
{
  static const char begin[] = "Substituting font ";
  const char *at = text;
  char used[160], font[160];

  while ((at = memmem(at, len - (size_t)(at - text), begin, strlen(begin))) !=
         NULL) {
    at += strlen(begin);
    if (sscanf(at, "%159s for %159[^\r\n]", used, font) == 2 &&
        strcmp(used, "Symbol") != 0 && strcmp(used, "ZapfDingbats") != 0) {
      font[strlen(font) - 1] = '\0'; /* a period */
      if (has_other_characters(font))
        return true;
    }
  }
  return false;
}

static struct messages read_messages(int fd)
{
  static char text[65536];
  struct messages m = {.pages = -1, .quits = true};
  off_t size = lseek(fd, 0, SEEK_END);
  off_t from = size >= (off_t)sizeof(text) ? size - (off_t)sizeof(text) + 1 : 0;
  ssize_t n = pread(fd, text, sizeof(text) - 1, from);
  size_t len = n > 0 ? (size_t)n : 0, i;
  const char *found;
  char *end;

  text[len] = '\0';
  found = behind_last(text, len, PAGES);
  if (found != NULL && isdigit((unsigned char)*found)) {
    m.pages = (int)(strtol(found, &end, 10) % (DX_PAGES_MAX + 1));
    m.quits = strncmp(end, " quit", 5) == 0;
    m.restored = strncmp(end, " true", 5) == 0;
    m.has_begun = strncmp(strchrnul(end + 1, ' '), " true", 5) == 0;
  }
  m.failed = behind_last(text, len, "%%[ Error") != NULL;
  m.lacks_font = lacks_font(text, len);
  found = behind_last(text, len, "Error: /");
  for (i = 0; found != NULL && i < sizeof(errors) / sizeof(errors[0]); i++)
    if (strncmp(found, errors[i], strlen(errors[i])) == 0 &&
        !isalpha((unsigned char)found[strlen(errors[i])]))
      m.error = errors[i];
  return m;
}

struct run {
  const struct pdf_task *task;
  const int *area; /* as in struct pdf_done */
  int messages_fd;
  char dir[PATH_MAX]; /* for the temporary files of Ghostscript */
  struct isolate_limits limits;
  sigset_t signals;
};

/* The width or height of a page, from the option of the print job, and from
 * what the document states. */
static int page_side(double option, double least, double from, double to)
{
  return (int)fmin(fmax(fmax(option, least), to - from), 2 * AREA_MAX);
}

/* The same options as those of CUPS's gstopdf, but without DoNumCopies; without
 * QUIET, for messages about fonts; with NOEPS, so that the page of a figure
 * does not count as ended; and images of any color space keep their pixels. */
static void run_ghostscript(const struct run *run, pid_t parent)
{
  static const char program[] = DX_GHOSTSCRIPT;
  const struct options *options = run->task->options;
  const int *area = run->area;
  char width[64], height[64], begin[sizeof(begin_code) + 64];
  char temp[PATH_MAX + 16];
  const char *const words[] = {"gs",
                               "-dSAFER",
                               "-dNOPAUSE",
                               "-dBATCH",
                               "-dNOINTERPOLATE",
                               "-dNOMEDIAATTRS",
                               "-dNOEPS",
                               "-sstdout=%stderr",
                               "-sOutputFile=%stdout",
                               "-sDEVICE=pdfwrite",
                               "-dCompatibilityLevel=1.3",
                               "-dAutoRotatePages=/None",
                               "-dAutoFilterColorImages=false",
                               "-dColorImageFilter=/FlateEncode",
                               "-dAutoFilterGrayImages=false",
                               "-dGrayImageFilter=/FlateEncode",
                               "-dNOPLATFONTS",
                               "-dPDFSETTINGS=/default",
                               "-dColorConversionStrategy=/LeaveColorUnchanged",
                               "-r300x300",
                               width,
                               height,
                               "-I/usr/share/cups/fonts",
                               "-c",
                               begin,
                               "-_",
                               "-c",
                               end_code,
                               NULL};
  char *const environment[] = {(char *)"PATH=/usr/bin:/bin",
                               (char *)"LC_ALL=C.UTF-8", temp, NULL};
  int fds[] = {run->task->in_fd, run->task->out_fd, run->messages_fd}, i;
  unsigned layers;

  (void)snprintf(
      width, sizeof(width), "-dDEVICEWIDTHPOINTS=%d",
      page_side(options->page_width, PAGE_WIDTH_MIN, area[0], area[2]));
  (void)snprintf(
      height, sizeof(height), "-dDEVICEHEIGHTPOINTS=%d",
      page_side(options->page_height, PAGE_HEIGHT_MIN, area[1], area[3]));
  (void)snprintf(begin, sizeof(begin), "%s %.0f %.0f translate", begin_code,
                 -(double)area[0], -(double)area[1]);
  (void)snprintf(temp, sizeof(temp), "TMPDIR=%s", run->dir);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)signal(SIGPIPE, SIG_DFL);
  if (getppid() != parent || chdir("/") != 0)
    _exit(CANNOT_RUN);
  for (i = 0; i < 3; i++)
    if (dup2(fds[i], i) != i) /* the others are above 2, and close by exec */
      _exit(CANNOT_RUN);
  if (close_range(3, ~0U, 0) != 0 || !isolate_limit(&run->limits))
    _exit(CANNOT_RUN);
  layers = dx_sandbox_enter_program(run->dir);
  if ((layers & DX_SANDBOX_SECCOMP) == 0 && !run->task->sandbox_optional)
    _exit(NO_SANDBOX);
  (void)sigprocmask(SIG_SETMASK, &run->signals, NULL);
  (void)execve(program, (char *const *)words, environment);
  _exit(CANNOT_RUN);
}

static enum dx_reason run_wait(const struct run *run, pid_t child,
                               int64_t limit_ms, struct pdf_done *done,
                               struct messages *ret)
{
  struct messages messages;
  enum dx_reason reason;
  int status = 0;

  reason = isolate_wait(child, limit_ms, &run->limits, run->task->most_bytes,
                        &status);
  if (reason == DX_REASON_DAMAGED) /* it crashed */
    reason = DX_REASON_POSTSCRIPT;
  if (reason != DX_REASON_NONE)
    return reason;
  if (status == NO_SANDBOX)
    return DX_REASON_SANDBOX;
  if (status == CANNOT_RUN) {
    (void)snprintf(done->why, sizeof(done->why),
                   "Ghostscript (%s) cannot be started: install ghostscript",
                   DX_GHOSTSCRIPT);
    return DX_REASON_TROUBLE;
  }
  messages = read_messages(run->messages_fd);
  done->pages = messages.pages;
  *ret = messages;
  if (status == 0 && !messages.failed && messages.lacks_font)
    messages.error = "invalidfont";
  else if (status == 0 && !messages.failed)
    return DX_REASON_NONE;
  if (messages.error != NULL)
    (void)snprintf(done->why, sizeof(done->why), "PostScript error '%s'",
                   messages.error);
  return DX_REASON_POSTSCRIPT;
}

static void remove_scratch(const char *path)
{
  DIR *dir = opendir(path);
  const struct dirent *entry;

  while (dir != NULL && (entry = readdir(dir)) != NULL)
    (void)unlinkat(dirfd(dir), entry->d_name, 0);
  if (dir != NULL)
    (void)closedir(dir);
  (void)rmdir(path);
}

static enum dx_reason ghostscript(const struct pdf_task *task,
                                  const char *temp_dir, int64_t limit_ms,
                                  struct pdf_done *done, struct messages *ret)
{
  struct run run = {
      .task = task, .area = done->area, .messages_fd = task->spare_fd};
  enum dx_reason reason = DX_REASON_TROUBLE;
  pid_t parent = getpid(), child;
  struct stat st;
  int n;

  n = snprintf(run.dir, sizeof(run.dir), "%s/docextract-gs.XXXXXX", temp_dir);
  if (n < 0 || (size_t)n >= sizeof(run.dir) || fstat(task->in_fd, &st) < 0)
    return reason;
  run.limits.memory_bytes = (rlim_t)DX_PROGRAM_MEMORY_BYTES;
  run.limits.cpu_s = (rlim_t)(limit_ms / 1000 + 1);
  run.limits.file_bytes =
      (rlim_t)(DX_PARSE_FILE_BYTES + DX_PARSE_FILE_FACTOR * st.st_size);
  isolate_block(&run.signals);
  if (mkdtemp(run.dir) != NULL) {
    child = fork();
    if (child == 0)
      run_ghostscript(&run, parent);
    if (child > 0)
      reason = run_wait(&run, child, limit_ms, done, ret);
    remove_scratch(run.dir);
  }
  (void)sigprocmask(SIG_SETMASK, &run.signals, NULL);
  return reason;
}

/* ---- both ---- */

enum dx_reason postscript_to_pdf(const struct pdf_task *task, size_t start,
                                 const char *temp_dir, int64_t limit_ms,
                                 struct pdf_done *ret_done)
{
  isolated_work *work = NULL;
  struct pdf_task read = *task;
  enum dx_reason reason, checked;
  struct messages messages = {0};
  struct pdf_done done;
  int least;

  /* The offset is that of all processes. */
  if (lseek(task->in_fd, (off_t)start, SEEK_SET) < 0)
    return DX_REASON_TROUBLE;
  read.out_fd = read.spare_fd = -1;
  reason = run_isolated(postscript_check, &read, limit_ms, ret_done);
  if (reason != DX_REASON_NONE)
    return reason;
  least = ret_done->pages;
  reason = ghostscript(task, temp_dir, limit_ms, ret_done, &messages);
  if (reason == DX_REASON_NONE && ret_done->pages > 0 &&
      ret_done->pages < least) {
    (void)snprintf(ret_done->why, sizeof(ret_done->why),
                   "it has only %d of %d pages", ret_done->pages, least);
    return DX_REASON_INCOMPLETE;
  }
  if (reason == DX_REASON_POSTSCRIPT ||
      (reason == DX_REASON_NONE && messages.quits))
    work = check_end;
  else if (reason == DX_REASON_NONE && ret_done->pages == 0)
    work = messages.restored ? check_restored_figure : check_figure;
  else if (reason == DX_REASON_NONE && messages.has_begun)
    work = check_last_page;
  if (work == NULL)
    return reason;
  if (lseek(task->in_fd, (off_t)start, SEEK_SET) < 0)
    return DX_REASON_TROUBLE;
  checked = run_isolated(work, &read, limit_ms, &done);
  if (checked == DX_REASON_NONE)
    return reason;
  *ret_done = done;
  return checked;
}
