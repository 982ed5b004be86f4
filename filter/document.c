/*
 * document.c - recognizes the type of a document, and selects its converter. A
 * PDF that is created here is also processed by pdf.c.
 */
#include "filter/document.h"

#include <assert.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "filter/codecs.h"
#include "filter/image_pdf.h"
#include "filter/options.h"
#include "filter/pdf.h"
#include "filter/pdf_file.h"
#include "filter/program.h"
#include "filter/text.h"
#include "lib/base/fs.h"
#include "lib/print/text_encoding.h"

#define LOOK_BYTES 1024

/* The first bytes of types other than text and PDF, and what converts such a
 * picture to PDF; NULL: it is sent as it is. */
static const struct {
  const char *type;
  image_pdf_source *source;
  const char *bytes;
  size_t len;
} document_pictures[] = {{DX_MIME_JPEG, NULL, "\xFF\xD8\xFF", 3},
                         {DX_MIME_PNG, NULL, "\x89PNG\r\n\x1A\n", 8},
#define X(name, type, bytes) {type, image_pdf_##name, bytes, sizeof(bytes) - 1},
                         IMAGE_PDF_SOURCES(X)
#undef X
};
#define PICTURES (sizeof(document_pictures) / sizeof(document_pictures[0]))

/* True if the first byte that text does not contain is the ESC of a command for
 * a printer. The parameters of commands may be NUL. */
static bool document_has_commands(const char *bytes, size_t len)
{
  static const char layout[] = "\b\t\n\v\f\r\x0E\x0F\x11\x12\x13\x14";
  size_t i = 0;

  while (i < len && ((unsigned char)bytes[i] >= ' ' ||
                     memchr(layout, bytes[i], sizeof(layout) - 1) != NULL))
    i++;
  return i < len && bytes[i] == '\033';
}

/* PostScript, CUPS's banners, HP-GL, and labels are not text, but instructions
 * to a printer; in RTF, letters and digits are written as codes. */
static bool document_is_text(const char *bytes, size_t len)
{
  static const char *const others[] = {"%!",     "#PDF-BANNER", "#CUPS-BANNER",
                                       "{\\rtf", "IN;",         "^XA"};
  size_t i, begin = 0;

  while (begin < len && strchr("\004\t\n\r ", bytes[begin]) != NULL &&
         bytes[begin] != '\0')
    begin++;
  for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
    if (len - begin >= strlen(others[i]) &&
        memcmp(bytes + begin, others[i], strlen(others[i])) == 0)
      return false;
  return len > 0 &&
         (dx_text_is_utf16(bytes, len) || memchr(bytes, '\0', len) == NULL ||
          document_has_commands(bytes, len));
}

/* A PDF may begin anywhere: its header may follow other data, and must not be
 * printed as text. */
static bool document_is_pdf(int fd)
{
  size_t len, start;
  char *bytes = dx_fs_map(fd, &len);
  bool is_pdf = bytes != NULL && pdf_file_is(bytes, len, &start);

  if (bytes != NULL)
    (void)munmap(bytes, len);
  return is_pdf;
}

/* "BM" may begin a text, which has no NUL: a header of a known size follows. */
static bool document_is_bmp(const char *bytes, size_t len)
{
  static const char sizes[] = {12, 40, 52, 56, 64, 108, 124};

  return len >= 18 && bytes[0] == 'B' && bytes[1] == 'M' &&
         memchr(sizes, bytes[14], sizeof(sizes)) != NULL &&
         memcmp(bytes + 15, "\0\0\0", 3) == 0;
}

/* "P1" may begin a text, too: the width of an image follows, perhaps behind
 * comments, and its height. */
static bool document_is_pnm(const char *bytes, size_t len)
{
  size_t i = 2;
  int number;

  if (len < 3 || bytes[0] != 'P' || bytes[1] < '1' || bytes[1] > '6')
    return false;
  for (number = 0; number < 2; number++) {
    size_t begin = i;

    while (i < len && (strchr(" \t\r\n", bytes[i]) != NULL || bytes[i] == '#'))
      if (bytes[i++] == '#')
        while (i < len && bytes[i] != '\n' && bytes[i] != '\r')
          i++;
    if (i == len)
      return true; /* cut, or a long comment */
    if (i == begin || bytes[i] < '0' || bytes[i] > '9')
      return false;
    while (i < len && bytes[i] >= '0' && bytes[i] <= '9')
      i++;
  }
  return true;
}

const char *document_type_of(int fd)
{
  char bytes[LOOK_BYTES];
  ssize_t n = pread(fd, bytes, sizeof(bytes), 0);
  size_t len = n > 0 ? (size_t)n : 0, i;

  for (i = 0; i < PICTURES; i++)
    if (document_pictures[i].len > 0 && len >= document_pictures[i].len &&
        memcmp(bytes, document_pictures[i].bytes, document_pictures[i].len) ==
            0)
      return document_pictures[i].type;
  if (document_is_pdf(fd))
    return DX_MIME_PDF;
  if (document_is_bmp(bytes, len))
    return DX_MIME_BMP;
  if (document_is_pnm(bytes, len))
    return DX_MIME_PNM;
  return document_is_text(bytes, len) ? DX_MIME_TEXT : NULL;
}

const char *document_sent_as(const char *type)
{
  return strcmp(type, DX_MIME_JPEG) == 0 || strcmp(type, DX_MIME_PNG) == 0
             ? type
             : DX_MIME_PDF;
}

bool document_begins_as(const char *type, const void *bytes, size_t len)
{
  size_t i;

  if (strcmp(type, DX_MIME_PDF) == 0)
    return len >= 5 && memcmp(bytes, "%PDF-", 5) == 0;
  for (i = 0; i < PICTURES; i++)
    if (strcmp(type, document_pictures[i].type) == 0)
      return len >= document_pictures[i].len &&
             memcmp(bytes, document_pictures[i].bytes,
                    document_pictures[i].len) == 0;
  return false;
}

/* A picture whose type does not change. */
static enum dx_reason document_picture(const unsigned char *bytes, size_t len,
                                       const struct pdf_task *task,
                                       struct pdf_done *ret_done)
{
  struct dx_buf copy = {0};
  const char *why = NULL;
  struct jpeg_info info;
  enum dx_reason reason;

  if (strcmp(task->type, DX_MIME_PNG) == 0) {
    reason = png_clean(bytes, len, &copy, &why);
  } else {
    reason = jpeg_check(bytes, len, &info, &why);
    jpeg_clean(bytes, len, true, &copy);
  }
  if (reason == DX_REASON_NONE &&
      (!dx_buf_ok(&copy) || dx_fs_write_all(task->out_fd, copy.data, copy.len,
                                            "document", NULL) != DX_OK))
    reason = DX_REASON_TROUBLE;
  dx_buf_release(&copy);
  ret_done->pages = 1;
  ret_done->in_image = 1;
  if (reason == DX_REASON_DAMAGED)
    (void)snprintf(ret_done->why, sizeof(ret_done->why), "%s", why);
  return reason;
}

enum dx_reason document_convert(const struct pdf_task *task,
                                struct pdf_done *ret_done)
{
  bool is_tiff = strcmp(task->type, DX_MIME_TIFF) == 0;
  bool is_text = strcmp(task->type, DX_MIME_TEXT) == 0;
  image_pdf_source *source = NULL;
  unsigned char *bytes;
  enum dx_reason reason;
  size_t len, i;

  /* printf() writes numbers of PDFs, and strtod() reads them. */
  assert(localeconv()->decimal_point[0] == '.');
  if (strcmp(task->type, DX_MIME_PDF) == 0)
    return pdf_rewrite(task->in_fd, false, task, ret_done);
  if (!is_tiff && !is_text && !options_choose(task->options, 1))
    return DX_REASON_NO_PAGES; /* a picture is page 1 */
  for (i = 0; i < PICTURES; i++)
    if (strcmp(task->type, document_pictures[i].type) == 0)
      source = document_pictures[i].source;
  bytes = dx_fs_map(task->in_fd, &len);
  if (bytes == NULL)
    return DX_REASON_TROUBLE;
  if (is_text && !dx_text_is_utf16(bytes, len) &&
      memchr(bytes, '\0', len) != NULL) /* not in text */
    reason = document_has_commands((const char *)bytes, len) ? DX_REASON_CODES
                                                             : DX_REASON_TYPE;
  else if (is_text)
    reason =
        task->text->to_pdf(bytes, len, task->options, task->spare_fd, ret_done);
  else if (source != NULL)
    reason = image_pdf_make(task, bytes, len, source, ret_done);
  else
    reason = document_picture(bytes, len, task, ret_done);
  if (reason != DX_REASON_NONE)
    program_of_picture(bytes, len, ret_done->program);
  (void)munmap(bytes, len);
  if (reason == DX_REASON_NONE && document_sent_as(task->type) != task->type)
    reason = pdf_rewrite(task->spare_fd, true, task, ret_done);
  return reason;
}
