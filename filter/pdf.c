/*
 * pdf.c - libqpdf, through its C API. The only other files that may call it are
 * separated.c, strip.c, walk.c, and whole.c.
 *
 * The C API takes names of files; libc.h has names for open ones.
 */
#include "filter/pdf.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <qpdf/qpdf-c.h>

#include "filter/libc.h"
#include "filter/separated.h"
#include "filter/strip.h"
#include "filter/tail.h"
#include "filter/whole.h"
#include "lib/base/policy.h"

#define NOTE_KEY "/DocextractRefused" /* pdftopdf keeps the catalog */

/* A PDF that is open. */
struct document {
  qpdf_data pdf;
  int pages;
  bool repaired; /* it has defects that do not matter to its pages */
};

/* Prints nothing: the messages of qpdf may quote the document. */
static qpdf_data new_pdf(void)
{
  qpdf_data pdf = qpdf_init();

  qpdf_set_suppress_warnings(pdf, QPDF_TRUE);
  qpdf_silence_errors(pdf);
  return pdf;
}

/*
 * The reason for the last error; NONE if there was none. To qpdf a "system
 * error" is a full disk when it writes, but a number that is too large when it
 * reads: `system` says which.
 */
static enum dx_reason reason_of(qpdf_data pdf, enum dx_reason system)
{
  qpdf_error error = qpdf_get_error(pdf);

  if (error == NULL)
    return DX_REASON_NONE;
  switch (qpdf_get_error_code(pdf, error)) {
  case qpdf_e_password:
  case qpdf_e_unsupported: /* only methods of encryption are */
    return DX_REASON_PASSWORD;
  case qpdf_e_internal: /* std::bad_alloc and its like */
    return DX_REASON_TROUBLE;
  case qpdf_e_system:
    return system;
  default:
    return DX_REASON_DAMAGED;
  }
}

/* What pdf_write_note() stored; NONE in any other PDF. */
static enum dx_reason noted_reason(qpdf_data pdf)
{
  qpdf_oh note = qpdf_oh_get_key(pdf, qpdf_get_root(pdf), NOTE_KEY);
  const char *name = qpdf_oh_is_name(pdf, note) == QPDF_TRUE
                         ? qpdf_oh_get_name(pdf, note)
                         : "/";
  enum dx_reason reason = dx_reason_by_word(name + 1);

  return reason != DX_REASON_COUNT ? reason : DX_REASON_NONE;
}

/* Without recovery: what libqpdf would guess differs between its versions. */
static enum dx_reason read_strictly(qpdf_data pdf, int fd)
{
  char path[LIBC_PATH_BYTES];

  libc_path(fd, path);
  qpdf_set_attempt_recovery(pdf, QPDF_FALSE);
  (void)qpdf_read(pdf, path, NULL);
  return reason_of(pdf, DX_REASON_DAMAGED);
}

static enum dx_reason read_document(struct document *d,
                                    const struct pdf_task *task)
{
  enum dx_reason reason = read_strictly(d->pdf, task->in_fd);

  if (reason == DX_REASON_NONE && tail_is_cut(task->in_fd))
    return DX_REASON_DAMAGED;
  if (reason != DX_REASON_DAMAGED || task->spare_fd <= 0 ||
      !tail_repair(task->in_fd, task->spare_fd))
    return reason;
  d->repaired = true;
  qpdf_cleanup(&d->pdf);
  d->pdf = new_pdf();
  return read_strictly(d->pdf, task->spare_fd);
}

/* To be closed even on failure. */
static enum dx_reason open_document(struct document *d,
                                    const struct pdf_task *task)
{
  enum dx_reason reason;
  bool defects = false;

  *d = (struct document){.pdf = new_pdf()};
  reason = read_document(d, task);
  if (reason == DX_REASON_NONE)
    reason = whole_pages(d->pdf, &d->pages, &defects);
  d->repaired = d->repaired || defects;
  if (reason != DX_REASON_NONE)
    return reason;
  reason = reason_of(d->pdf, DX_REASON_DAMAGED);
  if (reason != DX_REASON_NONE)
    return reason;
  return d->pages > 0 ? noted_reason(d->pdf) : DX_REASON_NO_PAGES;
}

/* Stripped like the documents that it is compared with. */
static bool open_separator(qpdf_data pdf, int fd)
{
  char path[LIBC_PATH_BYTES];
  int removed;

  libc_path(fd, path);
  return (qpdf_read(pdf, path, NULL) & QPDF_ERRORS) == 0 &&
         qpdf_get_num_pages(pdf) == 1 &&
         strip_pdf(pdf, &removed) == DX_REASON_NONE;
}

static bool append_page(qpdf_data pdf, qpdf_data from, qpdf_oh page)
{
  return (qpdf_add_page(pdf, from, page, QPDF_FALSE) & QPDF_ERRORS) == 0;
}

/*
 * Empties the list of pages, after copying inherited attributes to each page.
 * Calling qpdf_remove_page() for each would take quadratic time.
 */
static bool empty_list(qpdf_data pdf)
{
  qpdf_oh tree = qpdf_oh_get_key(pdf, qpdf_get_root(pdf), "/Pages");

  if ((qpdf_push_inherited_attributes_to_page(pdf) & QPDF_ERRORS) != 0)
    return false;
  qpdf_oh_replace_key(pdf, tree, "/Kids", qpdf_oh_new_array(pdf));
  qpdf_oh_replace_key(pdf, tree, "/Count", qpdf_oh_new_integer(pdf, 0));
  return (qpdf_update_all_pages_cache(pdf) & QPDF_ERRORS) == 0;
}

/*
 * Removes all pages and appends them again with the separator between them:
 * qpdf renumbers the pages that follow an insertion, which would take quadratic
 * time.
 */
static bool deal_pages(qpdf_data pdf, qpdf_data separator, int every,
                       qpdf_oh *pages, int count)
{
  qpdf_oh page = qpdf_get_page_n(separator, 0);
  bool ok;
  int i;

  for (i = 0; i < count; i++)
    pages[i] = qpdf_get_page_n(pdf, (size_t)i);
  ok = empty_list(pdf);
  for (i = 0; i < count && ok; i++) {
    if (i > 0 && i % every == 0)
      ok = append_page(pdf, separator, page);
    ok = ok && append_page(pdf, pdf, pages[i]);
  }
  return ok;
}

/* done->pages is updated. */
static enum dx_reason insert_separators(qpdf_data pdf, qpdf_data separator,
                                        const struct pdf_task *task,
                                        struct pdf_done *done)
{
  enum dx_reason reason = DX_REASON_NONE;
  qpdf_oh *handles;

  if (!open_separator(separator, task->separator_fd))
    return DX_REASON_NO_SEPARATOR;
  done->separated = is_separated(pdf, done->pages, separator);
  (void)reason_of(pdf, DX_REASON_NONE); /* ignores pages that cannot be read */
  if (done->separated)
    return DX_REASON_NONE;
  handles = calloc((size_t)done->pages, sizeof(*handles));
  if (handles == NULL)
    return DX_REASON_TROUBLE;
  if (!deal_pages(pdf, separator, task->every, handles, done->pages))
    reason = reason_of(pdf, DX_REASON_DAMAGED);
  free(handles);
  done->pages = qpdf_get_num_pages(pdf);
  return reason;
}

/* qpdf does not notice when the disk is full at the very end. */
static bool is_whole(int fd)
{
  static const char end[] = "%%EOF\n";
  char bytes[sizeof(end)] = "";
  struct stat st;

  return fstat(fd, &st) == 0 && st.st_size > (off_t)sizeof(end) &&
         pread(fd, bytes, sizeof(end) - 1,
               st.st_size - (off_t)sizeof(end) + 1) ==
             (ssize_t)sizeof(end) - 1 &&
         strcmp(bytes, end) == 0;
}

static enum dx_reason write_pdf(qpdf_data pdf, int fd)
{
  char path[LIBC_PATH_BYTES];
  enum dx_reason reason;

  libc_path(fd, path);
  qpdf_oh_remove_key(pdf, qpdf_get_trailer(pdf), "/ID");
  if ((qpdf_init_write(pdf, path) & QPDF_ERRORS) == 0) {
    qpdf_set_deterministic_ID(pdf, QPDF_TRUE);
    qpdf_set_preserve_encryption(pdf, QPDF_FALSE);
    qpdf_set_object_stream_mode(pdf, qpdf_o_preserve);
    qpdf_set_stream_data_mode(pdf, qpdf_s_preserve);
    (void)qpdf_write(pdf);
  }
  reason = reason_of(pdf, DX_REASON_TROUBLE);
  if (reason == DX_REASON_NONE && !is_whole(fd))
    reason = DX_REASON_TROUBLE;
  return reason;
}

static enum dx_reason strip(qpdf_data pdf, struct pdf_done *done)
{
  enum dx_reason reason = strip_pdf(pdf, &done->removed);

  return reason != DX_REASON_NONE ? reason : reason_of(pdf, DX_REASON_DAMAGED);
}

/* The bytes that a page draws with; 0 if they cannot be decoded. */
static size_t content_bytes(qpdf_data pdf, qpdf_oh page)
{
  unsigned char *content = NULL;
  size_t len = 0;
  bool ok = (qpdf_oh_get_page_content_data(pdf, page, &content, &len) &
             QPDF_ERRORS) == 0;

  free(content);
  return ok ? len : 0;
}

static long long content_max(int fd)
{
  struct stat st;
  long long size = fstat(fd, &st) == 0 ? (long long)st.st_size : 0;

  return DX_CONTENT_BYTES + DX_CONTENT_FACTOR * size;
}

/* In a PDF with defects, an empty page may have lost its content, and half a
 * chart is worse than none. What a thousand pages share counts for each of
 * them: whoever draws them unpacks it again. */
static enum dx_reason check_content(struct document *d, int fd)
{
  long long total = 0, most = content_max(fd);
  bool empty = false;
  enum dx_reason reason;
  int i;

  for (i = 0; i < d->pages && total <= most; i++) {
    size_t len = content_bytes(d->pdf, qpdf_get_page_n(d->pdf, (size_t)i));

    empty = empty || len == 0;
    total += (long long)len;
  }
  if (total > most)
    return DX_REASON_TOO_COMPLEX;
  reason = reason_of(d->pdf, DX_REASON_DAMAGED);
  d->repaired = d->repaired || qpdf_more_warnings(d->pdf) == QPDF_TRUE;
  return reason == DX_REASON_NONE && d->repaired && empty ? DX_REASON_DAMAGED
                                                          : reason;
}

enum dx_reason pdf_check(const struct pdf_task *task, struct pdf_done *ret_done)
{
  struct document d;
  enum dx_reason reason = open_document(&d, task);

  if (reason == DX_REASON_NONE)
    reason = check_content(&d, task->in_fd);
  if (reason == DX_REASON_NONE)
    *ret_done = (struct pdf_done){.pages = d.pages, .repaired = d.repaired};
  qpdf_cleanup(&d.pdf);
  return reason;
}

bool pdf_write_note(int fd, enum dx_reason reason)
{
  qpdf_data pdf = new_pdf();
  char name[64];
  bool ok;

  (void)snprintf(name, sizeof(name), "/%s", dx_reason_word(reason));
  ok = (qpdf_empty_pdf(pdf) & QPDF_ERRORS) == 0;
  if (ok) {
    qpdf_oh page = qpdf_make_indirect_object(
        pdf, qpdf_oh_parse(pdf, "<</Type/Page/MediaBox[0 0 595 842]>>"));

    qpdf_oh_replace_key(pdf, qpdf_get_root(pdf), NOTE_KEY,
                        qpdf_oh_new_name(pdf, name));
    ok = append_page(pdf, pdf, page) && write_pdf(pdf, fd) == DX_REASON_NONE;
  }
  qpdf_cleanup(&pdf);
  return ok;
}

enum dx_reason pdf_rewrite(const struct pdf_task *task,
                           struct pdf_done *ret_done)
{
  struct document d;
  struct pdf_done done = {0};
  qpdf_data separator = new_pdf(); /* its page is read while d is written */
  enum dx_reason reason = open_document(&d, task);

  done.pages = d.pages;
  done.repaired = d.repaired;
  if (reason == DX_REASON_NONE && d.repaired)
    reason = check_content(&d, task->in_fd);
  if (reason == DX_REASON_NONE)
    reason = strip(d.pdf, &done);
  if (reason == DX_REASON_NONE && task->every > 0)
    reason = insert_separators(d.pdf, separator, task, &done);
  if (reason == DX_REASON_NONE)
    reason = write_pdf(d.pdf, task->out_fd);
  if (reason == DX_REASON_NONE)
    *ret_done = done;
  qpdf_cleanup(&d.pdf);
  qpdf_cleanup(&separator);
  return reason;
}

const char *pdf_library_version(void)
{
  return qpdf_get_qpdf_version();
}
