/*
 * text_encoding.h - the encodings of text files: the choices of TextEncoding in
 * the driver, and the arguments of `docextract submit --text-encoding`. Checks
 * compare the driver and the manual page with the rows.
 *
 * Ownership: everything is static. Blocking: never.
 */
#ifndef DX_TEXT_ENCODING_H
#define DX_TEXT_ENCODING_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "lib/base/words.h"

/* Name, choice, name for iconv_open(). Programs of Windows write the extensions
 * of Microsoft under the names of the standards, which are subsets of them. */
#define DX_TEXT_ENCODINGS(X)                           \
  X(DX_TEXT_AUTO, "Auto", NULL)                        \
  X(DX_TEXT_UTF_8, "UTF-8", "UTF-8")                   \
  X(DX_TEXT_WINDOWS_1252, "Windows-1252", "CP1252")    \
  X(DX_TEXT_ISO_8859_1, "ISO-8859-1", "ISO-8859-1")    \
  X(DX_TEXT_ISO_8859_15, "ISO-8859-15", "ISO-8859-15") \
  X(DX_TEXT_CP437, "CP437", "CP437")                   \
  X(DX_TEXT_CP850, "CP850", "CP850")                   \
  X(DX_TEXT_WINDOWS_1250, "Windows-1250", "CP1250")    \
  X(DX_TEXT_ISO_8859_2, "ISO-8859-2", "ISO-8859-2")    \
  X(DX_TEXT_CP852, "CP852", "CP852")                   \
  X(DX_TEXT_WINDOWS_1251, "Windows-1251", "CP1251")    \
  X(DX_TEXT_SHIFT_JIS, "Shift_JIS", "CP932")           \
  X(DX_TEXT_EUC_JP, "EUC-JP", "EUC-JP-MS")             \
  X(DX_TEXT_GB18030, "GB18030", "GB18030")             \
  X(DX_TEXT_BIG5, "Big5", "CP950")                     \
  X(DX_TEXT_EUC_KR, "EUC-KR", "UHC")

enum dx_text_encoding {
  DX_TEXT_ENCODINGS(DX_NAME_OF_ROW) DX_TEXT_ENCODING_COUNT
};

const char *dx_text_encoding_word(enum dx_text_encoding encoding);

/* Upper and lower case are the same, as for choices of a PPD; COUNT for any
 * other word. */
enum dx_text_encoding dx_text_encoding_by_word(const char *word);

/* Whether a text begins with the byte order mark of UTF-16. */
static inline bool dx_text_is_utf16(const void *bytes, size_t len)
{
  return len >= 2 && (memcmp(bytes, "\xFF\xFE", 2) == 0 ||
                      memcmp(bytes, "\xFE\xFF", 2) == 0);
}

#endif
