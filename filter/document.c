/*
 * document.c - selects the converter for a type. A PDF that is created here is
 * also processed by pdf.c.
 */
#include "filter/document.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "filter/codecs.h"
#include "filter/image_pdf.h"
#include "filter/options.h"
#include "filter/pdf.h"
#include "filter/text.h"
#include "lib/base/fs.h"
#include "lib/print/mime.h"

const char *document_type_of(int fd)
{
  char bytes[DX_MIME_LOOK_BYTES];
  ssize_t n = pread(fd, bytes, sizeof(bytes), 0);

  return n > 0 ? dx_mime_of_bytes(bytes, (size_t)n) : NULL;
}

const char *document_sent_as(const char *type)
{
  return strcmp(type, DX_MIME_JPEG) == 0 || strcmp(type, DX_MIME_PNG) == 0
             ? type
             : DX_MIME_PDF;
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
  if (reason == DX_REASON_DAMAGED)
    (void)snprintf(ret_done->why, sizeof(ret_done->why), "%s", why);
  return reason;
}

/* Of a picture that is converted to PDF; NULL for another type. */
static image_pdf_source *document_source_of(const char *type)
{
#define X(name, its_type, bytes)   \
  if (strcmp(type, its_type) == 0) \
    return image_pdf_##name;
  DX_MIME_PICTURES(X)
#undef X
  return NULL;
}

enum dx_reason document_convert(const struct pdf_task *task,
                                struct pdf_done *ret_done)
{
  bool is_tiff = strcmp(task->type, DX_MIME_TIFF) == 0;
  bool is_text = strcmp(task->type, DX_MIME_TEXT) == 0;
  image_pdf_source *source = document_source_of(task->type);
  unsigned char *bytes;
  enum dx_reason reason;
  size_t len;

  if (strcmp(task->type, DX_MIME_PDF) == 0)
    return pdf_rewrite(task->in_fd, false, task, ret_done);
  if (!is_tiff && !is_text && !options_choose(task->options, 1))
    return DX_REASON_NO_PAGES; /* a picture is page 1 */
  bytes = dx_fs_map(task->in_fd, &len);
  if (bytes == NULL)
    return DX_REASON_TROUBLE;
  if (is_text && memchr(bytes, '\0', len) != NULL) /* not in text; see mime.h */
    reason = DX_REASON_TYPE;
  else if (is_text)
    reason =
        task->text->to_pdf(bytes, len, task->options, task->spare_fd, ret_done);
  else if (source != NULL)
    reason = image_pdf_make(task, bytes, len, source, ret_done);
  else
    reason = document_picture(bytes, len, task, ret_done);
  (void)munmap(bytes, len);
  if (reason == DX_REASON_NONE && document_sent_as(task->type) != task->type)
    reason = pdf_rewrite(task->spare_fd, true, task, ret_done);
  return reason;
}
