/*
 * stream.c - the dictionaries of streams and images: filters and sizes. The
 * bytes are judged by unpack.c, content.c, and the decoders.
 */
#include "filter/stream.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/codecs.h"
#include "filter/content.h"
#include "filter/jpeg.h"
#include "filter/qpdf.h"
#include "filter/unpack.h"

#define FILTERS_MAX 8
#define COMPONENTS_MAX 32 /* of DeviceN */
#define NESTING_MAX 8     /* of color spaces */
#define AES_BYTES 32      /* initialization vector and padding */

/* What an image may have beyond its size and as much again: in 1,400 PDFs the
 * most was 24 bits for each pixel where 1 was declared, of a small image. And
 * an inline image before EI: more could be the next image. */
#define EXCESS_BYTES (1 << 20)
#define EXCESS_INLINE_BYTES 16
#define INLINE_DICT_BYTES (64 << 10)

enum { FILTER_DCT = UNPACK_FLATE + 1, FILTER_JPX, FILTER_CCITT, FILTER_JBIG2 };

/* How the bytes of a stream are stored. */
struct packing {
  struct unpack_stage stages[FILTERS_MAX];
  size_t count;
  int codec;                     /* a FILTER_ after the stages; 0: none */
  qpdf_oh parms;                 /* of the last filter; to be released */
  long long predictor, row_bits; /* of the last stage */
};

/* What was unpacked. */
struct unpacked {
  struct stream_check *c;
  bool keep; /* in `bytes`, which the caller frees */
  unsigned char *bytes;
  size_t len, room, most;
  bool no_memory;
  enum unpack_end end; /* WHOLE or SHORT */
  size_t used;         /* of the input */
};

struct image {
  struct stream_check *c;
  qpdf_oh dict, resources;
  qpdf_oh stream; /* 0: inline */
  bool first;     /* inline: up to the first EI */
  long long width, height;
};

static enum dx_reason stream_damaged(struct stream_check *c, const char *why)
{
  c->why = why;
  return DX_REASON_DAMAGED;
}

static bool stream_spend(struct stream_check *c, long long bytes)
{
  c->left -= bytes < c->left ? bytes : c->left + 1;
  return c->left >= 0;
}

/* ---- dictionaries ---- */

/* The value of either key, which the caller releases. Inline images have
 * abbreviations, which win; viewers accept them everywhere. */
static qpdf_oh stream_key(qpdf_data pdf, qpdf_oh dict, const char *key,
                          const char *abbreviation)
{
  qpdf_oh value;

  if (!qpdf_oh_is_dictionary(pdf, dict))
    return qpdf_oh_new_null(pdf);
  value = qpdf_oh_get_key(pdf, dict, abbreviation != NULL ? abbreviation : key);
  if (abbreviation == NULL || !qpdf_oh_is_null(pdf, value))
    return value;
  qpdf_oh_release(pdf, value);
  return qpdf_oh_get_key(pdf, dict, key);
}

/* A number or truth value; two of them can be multiplied. */
static long long stream_number(qpdf_data pdf, qpdf_oh dict, const char *key,
                               const char *abbreviation, long long otherwise)
{
  qpdf_oh value = stream_key(pdf, dict, key, abbreviation);
  long long number = otherwise;

  if (qpdf_oh_is_integer(pdf, value))
    number = qpdf_oh_get_int_value(pdf, value);
  else if (qpdf_oh_is_bool(pdf, value))
    number = qpdf_oh_get_bool_value(pdf, value);
  qpdf_oh_release(pdf, value);
  return number > INT_MAX ? INT_MAX : number < INT_MIN ? INT_MIN : number;
}

/* The item of an array; otherwise the object itself, as if it were item 0. */
static qpdf_oh stream_item(qpdf_data pdf, qpdf_oh object, int i)
{
  if (!qpdf_oh_is_array(pdf, object))
    return i == 0 ? qpdf_oh_new_object(pdf, object) : qpdf_oh_new_null(pdf);
  return i < qpdf_oh_get_array_n_items(pdf, object)
             ? qpdf_oh_get_array_item(pdf, object, i)
             : qpdf_oh_new_null(pdf);
}

/* "" if it is none. */
static const char *stream_name(qpdf_data pdf, qpdf_oh name)
{
  return qpdf_oh_is_name(pdf, name) ? qpdf_oh_get_name(pdf, name) : "";
}

/* False: a filter that is not known, or a combination that no program writes:
 * predictors are not undone here, and no other filter can follow a codec. */
static bool stream_add_filter(qpdf_data pdf, struct packing *p,
                              const char *name)
{
  static const struct {
    const char *name, *abbreviation;
    int filter;
  } filters[] = {{"/FlateDecode", "/Fl", UNPACK_FLATE},
                 {"/LZWDecode", "/LZW", UNPACK_LZW},
                 {"/ASCII85Decode", "/A85", UNPACK_85},
                 {"/ASCIIHexDecode", "/AHx", UNPACK_HEX},
                 {"/RunLengthDecode", "/RL", UNPACK_RUN_LENGTH},
                 {"/DCTDecode", "/DCT", FILTER_DCT},
                 {"/CCITTFaxDecode", "/CCF", FILTER_CCITT},
                 {"/JBIG2Decode", "/JBIG2Decode", FILTER_JBIG2},
                 {"/JPXDecode", "/JPXDecode", FILTER_JPX}};
  const size_t known = sizeof(filters) / sizeof(filters[0]);
  size_t i = 0;

  if (strcmp(name, "/Crypt") == 0) /* libqpdf decrypts */
    return true;
  while (i < known && strcmp(name, filters[i].name) != 0 &&
         strcmp(name, filters[i].abbreviation) != 0)
    i++;
  if (i == known || p->codec != 0 || p->predictor > 1 ||
      p->count == FILTERS_MAX)
    return false;
  if (filters[i].filter > UNPACK_FLATE) {
    p->codec = filters[i].filter;
    return true;
  }
  p->stages[p->count++] = (struct unpack_stage){
      .filter = (enum unpack_filter)filters[i].filter,
      .early_change =
          stream_number(pdf, p->parms, "/EarlyChange", NULL, 1) != 0};
  if (filters[i].filter >= UNPACK_LZW) {
    p->predictor = stream_number(pdf, p->parms, "/Predictor", NULL, 1);
    p->row_bits =
        stream_number(pdf, p->parms, "/Columns", NULL, 1) *
        (stream_number(pdf, p->parms, "/Colors", NULL, 1) & 0xff) *
        (stream_number(pdf, p->parms, "/BitsPerComponent", NULL, 8) & 0x1f);
  }
  return true;
}

static enum dx_reason stream_read_packing(qpdf_data pdf, qpdf_oh dict,
                                          struct packing *ret)
{
  qpdf_oh filter = stream_key(pdf, dict, "/Filter", "/F");
  qpdf_oh parms = stream_key(pdf, dict, "/DecodeParms", "/DP");
  int count = qpdf_oh_is_array(pdf, filter)
                  ? qpdf_oh_get_array_n_items(pdf, filter)
                  : !qpdf_oh_is_null(pdf, filter);
  bool ok = true;

  *ret = (struct packing){.parms = qpdf_oh_new_null(pdf)};
  for (int i = 0; i < count && ok; i++) {
    qpdf_oh name = stream_item(pdf, filter, i);

    qpdf_oh_release(pdf, ret->parms);
    ret->parms = stream_item(pdf, parms, i);
    ok = stream_add_filter(pdf, ret, stream_name(pdf, name));
    qpdf_oh_release(pdf, name);
  }
  qpdf_oh_release(pdf, filter);
  qpdf_oh_release(pdf, parms);
  return ok ? DX_REASON_NONE : DX_REASON_UNKNOWN;
}

/* 0: unknown. */
static long long stream_components(qpdf_data pdf, qpdf_oh space,
                                   qpdf_oh resources, int nesting)
{
  static const struct {
    const char *name;
    long long components;
  } spaces[] = {{"/DeviceGray", 1}, {"/G", 1},          {"/CalGray", 1},
                {"/Indexed", 1},    {"/I", 1},          {"/Separation", 1},
                {"/DeviceRGB", 3},  {"/RGB", 3},        {"/CalRGB", 3},
                {"/Lab", 3},        {"/DeviceCMYK", 4}, {"/CMYK", 4}};
  qpdf_oh first = stream_item(pdf, space, 0);
  qpdf_oh second = stream_item(pdf, space, 1);
  const char *name = stream_name(pdf, first);
  long long components = 0;

  for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
    if (strcmp(name, spaces[i].name) == 0)
      components = spaces[i].components;
  if (strcmp(name, "/ICCBased") == 0 && qpdf_oh_is_stream(pdf, second)) {
    qpdf_oh dict = qpdf_oh_get_dict(pdf, second);

    components = stream_number(pdf, dict, "/N", NULL, 0);
    qpdf_oh_release(pdf, dict);
  } else if (strcmp(name, "/DeviceN") == 0 && qpdf_oh_is_array(pdf, second)) {
    components = qpdf_oh_get_array_n_items(pdf, second);
  } else if (components == 0 && name[0] != '\0' && nesting < NESTING_MAX) {
    qpdf_oh named = stream_key(pdf, resources, "/ColorSpace", NULL);
    qpdf_oh value = stream_key(pdf, named, name, NULL);

    components = stream_components(pdf, value, resources, nesting + 1);
    qpdf_oh_release(pdf, value);
    qpdf_oh_release(pdf, named);
  }
  qpdf_oh_release(pdf, second);
  qpdf_oh_release(pdf, first);
  return components > 0 && components <= COMPONENTS_MAX ? components : 0;
}

/* ---- bytes ---- */

static bool stream_take(void *ctx, const unsigned char *bytes, size_t len)
{
  struct unpacked *u = ctx;

  if (!stream_spend(u->c, (long long)len) || bytes == NULL)
    return u->c->left >= 0;
  if (u->keep && len > u->room - u->len) {
    size_t room = u->room + u->room / 2 + len;
    unsigned char *grown = realloc(u->bytes, room);

    u->no_memory = grown == NULL;
    if (u->no_memory)
      return false;
    u->bytes = grown;
    u->room = room;
  }
  if (u->keep)
    memcpy(u->bytes + u->len, bytes, len);
  u->len += len;
  return u->len <= u->most;
}

static enum dx_reason stream_unpack(const struct packing *p,
                                    const unsigned char *bytes, size_t len,
                                    struct unpacked *u)
{
  u->end = unpack(p->stages, p->count, bytes, len, stream_take, u, &u->used);
  if (u->no_memory || u->end == UNPACK_NO_MEMORY)
    return DX_REASON_TROUBLE;
  if (u->end == UNPACK_STOPPED)
    return DX_REASON_TOO_COMPLEX;
  if (u->end == UNPACK_CUT || u->end == UNPACK_DAMAGED)
    return stream_damaged(u->c, u->end == UNPACK_CUT
                                    ? "a part of it ends early"
                                    : "a part of it is damaged");
  return DX_REASON_NONE;
}

/* If /Length is wrong, libqpdf searches for the end, perhaps a wrong one. */
static bool stream_has_length(qpdf_data pdf, qpdf_oh dict, size_t len)
{
  long long more =
      stream_number(pdf, dict, "/Length", NULL, -1) - (long long)len;

  return more >= 0 && more <= (qpdf_is_encrypted(pdf) ? AES_BYTES : 0);
}

/* The bytes as they are stored, but decrypted; the caller frees them. */
static enum dx_reason stream_read(struct stream_check *c, qpdf_oh stream,
                                  qpdf_oh dict, unsigned char **ret_bytes,
                                  size_t *ret_len)
{
  *ret_bytes = NULL;
  *ret_len = 0;
  if (qpdf_oh_has_key(c->pdf, dict, "/F"))
    return stream_damaged(c, "a part of it is in another file");
  if ((qpdf_oh_get_stream_data(c->pdf, stream, qpdf_dl_none, NULL, ret_bytes,
                               ret_len) &
       QPDF_ERRORS) != 0) {
    (void)qpdf_get_error(c->pdf);
    return stream_damaged(c, "a part of it cannot be read");
  }
  /* A stream whose end libqpdf cannot find is empty to it. */
  if (*ret_len == 0 && !stream_has_length(c->pdf, dict, 0))
    return stream_damaged(c, "a part of it ends early");
  return DX_REASON_NONE;
}

/* Unpacks a stream that is no image; its bytes are added to those in `u`. */
static enum dx_reason stream_load(qpdf_oh stream, struct unpacked *u)
{
  qpdf_data pdf = u->c->pdf;
  qpdf_oh dict = qpdf_oh_get_dict(pdf, stream);
  struct packing p;
  unsigned char *raw;
  size_t len;
  enum dx_reason reason = stream_read(u->c, stream, dict, &raw, &len);

  u->end = UNPACK_WHOLE;
  if (reason == DX_REASON_NONE) {
    reason = stream_read_packing(pdf, dict, &p);
    qpdf_oh_release(pdf, p.parms);
    if (p.codec != 0 || (p.predictor > 1 && u->keep))
      reason = DX_REASON_UNKNOWN;
  }
  if (reason == DX_REASON_NONE && len > 0) {
    reason = stream_unpack(&p, raw, len, u);
    if (p.count == 0 && u->keep && !stream_has_length(pdf, dict, len))
      u->end = UNPACK_SHORT;
  }
  free(raw);
  qpdf_oh_release(pdf, dict);
  return reason;
}

/* ---- images ---- */

/* Of the samples, when unpacked; with PNG predictors each row has one more. */
static size_t image_size(const struct image *image, const struct packing *p)
{
  qpdf_data pdf = image->c->pdf;
  qpdf_oh space = stream_key(pdf, image->dict, "/ColorSpace", "/CS");
  long long components = stream_components(pdf, space, image->resources, 0);
  long long bits =
      stream_number(pdf, image->dict, "/BitsPerComponent", "/BPC", 8);
  long long row = (p->row_bits + 7) / 8, size;

  qpdf_oh_release(pdf, space);
  if (stream_number(pdf, image->dict, "/ImageMask", "/IM", 0) != 0)
    bits = components = 1;
  if (bits < 1 || bits > 16 || components == 0 ||
      __builtin_mul_overflow((image->width * components * bits + 7) / 8,
                             image->height, &size) ||
      size > LLONG_MAX / 4)
    return SIZE_MAX / 4; /* more than there can be */
  if (p->predictor >= 10 && row > 0)
    size += (size + row - 1) / row;
  return (size_t)size;
}

static bool image_clean_jpeg(const unsigned char *bytes, size_t len,
                             qpdf_sink *sink, void *ctx)
{
  return jpeg_clean(bytes, len, false, sink, ctx);
}

static enum dx_reason image_check_jpeg(const struct image *image,
                                       const struct packing *p,
                                       const unsigned char *bytes, size_t len)
{
  struct stream_check *c = image->c;
  struct jpeg_info info = {0};
  enum dx_reason reason = jpeg_check(bytes, len, &info, &c->why);
  long long pixels = (long long)info.width * info.height;

  if (reason != DX_REASON_NONE)
    return reason;
  if (!stream_spend(c, pixels * info.components))
    return DX_REASON_TOO_COMPLEX;
  if (pixels < image->width * image->height)
    return stream_damaged(c, "an image is smaller than it should be");
  if (!info.has_metadata || p->count > 0 || image->stream == 0)
    return DX_REASON_NONE;
  return qpdf_rewrite_stream(c->pdf, image->stream, image_clean_jpeg)
             ? DX_REASON_NONE
             : DX_REASON_DAMAGED;
}

static enum dx_reason image_check_jbig2(const struct image *image,
                                        const struct packing *p,
                                        const unsigned char *bytes, size_t len)
{
  struct stream_check *c = image->c;
  struct unpacked globals = {.c = c, .keep = true, .most = SIZE_MAX};
  enum dx_reason reason = DX_REASON_NONE;
  qpdf_oh stream = stream_key(c->pdf, p->parms, "/JBIG2Globals", NULL);

  if (qpdf_oh_is_stream(c->pdf, stream))
    reason = stream_load(stream, &globals);
  if (reason == DX_REASON_NONE)
    reason =
        codecs_jbig2(bytes, len, globals.bytes, globals.len,
                     (uint32_t)image->width, (uint32_t)image->height, &c->why);
  free(globals.bytes);
  qpdf_oh_release(c->pdf, stream);
  return reason;
}

/* The rows of the data need not be as long as those of the image. */
static enum dx_reason image_check_ccitt(const struct image *image,
                                        const struct packing *p,
                                        const unsigned char *bytes, size_t len)
{
  qpdf_data pdf = image->c->pdf;
  long long columns = stream_number(pdf, p->parms, "/Columns", NULL, 1728);
  long long row = columns < 1 ? 1 : (columns + 7) / 8;
  long long size = (image->width + 7) / 8 * image->height;
  long long rows = (size + row - 1) / row;
  struct codecs_ccitt ccitt = {
      .k = (int)stream_number(pdf, p->parms, "/K", NULL, 0),
      .columns = (uint32_t)columns,
      .rows = (uint32_t)rows,
      .byte_align = stream_number(pdf, p->parms, "/EncodedByteAlign", NULL, 0)};

  if (columns < 1 || rows > INT_MAX)
    return stream_damaged(image->c, "an image has no size");
  if (!stream_spend(image->c, size))
    return DX_REASON_TOO_COMPLEX;
  return codecs_ccitt(bytes, len, &ccitt, &image->c->why);
}

static enum dx_reason image_decode(const struct image *image,
                                   const struct packing *p,
                                   const unsigned char *bytes, size_t len)
{
  if (p->codec == FILTER_DCT)
    return image_check_jpeg(image, p, bytes, len);
  if (p->codec == FILTER_CCITT)
    return image_check_ccitt(image, p, bytes, len);
  if (p->codec == FILTER_JBIG2)
    return image_check_jbig2(image, p, bytes, len);
  return codecs_jpx(bytes, len, (uint32_t)image->width, (uint32_t)image->height,
                    &image->c->why);
}

static enum dx_reason image_check(struct image *image,
                                  const unsigned char *bytes, size_t len)
{
  struct stream_check *c = image->c;
  bool is_inline = image->stream == 0;
  struct unpacked u = {.c = c, .len = len, .most = SIZE_MAX, .used = len};
  struct packing p;
  enum dx_reason reason = stream_read_packing(c->pdf, image->dict, &p);
  long long unknown = p.codec == FILTER_JPX ? 0 : -1;
  size_t need = 0;

  image->width = stream_number(c->pdf, image->dict, "/Width", "/W", unknown);
  image->height = stream_number(c->pdf, image->dict, "/Height", "/H", unknown);
  if (reason == DX_REASON_NONE && (image->width < 0 || image->height < 0))
    reason = stream_damaged(c, "an image has no size");
  if (reason == DX_REASON_NONE && p.codec == 0) {
    need = image_size(image, &p);
    u.most = 2 * need + EXCESS_BYTES;
  }
  if (reason == DX_REASON_NONE && p.count > 0 && len > 0) {
    /* The line end before EI must not complete what was cut. */
    while (is_inline && image->first && len > 0 &&
           (bytes[len - 1] == '\r' || bytes[len - 1] == '\n'))
      len--;
    u.len = 0;
    u.keep = p.codec != 0;
    reason = stream_unpack(&p, bytes, len, &u);
  }
  if (reason == DX_REASON_NONE && u.len < need)
    reason = stream_damaged(c, "an image ends early");
  if (reason == DX_REASON_NONE && is_inline && p.codec == 0) {
    size_t excess = len - (p.count > 0 ? u.used : need);

    /* At a later EI it must be certain where the data end. */
    if (excess > EXCESS_INLINE_BYTES ||
        (!image->first && p.count > 0 && excess == 0))
      reason = stream_damaged(c, "an image ends early");
  }
  if (reason == DX_REASON_NONE && p.codec != 0)
    reason = image_decode(image, &p, p.count > 0 ? u.bytes : bytes, u.len);
  free(u.bytes);
  qpdf_oh_release(c->pdf, p.parms);
  return reason;
}

/* ---- content ---- */

static enum dx_reason image_check_inline(void *ctx, const unsigned char *dict,
                                         size_t dict_len,
                                         const unsigned char *data, size_t len,
                                         bool first)
{
  struct image image = *(struct image *)ctx;
  qpdf_data pdf = image.c->pdf;
  enum dx_reason reason;
  char *text;

  if (dict_len > INLINE_DICT_BYTES)
    return DX_REASON_TOO_COMPLEX;
  if (asprintf(&text, "<<%*s>>", (int)dict_len, "") < 0)
    return DX_REASON_TROUBLE;
  /* NUL may be in the colors of a palette, which do not matter here. */
  for (size_t i = 0; i < dict_len; i++)
    text[i + 2] = dict[i] == '\0' ? ' ' : (char)dict[i];
  image.dict = qpdf_oh_parse(pdf, text);
  free(text);
  if (qpdf_has_error(pdf))
    (void)qpdf_get_error(pdf);
  image.first = first;
  reason = image_check(&image, data, len);
  if (reason == DX_REASON_DAMAGED)
    image.c->why = "a small image ends early or is damaged";
  qpdf_oh_release(pdf, image.dict);
  return reason;
}

static enum dx_reason stream_check_content(struct stream_check *c,
                                           qpdf_oh resources,
                                           const unsigned char *bytes,
                                           size_t len, bool ended_early)
{
  struct image image = {.c = c, .resources = resources};

  c->why = "its content ends early";
  return content_check(bytes, len, ended_early, image_check_inline, &image);
}

/* Other reasons have texts of their own. */
static enum dx_reason stream_end(struct stream_check *c, enum dx_reason reason)
{
  if (reason == DX_REASON_UNKNOWN)
    c->why = "a part of it is stored in a way that is not known here";
  else if (reason != DX_REASON_DAMAGED)
    c->why = NULL;
  return reason;
}

enum dx_reason stream_whole(struct stream_check *c, qpdf_oh stream,
                            enum stream_kind kind, qpdf_oh resources)
{
  struct unpacked u = {
      .c = c, .keep = kind == STREAM_CONTENT, .most = SIZE_MAX};
  struct image image = {.c = c, .stream = stream, .resources = resources};
  enum dx_reason reason;
  unsigned char *raw;
  size_t len;

  if (kind == STREAM_IMAGE) {
    image.dict = qpdf_oh_get_dict(c->pdf, stream);
    reason = stream_read(c, stream, image.dict, &raw, &len);
    if (reason == DX_REASON_NONE)
      reason = image_check(&image, raw, len);
    free(raw);
    qpdf_oh_release(c->pdf, image.dict);
    return stream_end(c, reason);
  }
  reason = stream_load(stream, &u);
  if (reason == DX_REASON_NONE && kind == STREAM_CONTENT)
    reason = stream_check_content(c, resources, u.bytes, u.len,
                                  u.end == UNPACK_SHORT);
  else if (reason == DX_REASON_NONE && u.end == UNPACK_SHORT)
    reason = stream_damaged(c, "a part of it ends early");
  free(u.bytes);
  return stream_end(c, reason);
}

enum dx_reason stream_contents_whole(struct stream_check *c, qpdf_oh page)
{
  qpdf_data pdf = c->pdf;
  qpdf_oh contents = stream_key(pdf, page, "/Contents", NULL);
  qpdf_oh resources = stream_key(pdf, page, "/Resources", NULL);
  struct unpacked u = {.c = c, .keep = true, .most = SIZE_MAX};
  enum dx_reason reason = DX_REASON_NONE;
  int count = qpdf_oh_is_array(pdf, contents)
                  ? qpdf_oh_get_array_n_items(pdf, contents)
                  : 1;

  for (int i = 0; i < count && reason == DX_REASON_NONE; i++) {
    qpdf_oh item = stream_item(pdf, contents, i);
    size_t before = u.len;

    u.end = UNPACK_WHOLE;
    if (qpdf_oh_is_stream(pdf, item))
      reason = stream_load(item, &u);
    else if (!qpdf_oh_is_null(pdf, item) || qpdf_oh_is_indirect(pdf, item))
      reason = stream_damaged(c, "a part of its content is missing");
    /* What is open in one stream may be closed in another, but not if the one
     * ended early. */
    if (reason == DX_REASON_NONE && u.end == UNPACK_SHORT)
      reason = stream_check_content(c, resources, u.bytes + before,
                                    u.len - before, true);
    if (reason == DX_REASON_NONE &&
        !stream_take(&u, (const unsigned char *)"\n", 1))
      reason = u.no_memory ? DX_REASON_TROUBLE : DX_REASON_TOO_COMPLEX;
    qpdf_oh_release(pdf, item);
  }
  if (reason == DX_REASON_NONE)
    reason = stream_check_content(c, resources, u.bytes, u.len, false);
  free(u.bytes);
  qpdf_oh_release(pdf, resources);
  qpdf_oh_release(pdf, contents);
  return stream_end(c, reason);
}
