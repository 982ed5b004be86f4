/*
 * mktiff.c - makes a TIFF with several pages, as a fax or a scanner would, and
 * what each page should look like.
 *
 *   mktiff FILE [KEY=VALUE...]
 *
 * Writes FILE, and FILE.1.ppm, FILE.2.ppm... with the pixels of the pages as
 * they are stored; if they are black and white, also FILE.1.pbm... Page n has a
 * square at the top left and n bars below it. Keys: pages, kind (white: 0 is
 * white; black; gray2, gray4, gray, gray16, rgb, alpha, palette, palette8 with
 * values of 8 bits, cmyk, ycbcr), pack (none, packbits, lzw, deflate, rle, g3,
 * g32d, g4, jpeg), rows (of a strip), tile (its side), planes (1: colors
 * apart), lsb (1: bits from the right), big (1: BigTIFF), unit (inch, cm, none,
 * or nothing), dpi, ydpi (default: as dpi), orientation, thumbnail (behind each
 * page: 1, reduced; 2, a mask), across, down (its size, default an eighth of
 * the page), reduced (this page is marked as reduced), icc (1: a color
 * profile), spoil (of the last strip or tile of the first page: count, too few
 * bytes; zero, a length of 0; outside, partly after the end; sum, a wrong last
 * byte; eoi, a JPEG that ends early as it should; comment, a JPEG with one;
 * rows: the page has more rows than its strip; tall: 8 rows less; twice: two
 * strips of half as many rows have the data of the only one; lines: rows of a
 * fax have invalid codes), more (how many rows; default 16), lines (how many,
 * from row 150 on; default 1), apart (how far; default 1), cut (1: the strip
 * ends at that row), format (of samples: 1, without a sign; 2, with one), extra
 * (of alpha: 2, it is opacity; 0, it is something else, and 0; -1: so, and
 * without a tag). Kinds with opacity: glass and smoke (gray, 0 is black or
 * white), glass16, tint (a palette).
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tiffio.h>

#define WIDTH 208 /* a multiple of 16, for tiles and JPEG */
#define HEIGHT 304

static const struct {
  const char *name;
  uint16_t photometric, bits, samples;
} kinds[] = {
    {"white", PHOTOMETRIC_MINISWHITE, 1, 1},
    {"black", PHOTOMETRIC_MINISBLACK, 1, 1},
    {"gray2", PHOTOMETRIC_MINISBLACK, 2, 1},
    {"gray4", PHOTOMETRIC_MINISWHITE, 4, 1},
    {"gray", PHOTOMETRIC_MINISBLACK, 8, 1},
    {"gray16", PHOTOMETRIC_MINISBLACK, 16, 1},
    {"rgb", PHOTOMETRIC_RGB, 8, 3},
    {"alpha", PHOTOMETRIC_RGB, 8, 4},
    {"palette", PHOTOMETRIC_PALETTE, 8, 1},
    {"palette8", PHOTOMETRIC_PALETTE, 8, 1},
    {"cmyk", PHOTOMETRIC_SEPARATED, 8, 4},
    {"ycbcr", PHOTOMETRIC_YCBCR, 8, 3},
    {"glass", PHOTOMETRIC_MINISBLACK, 8, 2},
    {"smoke", PHOTOMETRIC_MINISWHITE, 8, 2},
    {"glass16", PHOTOMETRIC_MINISBLACK, 16, 2},
    {"tint", PHOTOMETRIC_PALETTE, 8, 2},
};

static const struct {
  const char *name;
  uint16_t pack;
} packs[] = {
    {"none", COMPRESSION_NONE},    {"packbits", COMPRESSION_PACKBITS},
    {"lzw", COMPRESSION_LZW},      {"deflate", COMPRESSION_ADOBE_DEFLATE},
    {"g3", COMPRESSION_CCITTFAX3}, {"g32d", COMPRESSION_CCITTFAX3},
    {"g4", COMPRESSION_CCITTFAX4}, {"jpeg", COMPRESSION_JPEG},
    {"rle", COMPRESSION_CCITTRLE},
};

static int arg_count;
static char **args;

static const char *text_of(const char *key, const char *otherwise)
{
  size_t len = strlen(key);
  int i;

  for (i = arg_count - 1; i >= 2; i--) /* the last one counts */
    if (strncmp(args[i], key, len) == 0 && args[i][len] == '=')
      return args[i] + len + 1;
  return otherwise;
}

static int number_of(const char *key, int otherwise)
{
  const char *text = text_of(key, NULL);

  return text != NULL ? atoi(text) : otherwise;
}

static void die(const char *what)
{
  (void)fprintf(stderr, "mktiff: %s\n", what);
  exit(1);
}

static size_t kind(void)
{
  size_t i;

  for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
    if (strcmp(kinds[i].name, text_of("kind", "white")) == 0)
      return i;
  die("no such kind");
  return 0;
}

static uint16_t pack(void)
{
  size_t i;

  for (i = 0; i < sizeof(packs) / sizeof(packs[0]); i++)
    if (strcmp(packs[i].name, text_of("pack", "none")) == 0)
      return packs[i].pack;
  die("no such pack");
  return 0;
}

/* ---- what is on a page ---- */

static bool is_color(size_t k)
{
  return kinds[k].samples > 2 || kinds[k].photometric == PHOTOMETRIC_PALETTE;
}

/* 0 to 3: white, black, and a light and a dark one if the kind has them. */
static int ink(int page, int x, int y)
{
  if (x < 64 && y < 48)
    return 1;
  if (y >= 96 && y < 160 && x / 16 % 2 == 1 && x / 32 < page)
    return 1;
  if (y >= 208)
    return x < 96 ? 2 : 3;
  return 0;
}

/* Exact in 2 and 4 bits, too. */
static void color(size_t k, int page, int x, int y, unsigned char rgb[3])
{
  static const unsigned char grays[] = {255, 0, 170, 85};
  static const unsigned char colors[4][3] = {
      {255, 255, 255}, {0, 0, 0}, {255, 0, 0}, {0, 0, 255}};
  int i = ink(page, x, y);

  if (kinds[k].bits == 1)
    memset(rgb, i == 0 ? 255 : 0, 3);
  else if (is_color(k))
    memcpy(rgb, colors[i], 3);
  else
    memset(rgb, grays[i], 3);
}

static FILE *create(const char *path, int page, const char *format,
                    const char *header)
{
  char name[4096];
  FILE *f;

  (void)snprintf(name, sizeof(name), "%s.%d.%s", path, page, format);
  f = fopen(name, "wb");
  if (f == NULL)
    die("cannot write what is expected");
  (void)fprintf(f, "%s\n%d %d\n", header, WIDTH, HEIGHT);
  return f;
}

static void write_colors(const char *path, size_t k, int page)
{
  FILE *f = create(path, page, "ppm", "P6");
  unsigned char rgb[3];
  int x, y;

  (void)fprintf(f, "255\n");
  for (y = 0; y < HEIGHT; y++)
    for (x = 0; x < WIDTH; x++) {
      color(k, page, x, y, rgb);
      (void)fwrite(rgb, 1, 3, f);
    }
  (void)fclose(f);
}

static void write_bits(const char *path, int page)
{
  FILE *f = create(path, page, "pbm", "P4");
  int x, y, i;

  for (y = 0; y < HEIGHT; y++)
    for (x = 0; x < WIDTH; x += 8) {
      int byte = 0;

      for (i = 0; i < 8; i++)
        byte = byte << 1 | (ink(page, x + i, y) != 0);
      (void)fputc(byte, f);
    }
  (void)fclose(f);
}

/* ---- pixels ---- */

/* The gray, and its opacity, that are white, black, 170, and 85 on white. */
static unsigned glass_sample(int ink, int number)
{
  static const unsigned char samples[4][2] = {
      {100, 0}, {0, 255}, {85, 127}, {51, 212}};

  return samples[ink][number];
}

static unsigned sample(size_t k, int page, int x, int y, int number)
{
  unsigned char rgb[3];

  color(k, page, x, y, rgb);
  if (kinds[k].samples == 2 && kinds[k].photometric != PHOTOMETRIC_PALETTE) {
    unsigned value = glass_sample(ink(page, x, y), number);

    return number == 0 && kinds[k].photometric == PHOTOMETRIC_MINISWHITE
               ? 255 - value
               : value;
  }
  switch (kinds[k].photometric) {
  case PHOTOMETRIC_PALETTE:
    return (unsigned)ink(page, x, y);
  case PHOTOMETRIC_SEPARATED:
    return number < 3 ? 255U - rgb[number] : 0;
  case PHOTOMETRIC_RGB: /* white is transparent, if it can be */
    if (number == 3)
      return ink(page, x, y) == 0 || number_of("extra", 1) <= 0 ? 0 : 255;
    return rgb[number];
  case PHOTOMETRIC_MINISWHITE:
    return (255U - rgb[0]) >> (8 - kinds[k].bits);
  default:
    return kinds[k].bits == 16 ? rgb[number] * 257U
           : kinds[k].bits < 8 ? (unsigned)rgb[number] >> (8 - kinds[k].bits)
                               : rgb[number];
  }
}

/* Rows of `count` pixels from x on; samples of one plane, or of all (-1). */
static void fill(unsigned char *row, size_t k, int page, int x, int count,
                 int y, int plane)
{
  int samples = plane < 0 ? kinds[k].samples : 1, bits = kinds[k].bits;
  int i, s;

  memset(row, 0, ((size_t)(count * samples * bits) + 7) / 8);
  for (i = 0; i < count; i++)
    for (s = 0; s < samples; s++) {
      unsigned value = sample(k, page, x + i, y, plane < 0 ? s : plane);
      int at = i * samples + s;

      if (bits == 16)
        ((uint16_t *)(void *)row)[at] = (uint16_t)value;
      else if (bits == 8)
        row[at] = (unsigned char)value;
      else
        row[at * bits / 8] |=
            (unsigned char)(value << (8 - bits - at * bits % 8));
    }
}

static void write_rows(TIFF *tiff, size_t k, int page)
{
  int planes = number_of("planes", 0) ? kinds[k].samples : 1;
  unsigned char row[8 * WIDTH];
  int y, plane;

  for (plane = 0; plane < planes; plane++)
    for (y = 0; y < HEIGHT; y++) {
      fill(row, k, page, 0, WIDTH, y, planes > 1 ? plane : -1);
      if (TIFFWriteScanline(tiff, row, (uint32_t)y, (uint16_t)plane) != 1)
        die("cannot write a row");
    }
}

static void write_tiles(TIFF *tiff, size_t k, int page, int side)
{
  size_t row_bytes = (size_t)TIFFTileRowSize(tiff);
  unsigned char *tile = calloc((size_t)side, row_bytes);
  int x, y, row;

  for (y = 0; y < HEIGHT; y += side)
    for (x = 0; x < WIDTH; x += side) {
      for (row = 0; row < side; row++)
        fill(tile + (size_t)row * row_bytes, k, page, x, side, y + row, -1);
      if (TIFFWriteTile(tiff, tile, (uint32_t)x, (uint32_t)y, 0, 0) < 0)
        die("cannot write a tile");
    }
  free(tile);
}

/* ---- tags ---- */

static void set_palette(TIFF *tiff, uint16_t most)
{
  uint16_t red[256] = {most, 0, most, 0}, green[256] = {most, 0, 0, 0},
           blue[256] = {most, 0, 0, most};

  TIFFSetField(tiff, TIFFTAG_COLORMAP, red, green, blue);
}

static void set_resolution(TIFF *tiff)
{
  const char *unit = text_of("unit", "");
  int dpi = number_of("dpi", 72);

  if (unit[0] == '\0')
    return;
  TIFFSetField(tiff, TIFFTAG_RESOLUTIONUNIT,
               strcmp(unit, "inch") == 0 ? RESUNIT_INCH
               : strcmp(unit, "cm") == 0 ? RESUNIT_CENTIMETER
                                         : RESUNIT_NONE);
  TIFFSetField(tiff, TIFFTAG_XRESOLUTION, (double)dpi);
  TIFFSetField(tiff, TIFFTAG_YRESOLUTION, (double)number_of("ydpi", dpi));
}

static void set_kind(TIFF *tiff, size_t k)
{
  int kind_of_extra = number_of("extra", EXTRASAMPLE_UNASSALPHA);
  uint16_t extra = (uint16_t)kind_of_extra;

  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, kinds[k].bits);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, kinds[k].samples);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, kinds[k].photometric);
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG,
               number_of("planes", 0) ? PLANARCONFIG_SEPARATE
                                      : PLANARCONFIG_CONTIG);
  if (number_of("format", 0))
    TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, number_of("format", 0));
  if (kind_of_extra >= 0 &&
      (strcmp(kinds[k].name, "alpha") == 0 || kinds[k].samples == 2))
    TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &extra);
  if (kinds[k].photometric == PHOTOMETRIC_PALETTE)
    set_palette(tiff, strcmp(kinds[k].name, "palette8") == 0 ? 255 : 65535);
}

static void set_pack(TIFF *tiff, size_t k)
{
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, pack());
  if (strcmp(text_of("pack", ""), "g32d") == 0)
    TIFFSetField(tiff, TIFFTAG_GROUP3OPTIONS,
                 GROUP3OPT_2DENCODING | GROUP3OPT_FILLBITS);
  if (number_of("rtc", 0))
    TIFFSetField(tiff, TIFFTAG_FAXMODE, FAXMODE_CLASSIC);
  if (pack() != COMPRESSION_JPEG)
    return;
  TIFFSetField(tiff, TIFFTAG_JPEGQUALITY, 100);
  if (kinds[k].photometric == PHOTOMETRIC_YCBCR)
    TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
}

static void write_thumbnail(TIFF *tiff)
{
  unsigned char row[WIDTH] = {0};
  int y, down = number_of("down", HEIGHT / 8);

  TIFFSetField(tiff, TIFFTAG_SUBFILETYPE,
               number_of("thumbnail", 0) == 1 ? FILETYPE_REDUCEDIMAGE
                                              : FILETYPE_MASK);
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, number_of("across", WIDTH / 8));
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, down);
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 1);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISWHITE);
  for (y = 0; y < down; y++)
    if (TIFFWriteScanline(tiff, row, (uint32_t)y, 0) != 1)
      die("cannot write a thumbnail");
  if (!TIFFWriteDirectory(tiff))
    die("cannot write a thumbnail");
}

/* Nothing but a header. */
static void set_profile(TIFF *tiff, size_t k)
{
  unsigned char profile[128] = {0};

  memcpy(profile + 16, is_color(k) ? "RGB " : "GRAY", 4);
  TIFFSetField(tiff, TIFFTAG_ICCPROFILE, sizeof(profile), profile);
}

static void write_page(TIFF *tiff, size_t k, int page)
{
  int side = number_of("tile", 0);

  TIFFSetField(tiff, TIFFTAG_SUBFILETYPE,
               number_of("reduced", 0) == page ? FILETYPE_REDUCEDIMAGE
                                               : FILETYPE_PAGE);
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, WIDTH);
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, HEIGHT);
  set_pack(tiff, k);
  set_kind(tiff, k);
  set_resolution(tiff);
  if (number_of("lsb", 0))
    TIFFSetField(tiff, TIFFTAG_FILLORDER, FILLORDER_LSB2MSB);
  if (number_of("orientation", 0))
    TIFFSetField(tiff, TIFFTAG_ORIENTATION, number_of("orientation", 0));
  if (number_of("icc", 0))
    set_profile(tiff, k);
  if (side > 0) {
    TIFFSetField(tiff, TIFFTAG_TILEWIDTH, side);
    TIFFSetField(tiff, TIFFTAG_TILELENGTH, side);
    write_tiles(tiff, k, page, side);
  } else {
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, number_of("rows", HEIGHT));
    write_rows(tiff, k, page);
  }
  if (!TIFFWriteDirectory(tiff))
    die("cannot write a page");
}

/* ---- damage ---- */

/* Gives a tag of the first page other values; native byte order. */
static void set_numbers(FILE *f, uint16_t tag, uint32_t count, uint32_t *values)
{
  uint32_t directory, at;
  uint16_t entries = 0, name, type = TIFF_LONG;
  int i;

  (void)fseek(f, 0, SEEK_END);
  at = (uint32_t)ftell(f);
  (void)fwrite(values, sizeof(*values), count, f);
  (void)fseek(f, 4, SEEK_SET);
  if (fread(&directory, 4, 1, f) != 1 ||
      fseek(f, (long)directory, SEEK_SET) != 0 || fread(&entries, 2, 1, f) != 1)
    die("cannot read the directory");
  for (i = 0; i < entries; i++) {
    (void)fseek(f, (long)directory + 2 + 12L * i, SEEK_SET);
    if (fread(&name, 2, 1, f) != 1 || name != tag)
      continue;
    (void)fseek(f, 0, SEEK_CUR);
    (void)fwrite(&type, 2, 1, f);
    (void)fwrite(&count, 4, 1, f);
    (void)fwrite(count == 1 ? values : &at, 4, 1, f);
  }
}

static bool get_bit(const unsigned char *bytes, size_t at)
{
  return (bytes[at / 8] >> (7 - at % 8) & 1) != 0;
}

static void set_bit(unsigned char *bytes, size_t at, bool on)
{
  unsigned char bit = (unsigned char)(0x80 >> at % 8);

  bytes[at / 8] =
      (unsigned char)(on ? bytes[at / 8] | bit : bytes[at / 8] & ~bit);
}

/* Group 3: writes an invalid code behind the EOL of some rows. Returns where
 * the last of them begins. */
static uint32_t spoil_lines(unsigned char *bytes, uint32_t len)
{
  static const char invalid[] = "000000001";
  int first = 150, apart = number_of("apart", 1), y = -1;
  int last = first + apart * (number_of("lines", 1) - 1);
  size_t at, zeros = 0, i;

  for (at = 0; at < 8 * (size_t)len && y < last; at++) {
    bool bit = get_bit(bytes, at);

    y += bit && zeros >= 11;
    if (bit && zeros >= 11 && y >= first && (y - first) % apart == 0)
      for (i = 0; invalid[i] != '\0'; i++)
        set_bit(bytes, at + 1 + i, invalid[i] == '1');
    zeros = bit ? 0 : zeros + 1;
  }
  return (uint32_t)(at / 8);
}

/* Puts another last strip at the end of the file. */
static void spoil(const char *path, const char *how)
{
  static const unsigned char comment[] = "\xFF\xFE\0\010SECRET";
  static unsigned char bytes[1 << 20];
  uint32_t offsets[4096], counts[4096], n, i, height = HEIGHT;
  TIFF *tiff = TIFFOpen(path, "rc"); /* strips as they are */
  FILE *f = fopen(path, "r+b");
  uint32_t len;
  bool tiled;

  if (tiff == NULL || f == NULL)
    die("cannot open what was written");
  tiled = TIFFIsTiled(tiff);
  n = tiled ? TIFFNumberOfTiles(tiff) : TIFFNumberOfStrips(tiff);
  for (i = 0; i < n; i++) {
    offsets[i] = (uint32_t)TIFFGetStrileOffset(tiff, i);
    counts[i] = (uint32_t)TIFFGetStrileByteCount(tiff, i);
  }
  TIFFClose(tiff);
  len = counts[n - 1];
  (void)fseek(f, (long)offsets[n - 1], SEEK_SET);
  if (len > sizeof(bytes) - 16 || fread(bytes, 1, len, f) != len)
    die("cannot read the strip");
  if (strcmp(how, "sum") == 0) {
    bytes[len - 1] ^= 1;
  } else if (strcmp(how, "flip") == 0) {
    bytes[number_of("at", 0) % (int)len] ^= 0x10;
  } else if (strcmp(how, "eoi") == 0) {
    len = len * 6 / 10;
    memcpy(bytes + len - 2, "\xFF\xD9", 2);
  } else if (strcmp(how, "comment") == 0) {
    memmove(bytes + 2 + 10, bytes + 2, len - 2);
    memcpy(bytes + 2, comment, 10);
    len += 10;
  } else if (strcmp(how, "lines") == 0) {
    uint32_t end;

    if (number_of("lsb", 0))
      TIFFReverseBits(bytes, len);
    end = spoil_lines(bytes, len);
    len = number_of("cut", 0) ? end : len;
    if (number_of("lsb", 0))
      TIFFReverseBits(bytes, len);
  } else if (strcmp(how, "rows") == 0) {
    height += (uint32_t)number_of("more", 16);
    set_numbers(f, TIFFTAG_IMAGELENGTH, 1, &height);
    set_numbers(f, TIFFTAG_ROWSPERSTRIP, 1, &height);
  }
  if (strcmp(how, "tall") == 0) {
    height = HEIGHT - 8;
    set_numbers(f, TIFFTAG_IMAGELENGTH, 1, &height);
  }
  if (strcmp(how, "twice") == 0) {
    height = HEIGHT / 2;
    set_numbers(f, TIFFTAG_ROWSPERSTRIP, 1, &height);
    counts[n++] = len;
  }
  counts[n - 1] = strcmp(how, "count") == 0  ? len * 3 / 4
                  : strcmp(how, "zero") == 0 ? 0
                                             : len;
  set_numbers(f, TIFFTAG_STRIPBYTECOUNTS, n, counts);
  set_numbers(f, TIFFTAG_TILEBYTECOUNTS, n, counts);
  (void)fseek(f, 0, SEEK_END);
  offsets[n - 1] = (uint32_t)ftell(f) + 4 * n;
  if (strcmp(how, "outside") == 0)
    offsets[n - 1] += 4 * n + len / 2;
  set_numbers(f, tiled ? TIFFTAG_TILEOFFSETS : TIFFTAG_STRIPOFFSETS, n,
              offsets);
  (void)fseek(f, 0, SEEK_END);
  (void)fwrite(bytes, 1, len, f);
  (void)fclose(f);
}

int main(int argc, char **argv)
{
  size_t k;
  TIFF *tiff;
  int page;

  arg_count = argc;
  args = argv;
  if (argc < 2)
    die("usage: mktiff FILE [KEY=VALUE...]");
  k = kind();
  tiff = TIFFOpen(argv[1], number_of("big", 0) ? "w8" : "w");
  if (tiff == NULL)
    die("cannot create the file");
  for (page = 1; page <= number_of("pages", 1); page++) {
    write_page(tiff, k, page);
    write_colors(argv[1], k, page);
    if (kinds[k].bits == 1)
      write_bits(argv[1], page);
    if (number_of("thumbnail", 0))
      write_thumbnail(tiff);
  }
  TIFFClose(tiff);
  if (text_of("spoil", NULL) != NULL)
    spoil(argv[1], text_of("spoil", ""));
  return 0;
}
