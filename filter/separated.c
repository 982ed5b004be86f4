/*
 * separated.c - compares pages with the separator page; changes nothing.
 */
#include "filter/separated.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/digest.h"

#define DEPTH_MAX 32  /* of resources within resources */
#define KEYS_MAX 1000 /* of one dictionary in them */

/* What a page draws, and its resources. */
struct drawing {
  qpdf_data pdf;
  unsigned char *content;
  size_t len;
  qpdf_oh resources;
};

/* A checksum of resources. */
struct sum {
  qpdf_data pdf;
  struct dx_sha256 *sha; /* while it is being computed */
  int values;            /* visited; what is used twice counts twice */
  int values_max;
  char hex[DX_SHA256_HEX_BYTES];
};

/* ---- resources ---- */

/* How a stream is encoded and where an object belongs may differ. */
static bool is_about_storage(const char *key)
{
  static const char *const keys[] = {"/Length", "/Filter", "/DecodeParms",
                                     "/Parent", "/StructParents"};
  size_t i;

  for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
    if (strcmp(key, keys[i]) == 0)
      return true;
  return false;
}

static bool add_text(struct sum *sum, const char *text)
{
  return dx_sha256_add(sum->sha, text, strlen(text) + 1);
}

/* qpdf iterates over one dictionary at a time, so the keys are copied. */
static size_t copy_keys(qpdf_data pdf, qpdf_oh dict, char **keys)
{
  size_t count = 0;

  qpdf_oh_begin_dict_key_iter(pdf, dict);
  while (qpdf_oh_dict_more_keys(pdf)) {
    const char *key = qpdf_oh_dict_next_key(pdf);

    if (count < KEYS_MAX && !is_about_storage(key))
      keys[count++] = strdup(key);
  }
  return count;
}

static bool add_tree(struct sum *sum, qpdf_oh object, int depth);

static bool add_dictionary(struct sum *sum, qpdf_oh dict, int depth)
{
  char **keys = calloc(KEYS_MAX, sizeof(*keys));
  size_t count = keys != NULL ? copy_keys(sum->pdf, dict, keys) : 0, i;
  bool ok = keys != NULL && count < KEYS_MAX && add_text(sum, "<<");

  for (i = 0; i < count; i++) {
    if (ok && keys[i] != NULL) {
      qpdf_oh value = qpdf_oh_get_key(sum->pdf, dict, keys[i]);

      ok = add_text(sum, keys[i]) && add_tree(sum, value, depth + 1);
      qpdf_oh_release(sum->pdf, value);
    }
    free(keys[i]);
  }
  free(keys);
  return ok;
}

static bool add_array(struct sum *sum, qpdf_oh array, int depth)
{
  int count = qpdf_oh_get_array_n_items(sum->pdf, array), i;
  bool ok = add_text(sum, "[");

  for (i = 0; i < count && ok; i++) {
    qpdf_oh item = qpdf_oh_get_array_item(sum->pdf, array, i);

    ok = add_tree(sum, item, depth + 1);
    qpdf_oh_release(sum->pdf, item);
  }
  return ok;
}

static bool add_stream(struct sum *sum, qpdf_oh stream, int depth)
{
  qpdf_oh dict = qpdf_oh_get_dict(sum->pdf, stream);
  unsigned char *bytes = NULL;
  size_t len = 0;
  bool ok = add_dictionary(sum, dict, depth) &&
            (qpdf_oh_get_stream_data(sum->pdf, stream, qpdf_dl_generalized,
                                     NULL, &bytes, &len) &
             QPDF_ERRORS) == 0 &&
            dx_sha256_add(sum->sha, bytes, len);

  free(bytes);
  qpdf_oh_release(sum->pdf, dict);
  return ok;
}

static bool add_tree(struct sum *sum, qpdf_oh object, int depth)
{
  if (depth > DEPTH_MAX || ++sum->values > sum->values_max)
    return false;
  switch (qpdf_oh_get_type_code(sum->pdf, object)) {
  case ot_dictionary:
    return add_dictionary(sum, object, depth);
  case ot_array:
    return add_array(sum, object, depth);
  case ot_stream:
    return add_stream(sum, object, depth);
  default:
    return add_text(sum, qpdf_oh_unparse_resolved(sum->pdf, object));
  }
}

static bool sum_up(struct sum *sum, qpdf_oh object)
{
  bool ok;

  sum->sha = dx_sha256_new();
  ok = sum->sha != NULL && add_tree(sum, object, 0) &&
       dx_sha256_end(sum->sha, sum->hex);
  dx_sha256_free(&sum->sha);
  return ok;
}

/* ---- pages ---- */

static void release(struct drawing *d)
{
  free(d->content);
  qpdf_oh_release(d->pdf, d->resources);
}

/* Joining streams adds blanks at the end. */
static void trim(struct drawing *d)
{
  while (d->len > 0 && strchr(" \r\n\t", d->content[d->len - 1]) != NULL)
    d->len--;
}

static bool draw_page(qpdf_data pdf, qpdf_oh page, struct drawing *ret)
{
  *ret = (struct drawing){.pdf = pdf};
  if ((qpdf_oh_get_page_content_data(pdf, page, &ret->content, &ret->len) &
       QPDF_ERRORS) != 0)
    return false;
  ret->resources = qpdf_oh_get_key(pdf, page, "/Resources");
  trim(ret);
  return true;
}

/* The key of the only entry, for the caller to free; NULL if there is not
 * exactly one. */
static char *only_key(qpdf_data pdf, qpdf_oh dict)
{
  char *key = NULL;

  if (!qpdf_oh_is_dictionary(pdf, dict))
    return NULL;
  qpdf_oh_begin_dict_key_iter(pdf, dict);
  if (qpdf_oh_dict_more_keys(pdf))
    key = strdup(qpdf_oh_dict_next_key(pdf));
  if (qpdf_oh_dict_more_keys(pdf)) {
    free(key);
    key = NULL;
  }
  return key;
}

static bool draw_form(qpdf_data pdf, qpdf_oh form, struct drawing *ret)
{
  qpdf_oh dict = qpdf_oh_get_dict(pdf, form);

  *ret = (struct drawing){.pdf = pdf};
  ret->resources = qpdf_oh_get_key(pdf, dict, "/Resources");
  qpdf_oh_release(pdf, dict);
  if ((qpdf_oh_get_stream_data(pdf, form, qpdf_dl_generalized, NULL,
                               &ret->content, &ret->len) &
       QPDF_ERRORS) != 0) {
    release(ret);
    return false;
  }
  trim(ret);
  return true;
}

/* The only object on a page; pdftopdf scales pages this way. */
static bool draw_inner(const struct drawing *page, struct drawing *ret)
{
  qpdf_data pdf = page->pdf;
  qpdf_oh forms, form = 0;
  char *key;
  bool ok = false;

  if (!qpdf_oh_is_dictionary(pdf, page->resources))
    return false;
  forms = qpdf_oh_get_key(pdf, page->resources, "/XObject");
  key = only_key(pdf, forms);
  if (key != NULL) {
    form = qpdf_oh_get_key(pdf, forms, key);
    ok = qpdf_oh_is_stream(pdf, form) && draw_form(pdf, form, ret);
    qpdf_oh_release(pdf, form);
  }
  free(key);
  qpdf_oh_release(pdf, forms);
  return ok;
}

/* The resources of `a` are visited no further than those of the separator go:
 * forms that show each other could be visited in any number of ways. */
static bool is_same(const struct drawing *a, const struct drawing *separator,
                    const struct sum *resources)
{
  struct sum sum = {.pdf = a->pdf, .values_max = resources->values};

  return a->len == separator->len &&
         memcmp(a->content, separator->content, a->len) == 0 &&
         sum_up(&sum, a->resources) && strcmp(sum.hex, resources->hex) == 0;
}

static bool shows(const struct drawing *page, const struct drawing *separator,
                  const struct sum *resources)
{
  struct drawing inner;
  bool same = is_same(page, separator, resources);

  if (!same && draw_inner(page, &inner)) {
    same = is_same(&inner, separator, resources);
    release(&inner);
  }
  return same;
}

bool is_separated(qpdf_data pdf, int pages, qpdf_data separator)
{
  struct drawing wanted, page;
  struct sum resources = {.pdf = separator, .values_max = INT_MAX};
  bool found = false, ok;
  int i;

  if (!draw_page(separator, qpdf_get_page_n(separator, 0), &wanted))
    return false;
  ok = wanted.len > 0 && sum_up(&resources, wanted.resources);
  for (i = 0; i < pages && !found && ok; i++) {
    if (!draw_page(pdf, qpdf_get_page_n(pdf, (size_t)i), &page))
      continue;
    found = shows(&page, &wanted, &resources);
    release(&page);
  }
  release(&wanted);
  return found;
}
