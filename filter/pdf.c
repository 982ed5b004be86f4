/*
 * pdf.c - the steps that convert a PDF, and the page tree, with the C API of
 * libqpdf.
 *
 * Each page gets a dictionary of its own, in a tree of one level, so that pages
 * that are listed twice, or inherit from a node, need no special treatment
 * later.
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
#include "filter/pdf_file.h"
#include "filter/program.h"
#include "filter/qpdf.h"
#include "lib/base/buf.h"
#include "lib/base/fs.h"
#include "lib/base/policy.h"

#define DX_CONTENT_BYTES 1073741824LL /* unpacked, on all pages, plus */
#define DX_CONTENT_FACTOR 256         /* times the size of the PDF */
#define DX_IMAGE_BYTES 268435456LL    /* of images, for each page in addition */

#define DEPTH_MAX 1000 /* levels of a page tree */

struct pdf_work {
  qpdf_data pdf;
  char *bytes;       /* NULL: empty, or it cannot be read */
  size_t len, start; /* where its header begins */
  char *fixed;       /* the bytes that were read instead; NULL: none */
  const struct pdf_task *task;
  bool ours;
  struct flatten_page *pages; /* those that were chosen */
  int count;
  int total; /* pages in the document */
  int nodes; /* of its page tree, visited so far */
  struct drawn drawn;
  struct pdf_done done;
};

static void pdf_begin(struct pdf_work *w, int fd, bool ours,
                      const struct pdf_task *task)
{
  *w = (struct pdf_work){.task = task, .ours = ours};
  w->bytes = dx_fs_map(fd, &w->len);
}

static void pdf_end(struct pdf_work *w)
{
  free(w->pages);
  drawn_release(&w->drawn);
  if (w->pdf != NULL)
    qpdf_cleanup(&w->pdf);
  free(w->fixed);
  (void)munmap(w->bytes, w->len);
}

/*
 * The reason for the last error; NONE if there was none. For libqpdf, a "system
 * error" is a full disk when it writes, but a number that is too large when it
 * reads: `system` is the reason for it.
 */
static enum dx_reason pdf_reason_of(qpdf_data pdf, enum dx_reason system)
{
  qpdf_error error = qpdf_get_error(pdf);

  if (error == NULL)
    return DX_REASON_NONE;
  switch (qpdf_get_error_code(pdf, error)) {
  case qpdf_e_password:
  case qpdf_e_unsupported: /* only encryption methods are */
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

/* Called after the last question to libqpdf about errors. */
static void pdf_read_program(struct pdf_work *w)
{
  qpdf_oh info, producer;
  const char *text;

  if (w->pdf == NULL) /* refused before it was read */
    return;
  info = qpdf_oh_get_key(w->pdf, qpdf_get_trailer(w->pdf), "/Info");
  producer = qpdf_oh_get_key(w->pdf, info, "/Producer");
  if (!qpdf_oh_is_string(w->pdf, producer))
    return;
  text = qpdf_oh_get_utf8_value(w->pdf, producer);
  program_name(text, strlen(text), w->done.program);
}

/* ---- opening ---- */

/* Without `repairs`, only a valid cross-reference table is accepted. */
static enum dx_reason pdf_read(struct pdf_work *w, const char *bytes,
                               size_t len, bool repairs)
{
  if (w->pdf != NULL)
    qpdf_cleanup(&w->pdf);
  w->pdf = qpdf_init();
  w->drawn = (struct drawn){.pdf = w->pdf, .check.pdf = w->pdf};
  /* Prints nothing: the messages of libqpdf may quote the document. */
  qpdf_set_suppress_warnings(w->pdf, QPDF_TRUE);
  qpdf_silence_errors(w->pdf);
  qpdf_set_attempt_recovery(w->pdf, repairs);
  (void)qpdf_read_memory(w->pdf, "", bytes, len, NULL);
  qpdf_set_attempt_recovery(w->pdf, QPDF_TRUE);
  return pdf_reason_of(w->pdf, DX_REASON_DAMAGED);
}

/* True if a table that is valid leads to each object. */
static bool pdf_read_exact(struct pdf_work *w, const char *bytes, size_t len,
                           enum dx_reason *ret_reason)
{
  *ret_reason = pdf_read(w, bytes, len, false);
  return w->ours || (*ret_reason == DX_REASON_NONE &&
                     qpdf_has_exact_table(w->pdf, bytes, len));
}

/*
 * If the table is wrong, libqpdf uses the last copy of each object that it
 * finds. This may be an older version, because the newer one is damaged: then
 * other values would be sent. False if that is possible.
 */
static bool pdf_has_one_version(const struct pdf_work *w, const char *bytes,
                                size_t len, bool was_rebuilt)
{
  const size_t count = PDF_FILE_NUMBER_MAX + 1;
  struct pdf_file_copies *copies; /* memory is allocated when written */
  bool has_one;

  copies = calloc(count, sizeof(*copies));
  if (copies == NULL)
    return false;
  pdf_file_count(bytes, len, copies, count);
  if (!was_rebuilt)
    qpdf_trust_table(w->pdf, bytes, len, copies, count);
  has_one = !pdf_file_has_gap(bytes, len) &&
            (!was_rebuilt || qpdf_count_packed(w->pdf, copies, count)) &&
            !qpdf_prints_copied(w->pdf, copies, count);
  free(copies);
  return has_one;
}

/* Opens it with an empty password. Rebuilds an invalid cross-reference table,
 * like every viewer, unless that may lead to an older version. */
static enum dx_reason pdf_open(struct pdf_work *w)
{
  enum pdf_file_end end = PDF_FILE_ENDS;
  const char *bytes = w->bytes;
  size_t len = w->len;
  enum dx_reason reason;
  bool was_rebuilt, is_exact;
  qpdf_oh root;

  if (bytes == NULL)
    return DX_REASON_TROUBLE;
  if (!w->ours) {
    (void)pdf_file_is(bytes, len, &w->start);
    bytes += w->start;
    end = pdf_file_end(bytes, len - w->start, &len);
  }
  if (end == PDF_FILE_CUT)
    return pdf_refuse(w, DX_REASON_DAMAGED, 0, "its end is missing");
  is_exact = pdf_read_exact(w, bytes, len, &reason);
  if (!is_exact)
    w->fixed = pdf_file_fix_offsets(bytes, len);
  if (w->fixed != NULL) {
    bytes = w->fixed;
    is_exact = pdf_read_exact(w, bytes, len, &reason);
  }
  was_rebuilt = reason != DX_REASON_NONE;
  if (was_rebuilt)
    reason = pdf_read(w, bytes, len, true);
  if (reason == DX_REASON_DAMAGED)
    return pdf_refuse(w, reason, 0, "its list of pages is missing");
  if (reason != DX_REASON_NONE)
    return reason;
  if (!is_exact && end == PDF_FILE_UNMARKED)
    return pdf_refuse(w, DX_REASON_DAMAGED, 0, "its end is missing");
  if (qpdf_is_encrypted(w->pdf) && !qpdf_allow_print_low_res(w->pdf) &&
      !qpdf_allow_print_high_res(w->pdf))
    return DX_REASON_PROTECTED;
  root = qpdf_get_root(w->pdf);
  if (!qpdf_oh_is_dictionary(w->pdf, root) ||
      !qpdf_oh_is_indirect(w->pdf, root))
    return pdf_refuse(w, DX_REASON_DAMAGED, 0, "its list of pages is missing");
  if ((!is_exact && !pdf_has_one_version(w, bytes, len, was_rebuilt)) ||
      (!w->ours && pdf_file_has_another(bytes, len)))
    return pdf_refuse(w, DX_REASON_DAMAGED, 0,
                      "a later change to it may be missing");
  return pdf_reason_of(w->pdf, DX_REASON_DAMAGED);
}

/* ---- pages ---- */

static const char *const pdf_inherited[] = {"/Resources", "/MediaBox",
                                            "/CropBox", "/Rotate", NULL};
static const char *const pdf_own[] = {"/Contents", "/Annots",  "/Group",
                                      "/BleedBox", "/TrimBox", "/ArtBox",
                                      "/UserUnit", NULL};

static void pdf_copy_keys(qpdf_data pdf, qpdf_oh from, const char *const *keys,
                          qpdf_oh to)
{
  for (; *keys != NULL; keys++) {
    qpdf_oh value = qpdf_oh_get_key(pdf, from, *keys);

    if (!qpdf_oh_is_null(pdf, value))
      qpdf_oh_replace_key(pdf, to, *keys, value);
    qpdf_oh_release(pdf, value);
  }
}

/* `copy` has the inherited keys, and becomes the chosen page. Viewers ignore
 * resources that are not a dictionary, so the page would be incomplete. */
static enum dx_reason pdf_add_page(struct pdf_work *w, qpdf_oh page,
                                   qpdf_oh copy)
{
  struct flatten_page chosen = {.number = ++w->total}, *pages;
  qpdf_oh indirect, resources;
  bool is_whole;

  if (chosen.number > DX_PAGES_MAX)
    return DX_REASON_TOO_COMPLEX;
  if (!w->ours && !options_choose(w->task->options, chosen.number))
    return DX_REASON_NONE;
  pdf_copy_keys(w->pdf, page, pdf_own, copy);
  resources = qpdf_oh_get_key(w->pdf, copy, "/Resources");
  is_whole = !qpdf_is_lost(w->pdf, page, "/Contents") &&
             (qpdf_oh_is_dictionary(w->pdf, resources) ||
              qpdf_oh_is_null(w->pdf, resources));
  indirect = qpdf_make_indirect_object(w->pdf, copy);
  chosen.id = qpdf_oh_get_object_id(w->pdf, indirect);
  qpdf_oh_release(w->pdf, resources);
  qpdf_oh_release(w->pdf, indirect);
  if (!is_whole)
    return pdf_refuse(w, DX_REASON_DAMAGED, chosen.number,
                      "its content is missing");
  pages = reallocarray(w->pages, (size_t)w->count + 1, sizeof(chosen));
  if (pages == NULL)
    return DX_REASON_TROUBLE;
  w->pages = pages;
  pages[w->count++] = chosen;
  return DX_REASON_NONE;
}

/* True if it is not a page, but a list of pages, perhaps without /Kids: viewers
 * show what has neither the type nor the content of a page as a blank one. */
static bool pdf_is_list(qpdf_data pdf, qpdf_oh node, qpdf_oh count)
{
  qpdf_oh type = qpdf_oh_get_key(pdf, node, "/Type");
  bool is_list = !qpdf_oh_is_null(pdf, count) ||
                 qpdf_oh_is_name_and_equals(pdf, type, "/Pages") ||
                 (!qpdf_oh_is_name_and_equals(pdf, type, "/Page") &&
                  !qpdf_oh_has_key(pdf, node, "/Contents"));

  qpdf_oh_release(pdf, type);
  return is_list;
}

/*
 * `above`: a dictionary with the keys inherited from the nodes above. If /Count
 * is larger than the number of pages, some are lost; if it is smaller, some
 * viewers show fewer. A cycle of nodes exceeds DEPTH_MAX.
 */
static enum dx_reason pdf_visit_node(struct pdf_work *w, qpdf_oh node,
                                     qpdf_oh above, int depth)
{
  qpdf_data pdf = w->pdf;
  qpdf_oh page = qpdf_oh_parse(pdf, "<</Type/Page>>");
  qpdf_oh kids = qpdf_oh_get_key(pdf, node, "/Kids");
  qpdf_oh count = qpdf_oh_get_key(pdf, node, "/Count");
  int first = w->total, kid_count = 0, i;
  enum dx_reason reason = DX_REASON_NONE;

  pdf_copy_keys(pdf, above, pdf_inherited, page);
  pdf_copy_keys(pdf, node, pdf_inherited, page);
  if (qpdf_is_lost(pdf, node, "/Resources")) /* refuses pages that use them */
    qpdf_oh_replace_key(pdf, page, "/Resources",
                        qpdf_oh_new_name(pdf, "/Lost"));
  if (qpdf_oh_is_null(pdf, kids) && !pdf_is_list(pdf, node, count))
    reason = pdf_add_page(w, node, page);
  else if (!qpdf_oh_is_array(pdf, kids))
    reason =
        pdf_refuse(w, DX_REASON_DAMAGED, 0, "its list of pages is missing");
  else if (depth >= DEPTH_MAX || ++w->nodes > DX_PAGES_MAX)
    reason =
        pdf_refuse(w, DX_REASON_DAMAGED, 0, "its list of pages is missing");
  else
    kid_count = qpdf_oh_get_array_n_items(pdf, kids);
  for (i = 0; i < kid_count && reason == DX_REASON_NONE; i++) {
    qpdf_oh kid = qpdf_oh_get_array_item(pdf, kids, i);

    if (!qpdf_oh_is_dictionary(pdf, kid))
      reason =
          pdf_refuse(w, DX_REASON_DAMAGED, w->total + 1, "the page is missing");
    else
      reason = pdf_visit_node(w, kid, page, depth + 1);
    qpdf_oh_release(pdf, kid);
  }
  if (reason == DX_REASON_NONE && qpdf_oh_is_array(pdf, kids) &&
      qpdf_oh_is_integer(pdf, count) &&
      qpdf_oh_get_int_value(pdf, count) != w->total - first)
    reason =
        pdf_refuse(w, DX_REASON_DAMAGED, 0, "its number of pages is wrong");
  qpdf_oh_release(pdf, count);
  qpdf_oh_release(pdf, kids);
  qpdf_oh_release(pdf, page);
  return reason;
}

/* A linearized file begins with a dictionary that has its number of pages. It
 * is out of date if the file no longer has the length in it. */
static bool pdf_has_other_count(const struct pdf_work *w)
{
  const char *bytes = w->bytes + w->start;
  size_t size = w->len - w->start;
  int number, generation, pages;
  long long len;
  qpdf_oh dict;

  if (w->ours || !pdf_file_first_object(bytes, size, &number, &generation))
    return false;
  dict = qpdf_get_object_by_id(w->pdf, number, generation);
  return qpdf_oh_is_dictionary(w->pdf, dict) &&
         qpdf_oh_has_key(w->pdf, dict, "/Linearized") &&
         qpdf_oh_get_value_as_longlong(
             w->pdf, qpdf_oh_get_key(w->pdf, dict, "/L"), &len) &&
         len == (long long)size &&
         qpdf_oh_get_value_as_int(w->pdf, qpdf_oh_get_key(w->pdf, dict, "/N"),
                                  &pages) &&
         pages != w->total;
}

static enum dx_reason pdf_choose(struct pdf_work *w)
{
  qpdf_oh root = qpdf_get_root(w->pdf);
  qpdf_oh tree = qpdf_oh_get_key(w->pdf, root, "/Pages");
  enum dx_reason reason;

  if (qpdf_oh_is_dictionary(w->pdf, tree))
    reason = pdf_visit_node(w, tree, qpdf_oh_new_dictionary(w->pdf), 0);
  else
    reason =
        pdf_refuse(w, DX_REASON_DAMAGED, 0, "its list of pages is missing");
  if (reason == DX_REASON_NONE && pdf_has_other_count(w))
    reason =
        pdf_refuse(w, DX_REASON_DAMAGED, 0, "its number of pages is wrong");
  qpdf_oh_remove_key(w->pdf, root, "/Pages"); /* there will be another one */
  qpdf_oh_release_all(w->pdf);
  return reason == DX_REASON_NONE && w->count == 0 ? DX_REASON_NO_PAGES
                                                   : reason;
}

/* ---- what the pages show ---- */

/* Called before anything is added to the content. */
static enum dx_reason pdf_check_contents(struct pdf_work *w)
{
  enum dx_reason reason = DX_REASON_NONE;
  int i;

  w->drawn.check.left =
      DX_CONTENT_BYTES + DX_CONTENT_FACTOR * (long long)w->len;
  w->drawn.check.image_left = w->drawn.check.left + DX_IMAGE_BYTES * w->count;
  for (i = 0; i < w->count && reason == DX_REASON_NONE; i++) {
    reason = stream_whole(&w->drawn.check, w->pages[i].id, 0, STREAM_CONTENTS);
    if (reason != DX_REASON_NONE)
      reason = pdf_refuse(w, reason, w->pages[i].number, w->drawn.check.why);
  }
  return reason;
}

static enum dx_reason pdf_check_drawn(struct pdf_work *w)
{
  enum dx_reason reason = DX_REASON_NONE;
  int i;

  for (i = 0; i < w->count && reason == DX_REASON_NONE; i++) {
    reason = drawn_page(&w->drawn, w->pages[i].id);
    w->done.in_image = w->drawn.check.in_image;
    if (reason != DX_REASON_NONE)
      reason = pdf_refuse(w, reason, w->pages[i].number, w->drawn.check.why);
  }
  return reason;
}

/* Resources that a page lists but does not use are sent like all others, unless
 * something is wrong with them: finding them requires all content to be
 * unpacked once more. False if there are none. */
static bool pdf_drop_unused(struct pdf_work *w)
{
  long long left = w->drawn.check.left, images = w->drawn.check.image_left;
  bool dropped = false;
  int i;

  for (i = 0; i < w->count; i++)
    if (qpdf_drop_unused(w->pdf, w->pages[i].id))
      dropped = true;
  drawn_release(&w->drawn);
  w->drawn = (struct drawn){
      .pdf = w->pdf,
      .check = {.pdf = w->pdf, .left = left, .image_left = images}};
  return dropped;
}

static enum dx_reason pdf_check_and_strip(struct pdf_work *w)
{
  enum dx_reason reason = pdf_check_drawn(w);

  if ((reason == DX_REASON_DAMAGED || reason == DX_REASON_UNKNOWN) &&
      !w->ours && pdf_drop_unused(w))
    reason = pdf_check_drawn(w);
  if (reason != DX_REASON_NONE)
    return reason;
  reason = drawn_strip(&w->drawn);
  return reason != DX_REASON_NONE ? pdf_refuse(w, reason, 0, w->drawn.check.why)
                                  : pdf_reason_of(w->pdf, DX_REASON_DAMAGED);
}

/* ---- the new page tree ---- */

/* Copies the page of the separator's document as a dictionary with the keys of
 * a page, but not as a page, because libqpdf does not copy pages between
 * documents. */
static qpdf_oh pdf_copy_separator(const struct pdf_work *w,
                                  const struct pdf_work *separator)
{
  qpdf_oh page = qpdf_get_object_by_id(separator->pdf, separator->pages->id, 0);
  qpdf_oh root = qpdf_get_root(separator->pdf);
  qpdf_oh none =
      qpdf_oh_parse(separator->pdf, "<</Type/Pages/Kids[]/Count 0>>");

  qpdf_oh_remove_key(separator->pdf, page, "/Type");
  /* libqpdf 12 copies nothing from a document that has no page tree. */
  qpdf_oh_replace_key(separator->pdf, root, "/Pages",
                      qpdf_make_indirect_object(separator->pdf, none));
  return qpdf_oh_copy_foreign_object(w->pdf, separator->pdf, page);
}

static void pdf_append_page(struct pdf_work *w, qpdf_oh tree, qpdf_oh kids,
                            qpdf_oh page)
{
  qpdf_oh_replace_key(w->pdf, page, "/Parent", tree);
  qpdf_oh_append_item(w->pdf, kids, page);
  qpdf_oh_release(w->pdf, page);
  w->done.pages++;
}

/* `separator` 0: none. */
static enum dx_reason pdf_build_tree(struct pdf_work *w, qpdf_oh separator)
{
  int every = w->task->options->every, i;
  qpdf_oh root = qpdf_get_root(w->pdf), kids = qpdf_oh_new_array(w->pdf);
  qpdf_oh tree = qpdf_make_indirect_object(
      w->pdf, qpdf_oh_parse(w->pdf, "<</Type/Pages>>"));

  w->done.pages = 0;
  for (i = 0; i < w->count; i++) {
    if (separator != 0 && i > 0 && i % every == 0) {
      qpdf_oh page = qpdf_oh_parse(w->pdf, "<</Type/Page>>");

      pdf_copy_keys(w->pdf, separator, pdf_inherited, page);
      pdf_copy_keys(w->pdf, separator, pdf_own, page);
      pdf_append_page(w, tree, kids, qpdf_make_indirect_object(w->pdf, page));
    }
    pdf_append_page(w, tree, kids,
                    qpdf_get_object_by_id(w->pdf, w->pages[i].id, 0));
  }
  qpdf_oh_replace_key(w->pdf, tree, "/Kids", kids);
  qpdf_oh_replace_key(w->pdf, tree, "/Count",
                      qpdf_oh_new_integer(w->pdf, w->done.pages));
  qpdf_oh_replace_key(w->pdf, root, "/Pages", tree);
  qpdf_oh_release_all(w->pdf);
  return pdf_reason_of(w->pdf, DX_REASON_DAMAGED);
}

/* ---- all steps ---- */

/* A document that this program created has no annotations. */
static enum dx_reason pdf_prepare(struct pdf_work *w)
{
  enum dx_reason reason = pdf_open(w);

  if (reason == DX_REASON_NONE)
    reason = pdf_choose(w);
  if (reason == DX_REASON_NONE)
    reason = pdf_check_contents(w);
  if (reason == DX_REASON_NONE && !w->ours)
    reason = flatten_pages(w->pdf, w->task, w->pages, w->count, &w->done);
  if (reason == DX_REASON_NONE)
    reason = pdf_check_and_strip(w);
  return reason;
}

/* The separator's document must stay open until the other one is written. */
enum dx_reason pdf_rewrite(int fd, bool ours, const struct pdf_task *task,
                           struct pdf_done *ret_done)
{
  bool separates = task->separator_fd > 0 && task->options->every > 0;
  struct pdf_work w, separator = {0};
  enum dx_reason reason;
  qpdf_oh page = 0;
  int error;

  pdf_begin(&w, fd, ours, task);
  reason = pdf_prepare(&w);
  if (reason == DX_REASON_NONE && separates) {
    pdf_begin(&separator, task->separator_fd, true, task);
    if (pdf_prepare(&separator) != DX_REASON_NONE || separator.count != 1)
      reason = DX_REASON_NO_SEPARATOR;
    else
      page = pdf_copy_separator(&w, &separator);
  }
  if (reason == DX_REASON_NONE)
    reason = pdf_build_tree(&w, page);
  if (reason == DX_REASON_NONE) {
    if ((qpdf_init_write(w.pdf, NULL) & QPDF_ERRORS) == 0) {
      /* Instead of the old /ID: the same document has the same bytes at every
       * attempt. */
      qpdf_set_deterministic_ID(w.pdf, QPDF_TRUE);
      qpdf_set_preserve_encryption(w.pdf, QPDF_FALSE);
      qpdf_set_object_stream_mode(w.pdf, qpdf_o_preserve);
      qpdf_set_stream_data_mode(w.pdf, qpdf_s_preserve);
      (void)qpdf_write(w.pdf);
    }
    reason = pdf_reason_of(w.pdf, DX_REASON_TROUBLE);
  }
  error = errno; /* isolate.c must detect ENOMEM */
  if (reason != DX_REASON_NONE && !ours)
    pdf_read_program(&w);
  *ret_done = w.done;
  pdf_end(&w);
  if (separator.pdf != NULL)
    pdf_end(&separator);
  errno = error;
  return reason;
}
