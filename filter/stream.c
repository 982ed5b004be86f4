/*
 * stream.c - checks the dictionaries of streams and images: filters and sizes.
 * unpack.c, content.c, and the decoders check the bytes.
 */
#include "filter/stream.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/codecs.h"
#include "filter/content.h"
#include "filter/qpdf.h"
#include "filter/unpack.h"

#define FILTERS_MAX 8
#define COMPONENTS_MAX 32 /* of DeviceN */
#define NESTING_MAX 8     /* of color spaces */
#define AES_BYTES 32      /* initialization vector and padding */

/* Excess data of an image beyond twice its size: in 1,400 PDFs, the maximum was
 * a small image with 24 bits per pixel instead of 1. And of an inline image
 * before EI: more could be the next image. */
#define EXCESS_BYTES (1 << 20)
#define EXCESS_INLINE_BYTES 16
#define INLINE_DICT_BYTES (64 << 10)
#define SUMS_MIN 8

struct stored;

/* Checks the data of an image that are not plain samples. */
typedef enum dx_reason stored_decoder(const struct stored *s,
                                      const unsigned char *bytes, size_t len);

struct stored_filter {
  const char *name, *abbreviation;
  enum unpack_filter filter;
  stored_decoder *decode; /* instead of `filter` */
  qpdf_cleaner *clean;    /* NULL: its data have no metadata */
};

/* A stream or an inline image, and how its bytes are stored. */
struct stored {
  struct stream_check *c;
  qpdf_oh dict;
  qpdf_oh stream; /* 0: inline */
  bool first;     /* inline: up to the first EI */
  struct unpack_stage stages[FILTERS_MAX];
  size_t count;
  const struct stored_filter *codec; /* of the output of the stages; or NULL */
  struct dx_buf clean;           /* that output without metadata, if inline */
  qpdf_oh parms;                 /* of the last filter */
  long long predictor, row_bits; /* of the last stage */
  long long width, height;       /* of an image */
};

static enum dx_reason stream_damaged(struct stream_check *c, const char *why)
{
  c->why = why;
  return DX_REASON_DAMAGED;
}

static bool image_spend(struct stream_check *c, long long bytes)
{
  c->image_left -= bytes < c->image_left ? bytes : c->image_left + 1;
  return c->image_left >= 0;
}

/* ---- dictionaries ---- */

/* The value of either key; null if there is none, or it is lost. The
 * abbreviations of inline images have precedence; viewers accept them
 * everywhere. */
static qpdf_oh stream_key(qpdf_data pdf, qpdf_oh dict, const char *key,
                          const char *abbreviation)
{
  if (!qpdf_oh_is_dictionary(pdf, dict))
    return qpdf_oh_new_null(pdf);
  if (abbreviation != NULL && qpdf_oh_has_key(pdf, dict, abbreviation))
    key = abbreviation;
  return qpdf_oh_get_key(pdf, dict, key);
}

/* A number or truth value; two of them can be multiplied. */
static long long stream_number(qpdf_data pdf, qpdf_oh dict, const char *key,
                               const char *abbreviation, long long otherwise)
{
  qpdf_oh value = stream_key(pdf, dict, key, abbreviation);
  long long number = otherwise;

  if (qpdf_oh_is_bool(pdf, value))
    number = qpdf_oh_get_bool_value(pdf, value);
  else
    (void)qpdf_oh_get_value_as_longlong(pdf, value, &number);
  return number > INT_MAX ? INT_MAX : number < INT_MIN ? INT_MIN : number;
}

/* The item of an array; otherwise the object itself, as if it were item 0. */
static qpdf_oh stream_item(qpdf_data pdf, qpdf_oh object, int i)
{
  if (!qpdf_oh_is_array(pdf, object))
    return i == 0 ? object : qpdf_oh_new_null(pdf);
  return i < qpdf_oh_get_array_n_items(pdf, object)
             ? qpdf_oh_get_array_item(pdf, object, i)
             : qpdf_oh_new_null(pdf);
}

/* "" if it is none. */
static const char *stream_name(qpdf_data pdf, qpdf_oh name)
{
  return qpdf_oh_is_name(pdf, name) ? qpdf_oh_get_name(pdf, name) : "";
}

/* 0: unknown. */
static long long stream_components(const struct stream_check *c, qpdf_oh space,
                                   int nesting)
{
  static const struct {
    const char *name;
    long long components;
  } spaces[] = {{"/DeviceGray", 1}, {"/G", 1},          {"/CalGray", 1},
                {"/Indexed", 1},    {"/I", 1},          {"/Separation", 1},
                {"/DeviceRGB", 3},  {"/RGB", 3},        {"/CalRGB", 3},
                {"/Lab", 3},        {"/DeviceCMYK", 4}, {"/CMYK", 4}};
  qpdf_data pdf = c->pdf;
  qpdf_oh second = stream_item(pdf, space, 1);
  const char *name = stream_name(pdf, stream_item(pdf, space, 0));
  long long components = 0;

  for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
    if (strcmp(name, spaces[i].name) == 0)
      components = spaces[i].components;
  if (strcmp(name, "/ICCBased") == 0 && qpdf_oh_is_stream(pdf, second)) {
    components =
        stream_number(pdf, qpdf_oh_get_dict(pdf, second), "/N", NULL, 0);
  } else if (strcmp(name, "/DeviceN") == 0 && qpdf_oh_is_array(pdf, second)) {
    components = qpdf_oh_get_array_n_items(pdf, second);
  } else if (components == 0 && name[0] != '\0' && nesting < NESTING_MAX) {
    qpdf_oh judged = qpdf_get_object_by_id(pdf, c->id, c->generation);
    qpdf_oh dict =
        qpdf_oh_is_stream(pdf, judged) ? qpdf_oh_get_dict(pdf, judged) : judged;
    qpdf_oh resources = stream_key(pdf, dict, "/Resources", NULL);
    qpdf_oh named = stream_key(pdf, resources, "/ColorSpace", NULL);

    components =
        stream_components(c, stream_key(pdf, named, name, NULL), nesting + 1);
  }
  return components > 0 && components <= COMPONENTS_MAX ? components : 0;
}

/* ---- images ---- */

static void image_clean_jpeg(const unsigned char *bytes, size_t len,
                             struct dx_buf *copy)
{
  jpeg_clean(bytes, len, false, copy);
}

static enum dx_reason image_check_jpeg(const struct stored *s,
                                       const unsigned char *bytes, size_t len)
{
  struct jpeg_info info = {0};
  enum dx_reason reason = jpeg_check(bytes, len, &info, &s->c->why);
  long long pixels = (long long)info.width * info.height;

  if (reason != DX_REASON_NONE)
    return reason;
  if (!image_spend(s->c, pixels * info.components))
    return DX_REASON_TOO_COMPLEX;
  if (pixels < s->width * s->height)
    return stream_damaged(s->c, "an image is smaller than it should be");
  return DX_REASON_NONE;
}

static enum dx_reason image_check_jpx(const struct stored *s,
                                      const unsigned char *bytes, size_t len)
{
  struct dx_buf copy = {0};
  enum dx_reason reason = jpx_clean(bytes, len, (uint32_t)s->width,
                                    (uint32_t)s->height, &copy, &s->c->why);

  dx_buf_release(&copy);
  return reason;
}

static void image_clean_jpx(const unsigned char *bytes, size_t len,
                            struct dx_buf *copy)
{
  const char *why;

  if (jpx_clean(bytes, len, 0, 0, copy, &why) != DX_REASON_NONE)
    copy->failed = true;
}

static enum dx_reason stored_load(struct stream_check *c, qpdf_oh stream,
                                  struct unpacked *u);

static enum dx_reason image_check_jbig2(const struct stored *s,
                                        const unsigned char *bytes, size_t len)
{
  struct unpacked globals = {
      .keep = true, .most = SIZE_MAX, .left = &s->c->left};
  enum dx_reason reason = DX_REASON_NONE;
  qpdf_oh stream = stream_key(s->c->pdf, s->parms, "/JBIG2Globals", NULL);

  if (qpdf_oh_is_stream(s->c->pdf, stream))
    reason = stored_load(s->c, stream, &globals);
  if (reason == DX_REASON_NONE)
    reason = jbig2_check(bytes, len, (const unsigned char *)globals.bytes.data,
                         globals.len, (uint32_t)s->width, (uint32_t)s->height,
                         &s->c->why);
  dx_buf_release(&globals.bytes);
  return reason;
}

/* The rows of the data need not be as long as those of the image. */
static enum dx_reason image_check_ccitt(const struct stored *s,
                                        const unsigned char *bytes, size_t len)
{
  qpdf_data pdf = s->c->pdf;
  long long columns = stream_number(pdf, s->parms, "/Columns", NULL, 1728);
  long long row = columns < 1 ? 1 : (columns + 7) / 8;
  long long size = (s->width + 7) / 8 * s->height;
  long long rows = (size + row - 1) / row;
  uint32_t bad;
  struct ccitt_parms ccitt = {
      .k = (int)stream_number(pdf, s->parms, "/K", NULL, 0),
      .columns = (uint32_t)columns,
      .rows = (uint32_t)rows,
      .byte_align = stream_number(pdf, s->parms, "/EncodedByteAlign", NULL, 0)};

  if (columns < 1 || rows > INT_MAX)
    return stream_damaged(s->c, "an image has no size");
  if (!image_spend(s->c, size))
    return DX_REASON_TOO_COMPLEX;
  return ccitt_check(bytes, len, &ccitt, &bad, &s->c->why);
}

/* Of the samples, when unpacked; with PNG predictors each row has one more. */
static size_t image_size(const struct stored *s)
{
  qpdf_data pdf = s->c->pdf;
  qpdf_oh space = stream_key(pdf, s->dict, "/ColorSpace", "/CS");
  long long components = stream_components(s->c, space, 0);
  long long bits = stream_number(pdf, s->dict, "/BitsPerComponent", "/BPC", 8);
  long long row = (s->row_bits + 7) / 8, size;

  if (stream_number(pdf, s->dict, "/ImageMask", "/IM", 0) != 0)
    bits = components = 1;
  if (bits < 1 || bits > 16 || components == 0 ||
      __builtin_mul_overflow((s->width * components * bits + 7) / 8, s->height,
                             &size) ||
      size > LLONG_MAX / 4)
    return SIZE_MAX / 4; /* larger than possible */
  if (s->predictor >= 10 && row > 0)
    size += (size + row - 1) / row;
  return (size_t)size;
}

/* ---- bytes ---- */

/* False: an unknown filter, or a combination that no program writes: predictors
 * are not decoded here, and no other filter can follow a codec. */
static bool stored_add_filter(struct stored *s, const char *name, qpdf_oh parms)
{
  static const struct stored_filter filters[] = {
      {"/FlateDecode", "/Fl", UNPACK_FLATE, NULL, NULL},
      {"/LZWDecode", "/LZW", UNPACK_LZW, NULL, NULL},
      {"/ASCII85Decode", "/A85", UNPACK_85, NULL, NULL},
      {"/ASCIIHexDecode", "/AHx", UNPACK_HEX, NULL, NULL},
      {"/RunLengthDecode", "/RL", UNPACK_RUN_LENGTH, NULL, NULL},
      {"/DCTDecode", "/DCT", 0, image_check_jpeg, image_clean_jpeg},
      {"/CCITTFaxDecode", "/CCF", 0, image_check_ccitt, NULL},
      {"/JBIG2Decode", "/JBIG2Decode", 0, image_check_jbig2, NULL},
      {"/JPXDecode", "/JPXDecode", 0, image_check_jpx, image_clean_jpx}};
  const size_t known = sizeof(filters) / sizeof(filters[0]);
  qpdf_data pdf = s->c->pdf;
  size_t i = 0;

  if (strcmp(name, "/Crypt") == 0) /* libqpdf decrypts */
    return true;
  s->parms = parms;
  while (i < known && strcmp(name, filters[i].name) != 0 &&
         strcmp(name, filters[i].abbreviation) != 0)
    i++;
  if (i == known || s->codec != NULL || s->predictor > 1 ||
      s->count == FILTERS_MAX)
    return false;
  if (filters[i].decode != NULL) {
    s->codec = &filters[i];
    return true;
  }
  s->stages[s->count++] = (struct unpack_stage){
      .filter = filters[i].filter,
      .early_change =
          stream_number(pdf, s->parms, "/EarlyChange", NULL, 1) != 0};
  if (filters[i].filter >= UNPACK_LZW) {
    s->predictor = stream_number(pdf, s->parms, "/Predictor", NULL, 1);
    s->row_bits =
        stream_number(pdf, s->parms, "/Columns", NULL, 1) *
        (stream_number(pdf, s->parms, "/Colors", NULL, 1) & 0xff) *
        (stream_number(pdf, s->parms, "/BitsPerComponent", NULL, 8) & 0x1f);
  }
  return true;
}

static enum dx_reason stored_read_filters(struct stored *s)
{
  qpdf_data pdf = s->c->pdf;
  qpdf_oh filter = stream_key(pdf, s->dict, "/Filter", "/F");
  qpdf_oh parms = stream_key(pdf, s->dict, "/DecodeParms", "/DP");
  int count = qpdf_oh_is_array(pdf, filter)
                  ? qpdf_oh_get_array_n_items(pdf, filter)
                  : !qpdf_oh_is_null(pdf, filter);

  for (int i = 0; i < count; i++)
    if (!stored_add_filter(s, stream_name(pdf, stream_item(pdf, filter, i)),
                           stream_item(pdf, parms, i)))
      return DX_REASON_UNKNOWN;
  return DX_REASON_NONE;
}

/* If /Length is wrong, libqpdf searches for the end, perhaps a wrong one. */
static bool stored_has_length(qpdf_data pdf, qpdf_oh dict, size_t len)
{
  long long more =
      stream_number(pdf, dict, "/Length", NULL, -1) - (long long)len;

  return more >= 0 && more <= (qpdf_is_encrypted(pdf) ? AES_BYTES : 0);
}

/* An empty stream of a program that writes no /Length then: libqpdf takes the
 * line end before "endstream" as its data. */
static bool stored_is_empty(const struct stored *s, const unsigned char *bytes,
                            size_t len)
{
  size_t i = 0;

  while (i < len && (bytes[i] == '\r' || bytes[i] == '\n'))
    i++;
  return i == len && s->count == 0 &&
         !qpdf_oh_has_key(s->c->pdf, s->dict, "/Length");
}

/* The bytes as they are stored, but decrypted; the caller frees them. */
static enum dx_reason stored_read(struct stored *s, unsigned char **ret_bytes,
                                  size_t *ret_len)
{
  qpdf_data pdf = s->c->pdf;

  *ret_bytes = NULL;
  *ret_len = 0;
  if (!qpdf_oh_is_null(pdf, stream_key(pdf, s->dict, "/F", NULL)))
    return stream_damaged(s->c, "a part of it is in another file");
  if ((qpdf_oh_get_stream_data(pdf, s->stream, qpdf_dl_none, NULL, ret_bytes,
                               ret_len) &
       QPDF_ERRORS) != 0) {
    (void)qpdf_get_error(pdf);
    return stream_damaged(s->c, "a part of it cannot be read");
  }
  /* A stream whose end libqpdf cannot find is empty to it. */
  if (*ret_len == 0 && !stored_has_length(pdf, s->dict, 0))
    return stream_damaged(s->c, "a part of it ends early");
  return stored_read_filters(s);
}

/* How many Flate streams of the file have such a checksum. */
struct sums {
  struct stream_check *c;
  long long left;
  int of[UNPACK_WRONG_SUM + 1];
  bool all_end; /* as Deflate does, and have a right /Length */
};

/* False: enough is known. */
static bool sums_add(void *ctx, int id, int generation)
{
  struct sums *sums = ctx;
  qpdf_data pdf = sums->c->pdf;
  qpdf_oh stream = qpdf_get_object_by_id(pdf, id, generation);
  struct stored s = {
      .c = sums->c, .stream = stream, .dict = qpdf_oh_get_dict(pdf, stream)};
  struct unpacked u = {.most = SIZE_MAX, .left = &sums->left};
  unsigned char *raw;
  size_t len, i = 0;
  enum dx_reason reason = stored_read(&s, &raw, &len);

  while (i < s.count && s.stages[i].filter != UNPACK_FLATE)
    i++;
  if (i < s.count && len > 0) {
    unpack(s.stages, s.count, raw, len, &u);
    sums->of[u.sum]++;
    sums->all_end = sums->all_end && u.end == UNPACK_WHOLE &&
                    stored_has_length(pdf, s.dict, len);
  } else if (reason == DX_REASON_DAMAGED) {
    sums->all_end = false;
  }
  free(raw);
  qpdf_oh_release(pdf, stream);
  return sums->of[UNPACK_RIGHT_SUM] == 0;
}

/*
 * Some programs write no correct checksum in any stream. True for a file of
 * such a program: all are zero, or there are at least SUMS_MIN, all are wrong,
 * and everything else about the streams is right. With fewer, data that end
 * early could pass: seven zero bits are the end of a block with fixed codes.
 */
static bool stream_has_no_sums(struct stream_check *c)
{
  struct sums sums = {.c = c, .left = c->image_left, .all_end = true};
  const char *why = c->why;
  int wrong;

  if (c->sums != SUMS_UNKNOWN)
    return c->sums == SUMS_UNUSED;
  (void)qpdf_each_stream(c->pdf, sums_add, &sums);
  wrong = sums.of[UNPACK_ZERO_SUM] + sums.of[UNPACK_WRONG_SUM];
  c->why = why;
  c->sums = SUMS_USED;
  if (sums.of[UNPACK_RIGHT_SUM] == 0 && sums.all_end &&
      (wrong >= SUMS_MIN || (wrong > 0 && wrong == sums.of[UNPACK_ZERO_SUM] &&
                             sums.of[UNPACK_NO_SUM] == 0)))
    c->sums = SUMS_UNUSED;
  return c->sums == SUMS_UNUSED;
}

static enum dx_reason stored_unpack(const struct stored *s,
                                    const unsigned char *bytes, size_t len,
                                    struct unpacked *u)
{
  unpack(s->stages, s->count, bytes, len, u);
  if (u->sum > UNPACK_RIGHT_SUM && u->end < UNPACK_DAMAGED &&
      !stream_has_no_sums(s->c))
    u->end = UNPACK_DAMAGED;
  switch (u->end) {
  case UNPACK_CUT:
    return stream_damaged(s->c, "a part of it ends early");
  case UNPACK_DAMAGED:
    return stream_damaged(s->c, "a part of it is damaged");
  case UNPACK_STOPPED:
    return DX_REASON_TOO_COMPLEX;
  case UNPACK_NO_MEMORY:
    return DX_REASON_TROUBLE;
  default:
    return DX_REASON_NONE;
  }
}

static bool image_is_clean(const struct stored *s, const unsigned char *bytes,
                           size_t len)
{
  struct dx_buf copy = {0};
  bool is_clean;

  s->codec->clean(bytes, len, &copy);
  is_clean = dx_buf_ok(&copy) && copy.len == len &&
             (len == 0 || memcmp(copy.data, bytes, len) == 0);
  dx_buf_release(&copy);
  return is_clean;
}

/* `bytes` are those that the codec decodes. The data of a stream are cleaned
 * when the document is written: otherwise, all would be in memory. Most need
 * nothing, and to write them unchanged takes half of the time. */
static bool image_clean(struct stored *s, const unsigned char *bytes,
                        size_t len)
{
  qpdf_data pdf = s->c->pdf;
  qpdf_oh dict;

  if (s->stream == 0) {
    s->codec->clean(bytes, len, &s->clean);
    return true;
  }
  if ((s->count > 0 || !image_is_clean(s, bytes, len)) &&
      !qpdf_rewrite_stream(pdf, s->stream, s->stages, s->count,
                           s->codec->clean))
    return false;
  dict = qpdf_oh_get_dict(pdf, s->stream);
  qpdf_oh_replace_key(pdf, dict, "/Filter",
                      qpdf_oh_new_name(pdf, s->codec->name));
  qpdf_oh_replace_or_remove_key(pdf, dict, "/DecodeParms", s->parms);
  qpdf_oh_remove_key(pdf, dict, "/DP");
  return true;
}

/* The width or height of an image. Viewers accept 640.0, but differ in 640.5.
 */
static long long image_side(const struct stored *s, const char *key,
                            const char *abbreviation, long long unknown)
{
  qpdf_data pdf = s->c->pdf;
  qpdf_oh value = stream_key(pdf, s->dict, key, abbreviation);
  double side;

  if (qpdf_oh_is_real(pdf, value) &&
      qpdf_oh_get_value_as_number(pdf, value, &side) && side >= 0 &&
      side <= INT_MAX && side == (int)side)
    return (int)side;
  return stream_number(pdf, s->dict, key, abbreviation, unknown);
}

static enum dx_reason image_check(struct stored *s, const unsigned char *bytes,
                                  size_t len)
{
  bool is_inline = s->stream == 0;
  struct unpacked u = {
      .most = SIZE_MAX, .left = &s->c->image_left, .len = len, .used = len};
  bool is_jpx = s->codec != NULL && s->codec->decode == image_check_jpx;
  long long unknown = is_jpx ? 0 : -1;
  enum dx_reason reason = DX_REASON_NONE;
  size_t need = 0, excess;

  s->width = image_side(s, "/Width", "/W", unknown);
  s->height = image_side(s, "/Height", "/H", unknown);
  if (s->width < 0 || s->height < 0)
    return stream_damaged(s->c, "an image has no size");
  if (s->codec == NULL) {
    need = image_size(s);
    u.most = 2 * need + EXCESS_BYTES;
    /* Most images match this; the end is checked only for others. */
    if (!is_inline && s->count == 1 && s->stages[0].filter == UNPACK_FLATE &&
        unpack_is_flate_of(bytes, len, need))
      return image_spend(s->c, (long long)need) ? DX_REASON_NONE
                                                : DX_REASON_TOO_COMPLEX;
  }
  if (s->count > 0 && len > 0) {
    /* The line end before EI must not complete truncated data. */
    while (is_inline && s->first && len > 0 &&
           (bytes[len - 1] == '\r' || bytes[len - 1] == '\n'))
      len--;
    u.len = 0;
    u.keep = s->codec != NULL;
    reason = stored_unpack(s, bytes, len, &u);
    if (u.end == UNPACK_CUT && s->codec == NULL && u.len >= need)
      reason = DX_REASON_NONE;
  }
  if (reason == DX_REASON_NONE && s->codec != NULL) {
    const unsigned char *coded =
        s->count > 0 ? (const unsigned char *)u.bytes.data : bytes;

    reason = s->codec->decode(s, coded, u.len);
    if (reason == DX_REASON_NONE && s->codec->clean != NULL &&
        !image_clean(s, coded, u.len))
      reason = DX_REASON_TROUBLE;
  }
  dx_buf_release(&u.bytes);
  if (reason != DX_REASON_NONE || s->codec != NULL)
    return reason;
  excess = len - (s->count > 0 ? u.used : need);
  /* If this is not the first EI, the end of the data must be certain. */
  if (u.len < need ||
      (is_inline && (excess > EXCESS_INLINE_BYTES ||
                     (!s->first && s->count > 0 && excess == 0))))
    return stream_damaged(s->c, "an image ends early");
  return DX_REASON_NONE;
}

/* Checks an image if `u` is NULL; else unpacks any other stream, and adds its
 * bytes to those in `u`. */
static enum dx_reason stored_load(struct stream_check *c, qpdf_oh stream,
                                  struct unpacked *u)
{
  struct stored s = {
      .c = c, .stream = stream, .dict = qpdf_oh_get_dict(c->pdf, stream)};
  unsigned char *raw;
  size_t len;
  enum dx_reason reason = stored_read(&s, &raw, &len);

  if (reason == DX_REASON_NONE && u == NULL) {
    reason = image_check(&s, raw, len);
  } else if (reason == DX_REASON_NONE) {
    u->end = UNPACK_WHOLE;
    if (s.codec != NULL || (s.predictor > 1 && u->keep))
      reason = DX_REASON_UNKNOWN;
    else if (len > 0)
      reason = stored_unpack(&s, raw, len, u);
    if (reason == DX_REASON_NONE && len > 0 &&
        !stored_has_length(c->pdf, s.dict, len) &&
        !stored_is_empty(&s, raw, len)) {
      if (u->end == UNPACK_SHORT)
        reason = stream_damaged(c, "a part of it ends early");
      else if (s.count == 0 && u->keep)
        u->end = UNPACK_SHORT;
    }
  }
  free(raw);
  return reason;
}

/* ---- fonts, CMaps, and other data ---- */

/* Data that ended early, at a permitted place. A font has the length that its
 * dictionary names, a CMap its last operator. */
static bool data_is_whole(struct stream_check *c, qpdf_oh stream,
                          const struct unpacked *u)
{
  static const char end[] = "endcmap";
  struct unpacked kept = {.keep = true, .most = SIZE_MAX, .left = &c->left};
  qpdf_oh dict = qpdf_oh_get_dict(c->pdf, stream);
  long long font = stream_number(c->pdf, dict, "/Length1", NULL, 0) +
                   stream_number(c->pdf, dict, "/Length2", NULL, 0) +
                   stream_number(c->pdf, dict, "/Length3", NULL, 0);
  bool whole = font > 0 && (size_t)font == u->len;

  if (font == 0 && stored_load(c, stream, &kept) == DX_REASON_NONE)
    whole = memmem(dx_buf_text(&kept.bytes), kept.bytes.len, end,
                   strlen(end)) != NULL;
  dx_buf_release(&kept.bytes);
  return whole;
}

/* ---- content ---- */

/* In hexadecimal digits, because the data of a codec may look like EI. */
static void stream_clean_inline(const struct stored *s,
                                const unsigned char *dict, size_t dict_len,
                                const unsigned char *end)
{
  static const char digits[] = "0123456789abcdef";
  struct stream_check *c = s->c;
  struct dx_buf *copy = &c->copy;

  dx_buf_add(copy, c->copied, (size_t)(dict - c->copied));
  qpdf_copy_inline_dict(dict, dict_len, copy);
  dx_buf_printf(copy, "/F[/AHx%s]", s->codec->name);
  if (qpdf_oh_is_dictionary(c->pdf, s->parms))
    dx_buf_printf(copy, "/DP[null%s]", qpdf_oh_unparse(c->pdf, s->parms));
  dx_buf_puts(copy, " ID ");
  for (size_t i = 0; i < s->clean.len; i++) {
    unsigned char byte = (unsigned char)s->clean.data[i];

    dx_buf_add(copy, &digits[byte >> 4], 1);
    dx_buf_add(copy, &digits[byte & 15], 1);
  }
  dx_buf_puts(copy, ">\n");
  copy->failed = copy->failed || s->clean.failed;
  c->copied = end;
}

static enum dx_reason stream_check_inline(void *ctx, const unsigned char *dict,
                                          size_t dict_len,
                                          const unsigned char *data, size_t len,
                                          bool first)
{
  struct stored s = {.c = ctx, .first = first};
  enum dx_reason reason;
  char *text;

  if (dict_len > INLINE_DICT_BYTES)
    return DX_REASON_TOO_COMPLEX;
  if (asprintf(&text, "<<%*s>>", (int)dict_len, "") < 0)
    return DX_REASON_TROUBLE;
  /* NUL may be in the colors of a palette, which do not matter here. */
  for (size_t i = 0; i < dict_len; i++)
    text[i + 2] = dict[i] == '\0' ? ' ' : (char)dict[i];
  s.dict = qpdf_oh_parse(s.c->pdf, text);
  free(text);
  if (qpdf_has_error(s.c->pdf))
    (void)qpdf_get_error(s.c->pdf);
  reason = stored_read_filters(&s);
  if (reason == DX_REASON_NONE)
    reason = image_check(&s, data, len);
  if (reason == DX_REASON_DAMAGED)
    s.c->why = "a small image ends early or is damaged";
  if (reason == DX_REASON_NONE && s.codec != NULL && s.codec->clean != NULL)
    stream_clean_inline(&s, dict, dict_len, data + len);
  dx_buf_release(&s.clean);
  qpdf_oh_release_all(s.c->pdf);
  return reason;
}

static enum dx_reason stream_check_content(struct stream_check *c,
                                           const struct unpacked *u,
                                           size_t from, bool ended_early)
{
  const unsigned char *bytes =
      (const unsigned char *)dx_buf_text(&u->bytes) + from;

  c->why = "its content ends early";
  dx_buf_release(&c->copy);
  c->copied = bytes;
  return content_check(bytes, u->bytes.len - from, ended_early,
                       stream_check_inline, c);
}

/* A blank page: nothing but the header of Flate. It becomes an empty stream. */
static bool stream_is_blank(struct stream_check *c, qpdf_oh stream)
{
  qpdf_oh null = qpdf_oh_new_null(c->pdf);
  struct stored s = {
      .c = c, .stream = stream, .dict = qpdf_oh_get_dict(c->pdf, stream)};
  unsigned char *raw;
  size_t len;
  bool blank = stored_read(&s, &raw, &len) == DX_REASON_NONE && s.count == 1 &&
               s.codec == NULL && unpack_is_flate_header(raw, len) &&
               stored_has_length(c->pdf, s.dict, len);

  free(raw);
  if (!blank)
    return false;
  qpdf_oh_replace_stream_data(c->pdf, stream, (const unsigned char *)"", 0,
                              null, null);
  qpdf_oh_replace_key(c->pdf, s.dict, "/Length",
                      qpdf_oh_new_integer(c->pdf, 0));
  return true;
}

/* An operator may open something in one stream and close it in another, unless
 * the first ended early. */
static enum dx_reason stream_check_contents(struct stream_check *c,
                                            enum stream_kind kind)
{
  struct unpacked u = {.keep = true, .most = SIZE_MAX, .left = &c->left};
  enum dx_reason reason = DX_REASON_NONE;
  bool is_proven = true; /* by checksums, if there are any */
  int count = 1;

  for (int i = 0; i < count && reason == DX_REASON_NONE; i++) {
    qpdf_oh item = qpdf_get_object_by_id(c->pdf, c->id, c->generation);
    size_t before;
    bool is_listed = false; /* newer versions of libqpdf treat null as lost */

    if (kind == STREAM_CONTENTS) {
      qpdf_oh contents = stream_key(c->pdf, item, "/Contents", NULL);

      if (qpdf_oh_is_array(c->pdf, contents))
        count = qpdf_oh_get_array_n_items(c->pdf, contents);
      is_listed = qpdf_oh_is_array(c->pdf, contents) && count > 0;
      item = stream_item(c->pdf, contents, i);
    }
    u.end = UNPACK_WHOLE;
    u.sum = UNPACK_NO_SUM;
    before = u.bytes.len;
    if (i > 0)
      dx_buf_puts(&u.bytes, "\n");
    if (u.bytes.failed)
      reason = DX_REASON_TROUBLE;
    else if (qpdf_oh_is_stream(c->pdf, item))
      reason = stored_load(c, item, &u);
    else if (is_listed || !qpdf_oh_is_null(c->pdf, item) ||
             qpdf_oh_is_indirect(c->pdf, item))
      reason = stream_damaged(c, "a part of its content is missing");
    if (reason == DX_REASON_DAMAGED && kind == STREAM_CONTENTS &&
        u.end == UNPACK_CUT && stream_is_blank(c, item))
      reason = DX_REASON_NONE;
    if (reason == DX_REASON_NONE && u.end == UNPACK_SHORT)
      reason = stream_check_content(c, &u, before, true);
    is_proven = is_proven && u.sum <= UNPACK_RIGHT_SUM;
    qpdf_oh_release_all(c->pdf);
  }
  if (reason == DX_REASON_NONE)
    reason = stream_check_content(c, &u, 0, !is_proven);
  if (reason == DX_REASON_NONE && (c->copy.len > 0 || c->copy.failed)) {
    /* With the copy of its inline images, it becomes the content. */
    qpdf_oh stream = qpdf_get_object_by_id(c->pdf, c->id, c->generation);
    qpdf_oh null = qpdf_oh_new_null(c->pdf), page = stream;
    const unsigned char *end =
        (const unsigned char *)u.bytes.data + u.bytes.len;

    dx_buf_add(&c->copy, c->copied, (size_t)(end - c->copied));
    if (kind == STREAM_CONTENTS) {
      stream = qpdf_oh_new_stream(c->pdf);
      qpdf_oh_replace_key(c->pdf, page, "/Contents", stream);
    }
    if (dx_buf_ok(&c->copy))
      qpdf_oh_replace_stream_data(c->pdf, stream,
                                  (const unsigned char *)c->copy.data,
                                  c->copy.len, null, null);
    else
      reason = DX_REASON_TROUBLE;
  }
  dx_buf_release(&c->copy);
  dx_buf_release(&u.bytes);
  return reason;
}

enum dx_reason stream_whole(struct stream_check *c, int id, int generation,
                            enum stream_kind kind)
{
  qpdf_oh object = qpdf_get_object_by_id(c->pdf, id, generation);
  struct unpacked u = {.most = SIZE_MAX, .left = &c->left};
  enum dx_reason reason;

  c->id = id;
  c->generation = generation;
  if (kind == STREAM_CONTENT || kind == STREAM_CONTENTS)
    reason = stream_check_contents(c, kind);
  else
    reason = stored_load(c, object, kind == STREAM_IMAGE ? NULL : &u);
  if (reason == DX_REASON_NONE && u.end == UNPACK_SHORT &&
      !data_is_whole(c, object, &u))
    reason = stream_damaged(c, "a part of it ends early");
  qpdf_oh_release_all(c->pdf);
  c->in_image = kind == STREAM_IMAGE && reason == DX_REASON_DAMAGED;
  if (reason == DX_REASON_UNKNOWN)
    c->why = "a part of it is stored in a way that is not known here";
  else if (reason != DX_REASON_DAMAGED)
    c->why = NULL; /* other reasons have texts of their own */
  return reason;
}
