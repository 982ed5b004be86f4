/*
 * pdf.c - the steps from one PDF to the other, and the page tree, through the C
 * API of libqpdf.
 *
 * The pages get dictionaries of their own, in a tree of one level: a page that
 * is listed twice, or inherits from a node, needs no care after that.
 */
#include "filter/pdf.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <qpdf/qpdf-c.h>

#include "filter/drawn.h"
#include "filter/flatten.h"
#include "filter/options.h"
#include "filter/qpdf.h"
#include "lib/base/fs.h"
#include "lib/base/policy.h"

#define DEPTH_MAX 1000 /* levels of a page tree */
#define FORGET_BYTES (32 << 20)

struct pdf_file {
  char *bytes; /* NULL: empty, or it cannot be read */
  size_t len;
};

struct pdf_pages {
  qpdf_oh *pages; /* chosen, as dictionaries of this document */
  int *numbers;   /* in the document, from 1 */
  int count;
  int room;
  int total; /* in the document */
  int nodes; /* of its tree, visited so far */
};

struct pdf_work {
  qpdf_data pdf;
  struct pdf_file file;
  const struct pdf_task *task;
  bool ours;
  struct pdf_pages chosen;
  struct drawn drawn;
  struct pdf_done done;
};

static void pdf_work_init(struct pdf_work *w, qpdf_data pdf, bool ours,
                          const struct pdf_task *task)
{
  *w = (struct pdf_work){
      .pdf = pdf, .task = task, .ours = ours, .drawn = {.pdf = pdf}};
  w->drawn.check.pdf = pdf;
}

static void pdf_work_release(struct pdf_work *w)
{
  free(w->chosen.pages);
  free(w->chosen.numbers);
  drawn_release(&w->drawn);
}

/* Prints nothing: the messages of libqpdf may quote the document. */
static qpdf_data pdf_new(void)
{
  qpdf_data pdf = qpdf_init();

  qpdf_set_suppress_warnings(pdf, QPDF_TRUE);
  qpdf_silence_errors(pdf);
  return pdf;
}

/*
 * The reason for the last error; NONE if there was none. To libqpdf a "system
 * error" is a full disk when it writes, but a number that is too large when it
 * reads: `system` says which.
 */
static enum dx_reason pdf_reason_of(qpdf_data pdf, enum dx_reason system)
{
  qpdf_error error = qpdf_get_error(pdf);

  if (error == NULL)
    return DX_REASON_NONE;
  switch (qpdf_get_error_code(pdf, error)) {
  case qpdf_e_password:
  case qpdf_e_unsupported: /* only methods of encryption are */
    return DX_REASON_PASSWORD;
  case qpdf_e_system:
    return system;
  default:
    return DX_REASON_DAMAGED;
  }
}

static enum dx_reason pdf_refuse(struct pdf_work *w, enum dx_reason reason,
                                 int page, const char *why)
{
  w->done.page = page;
  (void)snprintf(w->done.why, sizeof(w->done.why), "%s",
                 why != NULL ? why : "");
  return reason;
}

/* ---- opening ---- */

/*
 * Does the file have its end? Behind the last "startxref" and its number,
 * nothing of a document may follow: a newer version of it was cut off then, and
 * viewers would show the older one.
 */
static bool pdf_has_end(struct pdf_file file)
{
  static const char word[] = "startxref";
  const size_t len = sizeof(word) - 1;
  size_t at = file.len;
  const char *rest;

  for (;;) {
    const char *found = memrchr(file.bytes, 's', at);

    if (found == NULL)
      return false;
    at = (size_t)(found - file.bytes);
    if (file.len - at > len && memcmp(found, word, len) == 0)
      break;
  }
  rest = file.bytes + at + len;
  at += len;
  while (at < file.len && isspace((unsigned char)*rest)) {
    rest++;
    at++;
  }
  return at < file.len && isdigit((unsigned char)*rest) &&
         memmem(rest, file.len - at, "%%EOF", 5) != NULL &&
         memmem(rest, file.len - at, " obj", 4) == NULL;
}

/* With an empty password. A cross-reference table that is wrong is rebuilt, as
 * every viewer does. */
static enum dx_reason pdf_open(struct pdf_work *w)
{
  enum dx_reason reason;
  qpdf_oh root;
  bool ok;

  if (!pdf_has_end(w->file))
    return pdf_refuse(w, DX_REASON_DAMAGED, 0, "its end is missing");
  (void)qpdf_read_memory(w->pdf, "", w->file.bytes, w->file.len, NULL);
  reason = pdf_reason_of(w->pdf, DX_REASON_DAMAGED);
  if (reason != DX_REASON_NONE)
    return reason;
  if (qpdf_is_encrypted(w->pdf) && !qpdf_allow_print_low_res(w->pdf) &&
      !qpdf_allow_print_high_res(w->pdf))
    return DX_REASON_PROTECTED;
  root = qpdf_get_root(w->pdf);
  ok = qpdf_oh_is_dictionary(w->pdf, root) && qpdf_oh_is_indirect(w->pdf, root);
  qpdf_oh_release(w->pdf, root);
  reason = pdf_reason_of(w->pdf, DX_REASON_DAMAGED);
  return ok ? reason
            : pdf_refuse(w, DX_REASON_DAMAGED, 0, "its list of pages is lost");
}

/* ---- pages ---- */

/* What a page inherits from the nodes above it. */
#define INHERITED 4
static const char *const pdf_inherited[INHERITED] = {"/Resources", "/MediaBox",
                                                     "/CropBox", "/Rotate"};
static const qpdf_oh pdf_nothing[INHERITED];

/* The key of a node or page, or else what is inherited. */
static qpdf_oh pdf_key_or(qpdf_data pdf, qpdf_oh node, const char *key,
                          qpdf_oh above)
{
  qpdf_oh value = qpdf_oh_get_key(pdf, node, key);

  if (!qpdf_oh_is_null(pdf, value) || above == 0)
    return value;
  qpdf_oh_release(pdf, value);
  return qpdf_oh_new_object(pdf, above);
}

static bool pdf_null_is_elsewhere(void *ctx, const char *const *keys, int depth)
{
  (void)ctx;
  return depth > 1 || (strcmp(keys[0], "/Contents") != 0 &&
                       strcmp(keys[0], "/Resources") != 0);
}

/* Not lost: what a page draws with, or would inherit. */
static bool pdf_has_all(qpdf_data pdf, qpdf_oh node)
{
  return !qpdf_oh_is_indirect(pdf, node) ||
         qpdf_each_null(pdf, node, pdf_null_is_elsewhere, NULL);
}

/* A page as a dictionary of its own, which is 0 if its content is lost. */
static qpdf_oh pdf_copy_page(qpdf_data pdf, qpdf_oh page,
                             const qpdf_oh above[INHERITED])
{
  static const char *const own[] = {"/Contents", "/Annots",  "/Group",
                                    "/BleedBox", "/TrimBox", "/ArtBox",
                                    "/UserUnit"};
  qpdf_oh copy, indirect, value;
  size_t i;

  if (!pdf_has_all(pdf, page))
    return 0;
  copy = qpdf_oh_parse(pdf, "<</Type/Page>>");
  for (i = 0; i < INHERITED + sizeof(own) / sizeof(own[0]); i++) {
    const char *key = i < INHERITED ? pdf_inherited[i] : own[i - INHERITED];

    value = pdf_key_or(pdf, page, key, i < INHERITED ? above[i] : 0);
    if (!qpdf_oh_is_null(pdf, value))
      qpdf_oh_replace_key(pdf, copy, key, value);
    qpdf_oh_release(pdf, value);
  }
  indirect = qpdf_make_indirect_object(pdf, copy);
  qpdf_oh_release(pdf, copy);
  return indirect;
}

/* Only streams, and resources in a dictionary: readers skip anything else, and
 * the page would lack it. */
static bool pdf_has_contents(qpdf_data pdf, qpdf_oh page)
{
  qpdf_oh contents = qpdf_oh_get_key(pdf, page, "/Contents");
  qpdf_oh resources = qpdf_oh_get_key(pdf, page, "/Resources");
  bool ok =
      (qpdf_oh_is_stream(pdf, contents) || qpdf_oh_is_array(pdf, contents) ||
       qpdf_oh_is_null(pdf, contents)) &&
      (qpdf_oh_is_dictionary(pdf, resources) ||
       qpdf_oh_is_null(pdf, resources));

  qpdf_oh_release(pdf, resources);
  qpdf_oh_release(pdf, contents);
  return ok;
}

static enum dx_reason pdf_add_page(struct pdf_work *w, qpdf_oh page,
                                   const qpdf_oh above[INHERITED])
{
  struct pdf_pages *p = &w->chosen;
  int number = ++p->total;

  if (number > DX_PAGES_MAX)
    return DX_REASON_TOO_COMPLEX;
  if (!w->ours && !options_choose(w->task->options, number))
    return DX_REASON_NONE;
  if (p->count == p->room) {
    int room = p->room > 0 ? 2 * p->room : 64;
    qpdf_oh *pages = reallocarray(p->pages, (size_t)room, sizeof(*pages));
    int *numbers = reallocarray(p->numbers, (size_t)room, sizeof(*numbers));

    p->pages = pages != NULL ? pages : p->pages;
    p->numbers = numbers != NULL ? numbers : p->numbers;
    if (pages == NULL || numbers == NULL)
      return DX_REASON_TROUBLE;
    p->room = room;
  }
  p->numbers[p->count] = number;
  p->pages[p->count] = pdf_copy_page(w->pdf, page, above);
  if (p->pages[p->count] == 0 || !pdf_has_contents(w->pdf, p->pages[p->count]))
    return pdf_refuse(w, DX_REASON_DAMAGED, number, "its content is missing");
  p->count++;
  return DX_REASON_NONE;
}

static enum dx_reason pdf_visit_node(struct pdf_work *w, qpdf_oh node,
                                     const qpdf_oh above[INHERITED], int depth);

static enum dx_reason pdf_visit_kids(struct pdf_work *w, qpdf_oh kids,
                                     const qpdf_oh inherited[INHERITED],
                                     int depth)
{
  int count = qpdf_oh_get_array_n_items(w->pdf, kids), i;
  enum dx_reason reason = DX_REASON_NONE;

  for (i = 0; i < count && reason == DX_REASON_NONE; i++) {
    qpdf_oh kid = qpdf_oh_get_array_item(w->pdf, kids, i);

    if (!qpdf_oh_is_dictionary(w->pdf, kid))
      reason = pdf_refuse(w, DX_REASON_DAMAGED, w->chosen.total + 1,
                          "the page is missing");
    else
      reason = pdf_visit_node(w, kid, inherited, depth + 1);
    qpdf_oh_release(w->pdf, kid);
  }
  return reason;
}

/* A node that claims more pages than there are has lost some; if it claims
 * fewer, some viewers show fewer. Nodes in a circle are endlessly deep. */
static enum dx_reason pdf_visit_node(struct pdf_work *w, qpdf_oh node,
                                     const qpdf_oh above[INHERITED], int depth)
{
  qpdf_oh kids = qpdf_oh_get_key(w->pdf, node, "/Kids"), inherited[INHERITED];
  qpdf_oh count = qpdf_oh_get_key(w->pdf, node, "/Count");
  int first = w->chosen.total, i;
  enum dx_reason reason;

  if (!qpdf_oh_is_array(w->pdf, kids)) {
    reason = qpdf_oh_is_null(w->pdf, kids)
                 ? pdf_add_page(w, node, above)
                 : pdf_refuse(w, DX_REASON_DAMAGED, 0, NULL);
  } else if (depth >= DEPTH_MAX || ++w->chosen.nodes > DX_PAGES_MAX) {
    reason = pdf_refuse(w, DX_REASON_DAMAGED, 0, "its list of pages is lost");
  } else {
    for (i = 0; i < INHERITED; i++)
      inherited[i] = pdf_key_or(w->pdf, node, pdf_inherited[i], above[i]);
    if (!pdf_has_all(w->pdf, node)) { /* which matters if a page inherits it */
      qpdf_oh_release(w->pdf, inherited[0]);
      inherited[0] = qpdf_oh_new_name(w->pdf, "/Lost");
    }
    reason = pdf_visit_kids(w, kids, inherited, depth);
    for (i = 0; i < INHERITED; i++)
      qpdf_oh_release(w->pdf, inherited[i]);
    if (reason == DX_REASON_NONE && qpdf_oh_is_integer(w->pdf, count) &&
        qpdf_oh_get_int_value(w->pdf, count) != w->chosen.total - first)
      reason = pdf_refuse(w, DX_REASON_DAMAGED, 0,
                          "it has another number of pages than it says");
  }
  qpdf_oh_release(w->pdf, count);
  qpdf_oh_release(w->pdf, kids);
  return reason;
}

static enum dx_reason pdf_choose(struct pdf_work *w)
{
  qpdf_oh root = qpdf_get_root(w->pdf);
  qpdf_oh tree = qpdf_oh_get_key(w->pdf, root, "/Pages");
  enum dx_reason reason;

  if (qpdf_oh_is_dictionary(w->pdf, tree))
    reason = pdf_visit_node(w, tree, pdf_nothing, 0);
  else
    reason = pdf_refuse(w, DX_REASON_DAMAGED, 0, "its list of pages is lost");
  qpdf_oh_remove_key(w->pdf, root, "/Pages"); /* there will be another one */
  qpdf_oh_release(w->pdf, tree);
  qpdf_oh_release(w->pdf, root);
  return reason == DX_REASON_NONE && w->chosen.count == 0 ? DX_REASON_NO_PAGES
                                                          : reason;
}

/* ---- what the pages show ---- */

/* What was read of the file need not stay in memory: 300 MB of scans would. */
static void pdf_forget(const struct pdf_work *w)
{
  (void)madvise(w->file.bytes, w->file.len, MADV_DONTNEED);
}

/* Before anything is added to the content. */
static enum dx_reason pdf_check_contents(struct pdf_work *w)
{
  enum dx_reason reason = DX_REASON_NONE;
  int i;

  w->drawn.check.left =
      DX_CONTENT_BYTES + DX_CONTENT_FACTOR * (long long)w->file.len;
  for (i = 0; i < w->chosen.count && reason == DX_REASON_NONE; i++) {
    reason = stream_contents_whole(&w->drawn.check, w->chosen.pages[i]);
    if (reason != DX_REASON_NONE)
      reason = pdf_refuse(w, reason, w->chosen.numbers[i], w->drawn.check.why);
  }
  return reason;
}

static enum dx_reason pdf_flatten(struct pdf_work *w)
{
  struct flatten f = {.pdf = w->pdf,
                      .text = w->task->text,
                      .fonts = w->task->fonts,
                      .scratch_fd = w->task->spare_fd};
  enum dx_reason reason =
      flatten_pages(&f, w->chosen.pages, w->chosen.numbers, w->chosen.count);

  w->done.needs_fonts = f.needs_fonts;
  return reason != DX_REASON_NONE ? pdf_refuse(w, reason, f.page, f.why)
                                  : reason;
}

static enum dx_reason pdf_check_and_strip(struct pdf_work *w)
{
  enum dx_reason reason = DX_REASON_NONE;
  int i;

  for (i = 0; i < w->chosen.count && reason == DX_REASON_NONE; i++) {
    reason = drawn_page(&w->drawn, w->chosen.pages[i]);
    if (w->file.len > FORGET_BYTES)
      pdf_forget(w);
    if (reason != DX_REASON_NONE)
      reason = pdf_refuse(w, reason, w->chosen.numbers[i], w->drawn.why);
  }
  if (reason == DX_REASON_NONE) {
    reason = drawn_strip(&w->drawn);
    if (reason != DX_REASON_NONE)
      reason = pdf_refuse(w, reason, 0, w->drawn.why);
  }
  w->done.removed = w->drawn.removed;
  return reason != DX_REASON_NONE ? reason
                                  : pdf_reason_of(w->pdf, DX_REASON_DAMAGED);
}

/* ---- the new page tree ---- */

/* The separator page as a dictionary that has the keys of a page but is none:
 * libqpdf copies no pages from one document to another. 0 on failure. */
static qpdf_oh pdf_copy_separator(struct pdf_work *w, qpdf_data separator)
{
  struct pdf_work from;
  qpdf_oh copy = 0;
  int i;

  pdf_work_init(&from, separator, true, w->task);
  if (pdf_choose(&from) == DX_REASON_NONE && from.chosen.count == 1 &&
      pdf_check_contents(&from) == DX_REASON_NONE &&
      pdf_check_and_strip(&from) == DX_REASON_NONE) {
    for (i = 0; i < w->chosen.count && !w->done.separated; i++)
      w->done.separated = qpdf_is_same_page(w->pdf, w->chosen.pages[i],
                                            separator, from.chosen.pages[0]);
    qpdf_oh_remove_key(separator, from.chosen.pages[0], "/Type");
    copy = qpdf_oh_copy_foreign_object(w->pdf, separator, from.chosen.pages[0]);
  }
  pdf_work_release(&from);
  return copy;
}

static void pdf_append_page(struct pdf_work *w, qpdf_oh tree, qpdf_oh kids,
                            qpdf_oh page)
{
  qpdf_oh_replace_key(w->pdf, page, "/Parent", tree);
  qpdf_oh_append_item(w->pdf, kids, page);
  w->done.pages++;
}

/* `separator` 0: none. */
static void pdf_build_tree(struct pdf_work *w, qpdf_oh separator)
{
  int every = w->task->options->every, i;
  qpdf_oh root = qpdf_get_root(w->pdf), kids = qpdf_oh_new_array(w->pdf);
  qpdf_oh tree = qpdf_make_indirect_object(
      w->pdf, qpdf_oh_parse(w->pdf, "<</Type/Pages>>"));

  w->done.pages = 0;
  for (i = 0; i < w->chosen.count; i++) {
    if (separator != 0 && i > 0 && i % every == 0) {
      qpdf_oh page = pdf_copy_page(w->pdf, separator, pdf_nothing);

      pdf_append_page(w, tree, kids, page);
      qpdf_oh_release(w->pdf, page);
    }
    pdf_append_page(w, tree, kids, w->chosen.pages[i]);
  }
  qpdf_oh_replace_key(w->pdf, tree, "/Kids", kids);
  qpdf_oh_replace_key(w->pdf, tree, "/Count",
                      qpdf_oh_new_integer(w->pdf, w->done.pages));
  qpdf_oh_replace_key(w->pdf, root, "/Pages", tree);
  qpdf_oh_release(w->pdf, kids);
  qpdf_oh_release(w->pdf, tree);
  qpdf_oh_release(w->pdf, root);
}

/* The separator's document is read while the other one is written. */
static enum dx_reason pdf_separate(struct pdf_work *w, qpdf_data separator,
                                   struct pdf_file file)
{
  qpdf_oh page;

  if ((qpdf_read_memory(separator, "", file.bytes, file.len, NULL) &
       QPDF_ERRORS) != 0)
    return DX_REASON_NO_SEPARATOR;
  page = pdf_copy_separator(w, separator);
  (void)pdf_reason_of(w->pdf, DX_REASON_NONE);
  if (page == 0)
    return DX_REASON_NO_SEPARATOR;
  pdf_build_tree(w, w->done.separated ? 0 : page);
  return pdf_reason_of(w->pdf, DX_REASON_DAMAGED);
}

/* ---- writing ---- */

static void pdf_progress(int percent, void *work)
{
  (void)percent;
  pdf_forget(work);
}

/* A deterministic /ID instead of the old one: the same document has the same
 * bytes at every attempt. */
static enum dx_reason pdf_write(struct pdf_work *w)
{
  if ((qpdf_init_write(w->pdf, NULL) & QPDF_ERRORS) == 0) {
    qpdf_set_deterministic_ID(w->pdf, QPDF_TRUE);
    qpdf_set_preserve_encryption(w->pdf, QPDF_FALSE);
    qpdf_set_object_stream_mode(w->pdf, qpdf_o_preserve);
    qpdf_set_stream_data_mode(w->pdf, qpdf_s_preserve);
    if (w->file.len > FORGET_BYTES)
      qpdf_register_progress_reporter(w->pdf, pdf_progress, w);
    (void)qpdf_write(w->pdf);
  }
  return pdf_reason_of(w->pdf, DX_REASON_TROUBLE);
}

/* ---- all steps ---- */

enum dx_reason pdf_rewrite(int fd, bool ours, const struct pdf_task *task,
                           struct pdf_done *ret_done)
{
  struct pdf_work w;
  bool separates = task->separator_fd > 0 && task->options->every > 0;
  struct pdf_file separator_file;
  qpdf_data separator = pdf_new();
  enum dx_reason reason = DX_REASON_TROUBLE;
  int error;

  pdf_work_init(&w, pdf_new(), ours, task);
  w.file.bytes = dx_fs_map(fd, &w.file.len);
  separator_file.bytes =
      dx_fs_map(separates ? task->separator_fd : -1, &separator_file.len);
  if (w.file.bytes != NULL)
    reason = pdf_open(&w);
  if (reason == DX_REASON_NONE)
    reason = pdf_choose(&w);
  if (reason == DX_REASON_NONE)
    reason = pdf_check_contents(&w);
  if (reason == DX_REASON_NONE)
    reason = pdf_flatten(&w);
  if (reason == DX_REASON_NONE)
    reason = pdf_check_and_strip(&w);
  if (reason == DX_REASON_NONE && separates)
    reason = pdf_separate(&w, separator, separator_file);
  else if (reason == DX_REASON_NONE)
    pdf_build_tree(&w, 0);
  if (reason == DX_REASON_NONE)
    reason = pdf_write(&w);
  error = errno; /* ENOMEM: no memory was left, which isolate.c must know */
  *ret_done = w.done;
  pdf_work_release(&w);
  qpdf_cleanup(&w.pdf);
  qpdf_cleanup(&separator);
  (void)munmap(w.file.bytes, w.file.len);
  (void)munmap(separator_file.bytes, separator_file.len);
  errno = error;
  return reason;
}

const char *pdf_library_version(void)
{
  return qpdf_get_qpdf_version();
}
