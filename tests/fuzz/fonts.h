/*
 * fonts.h - the fonts of this computer for fuzz targets that draw text. To be
 * linked as tests/fuzz/local.mk does.
 */
#ifndef DX_FUZZ_FONTS_H
#define DX_FUZZ_FONTS_H

#include "filter/text.h"

/* Opened at the first call, and never freed. */
const struct text_fonts *fuzz_fonts(void);

#endif
