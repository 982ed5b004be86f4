/*
 * whole.c - counts the pages and looks for objects that cannot be read.
 *
 * Without recovery libqpdf reads a damaged object as null and says which one
 * in a warning. A reference to an object that never existed is null, too, but
 * without a warning, and legal.
 */
#include "filter/whole.h"

#include <stdio.h>
#include <string.h>

#include "filter/walk.h"

#define DEPTH_MAX 1000 /* levels of a page tree */

struct look {
  qpdf_data pdf;
  struct walk nodes; /* of the page tree, and pages; only marks */
  struct walk drawn; /* what the pages draw */
  struct walk notes; /* their lists of annotations; queued and marked */
  int pages;
  bool defects;
};

/* Keys in what a page draws that lead to the rest of the document. */
static bool leads_away(const char *key)
{
  return strcmp(key, "/Parent") == 0 || strcmp(key, "/P") == 0 ||
         strcmp(key, "/Pg") == 0 || strcmp(key, "/StructParent") == 0 ||
         strcmp(key, "/Metadata") == 0 || strcmp(key, "/PieceInfo") == 0;
}

/* Whether the object of a warning is lost; one that names no object counts as a
 * loss. */
static bool is_lost(qpdf_data pdf, const char *warning)
{
  const char *at = warning;
  int id, generation;
  qpdf_oh object;
  bool lost;

  while ((at = strstr(at, "object ")) != NULL) {
    at += strlen("object ");
    if (sscanf(at, "%d %d", &id, &generation) != 2)
      continue;
    object = qpdf_get_object_by_id(pdf, id, generation);
    lost = qpdf_oh_is_null(pdf, object);
    qpdf_oh_release(pdf, object);
    return lost;
  }
  return true;
}

/* Goes through the warnings since the last call. */
static bool was_anything_lost(struct look *l)
{
  bool lost = false;

  while (qpdf_more_warnings(l->pdf)) {
    qpdf_error warning = qpdf_next_warning(l->pdf);

    l->defects = true;
    lost = is_lost(l->pdf, qpdf_get_error_full_text(l->pdf, warning)) || lost;
  }
  return lost;
}

static void ignore_warnings(struct look *l)
{
  while (qpdf_more_warnings(l->pdf)) {
    (void)qpdf_next_warning(l->pdf);
    l->defects = true;
  }
}

/* ---- the page tree ---- */

static bool look_at_node(struct look *l, qpdf_oh node, int depth);

static bool look_at_kids(struct look *l, qpdf_oh kids, int depth)
{
  int count = qpdf_oh_get_array_n_items(l->pdf, kids), i;
  bool ok = depth < DEPTH_MAX;

  for (i = 0; i < count && ok; i++) {
    qpdf_oh kid = qpdf_oh_get_array_item(l->pdf, kids, i);

    ok = qpdf_oh_is_dictionary(l->pdf, kid) && look_at_node(l, kid, depth + 1);
    qpdf_oh_release(l->pdf, kid);
  }
  return ok;
}

static bool is_stream_or_null(qpdf_data pdf, qpdf_oh object)
{
  return qpdf_oh_is_stream(pdf, object) || qpdf_oh_is_null(pdf, object);
}

/* Only streams: readers skip anything else, and whoever draws the page would
 * not know what is missing. */
static bool look_at_contents(struct look *l, qpdf_oh page)
{
  qpdf_oh contents = qpdf_oh_get_key(l->pdf, page, "/Contents");
  bool is_array = qpdf_oh_is_array(l->pdf, contents);
  bool ok = is_array || is_stream_or_null(l->pdf, contents);
  int count = is_array ? qpdf_oh_get_array_n_items(l->pdf, contents) : 0, i;

  for (i = 0; i < count && ok; i++) {
    qpdf_oh item = qpdf_oh_get_array_item(l->pdf, contents, i);

    ok = is_stream_or_null(l->pdf, item);
    qpdf_oh_release(l->pdf, item);
  }
  return walk_add(&l->drawn, contents) && ok;
}

/* A node that claims more pages than there are has lost some; if it claims
 * fewer, some viewers show fewer. */
static bool has_claimed(qpdf_data pdf, qpdf_oh node, int pages)
{
  qpdf_oh count = qpdf_oh_get_key(pdf, node, "/Count");
  bool ok = !qpdf_oh_is_integer(pdf, count) ||
            qpdf_oh_get_int_value(pdf, count) == pages;

  qpdf_oh_release(pdf, count);
  return ok;
}

static bool look_at_resources(struct look *l, qpdf_oh node)
{
  return walk_add(&l->drawn, qpdf_oh_get_key(l->pdf, node, "/Resources"));
}

/* A page listed again counts again, but is not visited again: direct objects in
 * it would be visited each time. */
static bool look_at_page(struct look *l, qpdf_oh page)
{
  bool before;

  l->pages++;
  if (!walk_mark(&l->nodes, page, &before))
    return false;
  return before ||
         (look_at_resources(l, page) && look_at_contents(l, page) &&
          walk_add(&l->notes, qpdf_oh_get_key(l->pdf, page, "/Annots")));
}

static bool look_at_branch(struct look *l, qpdf_oh node, qpdf_oh kids,
                           int depth)
{
  int first = l->pages;
  bool before;

  return walk_mark(&l->nodes, node, &before) && !before &&
         look_at_resources(l, node) && look_at_kids(l, kids, depth) &&
         has_claimed(l->pdf, node, l->pages - first);
}

static bool look_at_node(struct look *l, qpdf_oh node, int depth)
{
  qpdf_oh kids = qpdf_oh_get_key(l->pdf, node, "/Kids");
  bool ok = qpdf_oh_is_array(l->pdf, kids)
                ? look_at_branch(l, node, kids, depth)
                : qpdf_oh_is_null(l->pdf, kids) && look_at_page(l, node);

  qpdf_oh_release(l->pdf, kids);
  return ok;
}

/* libqpdf follows /Parent from the root to another tree, whose pages no viewer
 * shows. */
static bool is_top(qpdf_data pdf, qpdf_oh tree)
{
  return qpdf_oh_is_dictionary(pdf, tree) &&
         !qpdf_oh_has_key(pdf, tree, "/Parent");
}

static bool look_at_tree(struct look *l)
{
  qpdf_oh root = qpdf_get_root(l->pdf);
  qpdf_oh tree = qpdf_oh_get_key(l->pdf, root, "/Pages");
  bool ok = is_top(l->pdf, tree) && look_at_node(l, tree, 0);

  qpdf_oh_release(l->pdf, tree);
  qpdf_oh_release(l->pdf, root);
  return ok;
}

/* ---- annotations ---- */

/* Losses in a list itself are ignored: some versions of cairo list links
 * that they never write. */
static bool look_at_annotations(struct look *l, qpdf_oh list)
{
  int count = qpdf_oh_is_array(l->pdf, list)
                  ? qpdf_oh_get_array_n_items(l->pdf, list)
                  : 0;
  bool ok = true;
  int i;

  for (i = 0; i < count && ok; i++) {
    qpdf_oh note = qpdf_oh_get_array_item(l->pdf, list, i);

    if (qpdf_oh_is_dictionary(l->pdf, note))
      ok = walk_add(&l->drawn, qpdf_oh_get_key(l->pdf, note, "/AP"));
    qpdf_oh_release(l->pdf, note);
  }
  ignore_warnings(l);
  return ok;
}

static bool look_at_lists(struct look *l)
{
  bool ok = true, before;

  while (l->notes.count > 0 && ok) {
    qpdf_oh list = l->notes.waiting[--l->notes.count];

    ok = walk_mark(&l->notes, list, &before) &&
         (before || look_at_annotations(l, list));
    qpdf_oh_release(l->pdf, list);
  }
  return ok;
}

static enum dx_reason reason_of(const struct look *l, bool ok)
{
  if (ok)
    return DX_REASON_NONE;
  return l->nodes.is_out_of_memory || l->drawn.is_out_of_memory ||
                 l->notes.is_out_of_memory
             ? DX_REASON_TROUBLE
             : DX_REASON_DAMAGED;
}

enum dx_reason whole_pages(qpdf_data pdf, int *ret_pages, bool *ret_defects)
{
  struct look l = {.pdf = pdf,
                   .nodes = {.pdf = pdf},
                   .drawn = {.pdf = pdf, .skips = leads_away},
                   .notes = {.pdf = pdf}};
  bool ok;

  ignore_warnings(&l); /* what matters of them is null, and found below */
  ok = look_at_tree(&l) && walk_run(&l.drawn) && !was_anything_lost(&l) &&
       look_at_lists(&l) && walk_run(&l.drawn) && !was_anything_lost(&l) &&
       qpdf_get_num_pages(pdf) == l.pages;
  walk_free(&l.nodes);
  walk_free(&l.drawn);
  walk_free(&l.notes);
  *ret_pages = l.pages;
  *ret_defects = l.defects;
  return reason_of(&l, ok);
}
