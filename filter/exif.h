/*
 * exif.h - reads a directory of a TIFF, and EXIF data, which are a TIFF (TIFF
 * 6.0, section 2). Never reads outside of the bytes, which may be any.
 * Everything is borrowed, and nothing blocks.
 */
#ifndef DX_FILTER_EXIF_H
#define DX_FILTER_EXIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Types of a value, for a set of them. */
#define EXIF_ASCII (1U << 2)
#define EXIF_SHORT (1U << 3)
#define EXIF_LONG (1U << 4)

/* An unsigned number of up to four bytes. */
uint32_t exif_number(const unsigned char *p, size_t size, bool big_endian);

/* Where the first directory is; 0 if there is no header of a TIFF. */
uint64_t exif_directory(const unsigned char *exif, size_t len);

/* The row of the directory at `at` with this tag, and one of these types: tag
 * and type of two bytes, and count and value of four bytes; NULL: none. At 0,
 * there is no directory. */
const unsigned char *exif_find(const unsigned char *exif, size_t len,
                               uint64_t at, uint32_t tag, unsigned types);

/* The SHORT or LONG with this tag in the directory at `at`, or 0. */
uint32_t exif_value(const unsigned char *exif, size_t len, uint64_t at,
                    uint32_t tag);

/* Returns the orientation in EXIF data, which begin with a TIFF header: 1 to 8;
 * 1 if there is none. ret_exif is EXIF data with nothing but it. */
#define EXIF_CLEAN_BYTES 26
int exif_clean(const unsigned char *exif, size_t len,
               unsigned char ret_exif[EXIF_CLEAN_BYTES]);

#endif
