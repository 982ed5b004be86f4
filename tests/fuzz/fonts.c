/*
 * fonts.c - fonts for fuzz targets that draw text. text.c leaves them to the
 * end of the process, which here comes after a million inputs: what it calls is
 * replaced, with --wrap, by what opens each font once.
 */
#include "tests/fuzz/fonts.h"

#include <sys/mman.h>

#include <ft2build.h>
#include FT_FREETYPE_H

#include "tests/fuzz/fuzz.h"

FT_Error __real_FT_Init_FreeType(FT_Library *ret);
FT_Error __wrap_FT_Init_FreeType(FT_Library *ret);
FT_Error __real_FT_New_Memory_Face(FT_Library library, const FT_Byte *bytes,
                                   FT_Long len, FT_Long index, FT_Face *ret);
FT_Error __wrap_FT_New_Memory_Face(FT_Library library, const FT_Byte *bytes,
                                   FT_Long len, FT_Long index, FT_Face *ret);
void *__real_mmap(void *at, size_t len, int protection, int flags, int fd,
                  off_t offset);
void *__wrap_mmap(void *at, size_t len, int protection, int flags, int fd,
                  off_t offset);

static struct text_fonts *fonts;
static struct {
  int fd;
  void *bytes;
  FT_Long index;
  FT_Error error;
  FT_Face face; /* NULL: not opened yet */
} opened[TEXT_FONTS_MAX];

const struct text_fonts *fuzz_fonts(void)
{
  if (fonts == NULL)
    fonts = docextract_text.fonts_open();
  HOLDS(fonts != NULL);
  return fonts;
}

FT_Error __wrap_FT_Init_FreeType(FT_Library *ret)
{
  static FT_Library library;

  HOLDS(library != NULL || __real_FT_Init_FreeType(&library) == 0);
  *ret = library;
  return 0;
}

void *__wrap_mmap(void *at, size_t len, int protection, int flags, int fd,
                  off_t offset)
{
  const int *fds = NULL;
  size_t count = fonts != NULL ? docextract_text.fonts_fds(fonts, &fds) : 0, i;

  for (i = 0; i < count && fds[i] != fd; i++)
    ;
  if (i == count)
    return __real_mmap(at, len, protection, flags, fd, offset);
  if (opened[i].bytes == NULL)
    opened[i].bytes = __real_mmap(at, len, protection, flags, fd, offset);
  return opened[i].bytes;
}

FT_Error __wrap_FT_New_Memory_Face(FT_Library library, const FT_Byte *bytes,
                                   FT_Long len, FT_Long index, FT_Face *ret)
{
  size_t i = 0;

  while (opened[i].bytes != bytes)
    HOLDS(++i < TEXT_FONTS_MAX);
  if (opened[i].face == NULL)
    opened[i].error =
        __real_FT_New_Memory_Face(library, bytes, len, index, &opened[i].face);
  *ret = opened[i].face;
  return opened[i].error;
}
