/*
 * test_flatten.c - the output of filter/flatten.c for small documents, as
 * poppler shows it. The text writer is a fake that uses Helvetica.
 */
#include "tests/unit/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "filter/flatten.h"
#include "filter/text.h"
#include "tests/unit/temp_dir.h"

#define SIZE 200 /* of a page, and of its picture in pixels */

static char dir[TEMP_DIR_BYTES];
static char seen_text[4096]; /* by the fake */
static struct text_value seen_first;

/* ---- a fake text writer ---- */

static enum dx_reason draw_values(const struct text_value *values, size_t count,
                                  int out_fd, struct pdf_done *ret_done)
{
  FILE *out = fdopen(dup(out_fd), "w");
  size_t i;

  (void)ret_done;
  assert_non_null(out);
  seen_first = values[0];
  (void)fprintf(out, "%%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
                     "3 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
                     "endobj\n2 0 obj<</Type/Pages/Kids[");
  for (i = 0; i < count; i++)
    (void)fprintf(out, "%zu 0 R ", 2 * i + 10);
  (void)fprintf(out, "]/Count %zu>>endobj\n", count);
  for (i = 0; i < count; i++) {
    const struct text_value *v = &values[i];
    char drawn[512];

    (void)snprintf(seen_text + strlen(seen_text),
                   sizeof(seen_text) - strlen(seen_text), "%s|", v->utf8);
    (void)snprintf(drawn, sizeof(drawn), "BT /F %g Tf 0 1 Td (%.400s) Tj ET",
                   v->height, v->utf8);
    (void)fprintf(out,
                  "%zu 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 %f %f]"
                  "/Resources<</Font<</F 3 0 R>>>>/Contents %zu 0 R>>endobj\n"
                  "%zu 0 obj<</Length %zu>>stream\n%s\nendstream\nendobj\n",
                  2 * i + 10, v->width, v->height, 2 * i + 11, 2 * i + 11,
                  strlen(drawn), drawn);
  }
  (void)fprintf(out, "trailer<</Root 1 0 R/Size 99>>\n%%%%EOF\n");
  assert_int_equal(fclose(out), 0);
  return DX_REASON_NONE;
}

static const struct text_module fake_text = {.values_to_pdf = draw_values};

/* ---- documents ---- */

/* A document of one page whose content is a black square at 0 0 20 20. */
struct document {
  const char *catalog, *page, *annotations, *objects, *content;
};

static struct pdf_done done;
static unsigned char picture[SIZE * SIZE];
static char words[4096];

static void in_dir(char *path, size_t len, const char *name)
{
  (void)snprintf(path, len, "%s/%s", dir, name);
}

/* Fills `picture` and `words` from the result. */
static void show(void)
{
  char command[512], path[64], pdf[64];
  FILE *in;
  size_t len;

  in_dir(pdf, sizeof(pdf), "out.pdf");
  (void)snprintf(command, sizeof(command),
                 "pdftotext -q -layout %s %s/words && "
                 "pdftoppm -q -r 72 -gray -singlefile %s %s/picture",
                 pdf, dir, pdf, dir);
  assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
  in_dir(path, sizeof(path), "words");
  in = fopen(path, "r");
  assert_non_null(in);
  len = fread(words, 1, sizeof(words) - 1, in);
  words[len] = '\0';
  (void)fclose(in);
  in_dir(path, sizeof(path), "picture.pgm");
  in = fopen(path, "r");
  assert_non_null(in);
  assert_int_equal(fscanf(in, "P5 200 200 255"), 0);
  (void)fgetc(in);
  assert_int_equal(fread(picture, 1, sizeof(picture), in), sizeof(picture));
  (void)fclose(in);
}

static enum dx_reason flatten(const char *text, int pages, bool fonts)
{
  qpdf_data pdf = qpdf_init();
  struct flatten_page chosen[4];
  int i;
  char path[64];
  FILE *scratch = tmpfile();
  struct pdf_task task = {.text = fonts ? &fake_text : NULL};
  enum dx_reason reason;

  assert_non_null(scratch);
  qpdf_set_suppress_warnings(pdf, QPDF_TRUE);
  qpdf_silence_errors(pdf);
  assert_true(qpdf_read_memory(pdf, "test", text, strlen(text), NULL) <
              QPDF_ERRORS);
  for (i = 0; i < pages; i++) {
    chosen[i].id = qpdf_oh_get_object_id(pdf, qpdf_get_page_n(pdf, (size_t)i));
    chosen[i].number = i + 1;
  }
  seen_text[0] = '\0';
  task.spare_fd = fileno(scratch);
  done = (struct pdf_done){0};
  reason = flatten_pages(pdf, &task, chosen, pages, &done);
  if (reason == DX_REASON_NONE) {
    in_dir(path, sizeof(path), "out.pdf");
    (void)qpdf_init_write(pdf, path);
    qpdf_set_qdf_mode(pdf, QPDF_TRUE);
    assert_true(qpdf_write(pdf) < QPDF_ERRORS);
  }
  qpdf_cleanup(&pdf);
  (void)fclose(scratch);
  return reason;
}

static enum dx_reason flatten_document(struct document d)
{
  char text[8192];

  (void)snprintf(
      text, sizeof(text),
      "%%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 2 0 R%s>>endobj\n"
      "2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
      "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R%s"
      "/Annots[%s]>>endobj\n"
      "4 0 obj<</Length %zu>>stream\n%s\nendstream\nendobj\n"
      /* Black in the left half of 0 0 10 20. */
      "5 0 obj<</BBox[0 0 10 20]/Length 13>>stream\n0 0 5 20 re f\nendstream\n"
      "endobj\n%s\ntrailer<</Root 1 0 R/Size 99>>\n%%%%EOF\n",
      d.catalog ? d.catalog : "", d.page ? d.page : "",
      d.annotations ? d.annotations : "",
      strlen(d.content ? d.content : "0 0 20 20 re f"),
      d.content ? d.content : "0 0 20 20 re f", d.objects ? d.objects : "");
  return flatten(text, 1, true);
}

/* The PDF, as text. */
static void read_result(char *out, size_t room)
{
  char path[64];
  FILE *in;
  size_t len;

  in_dir(path, sizeof(path), "out.pdf");
  in = fopen(path, "r");
  assert_non_null(in);
  len = fread(out, 1, room - 1, in);
  assert_in_range(len, 100, room - 1);
  out[len] = '\0';
  (void)fclose(in);
}

static void flatten_and_show(struct document d)
{
  assert_int_equal(flatten_document(d), DX_REASON_NONE);
  show();
}

static bool dark(int x, int y)
{
  return picture[(SIZE - 1 - y) * SIZE + x] < 100;
}

static void assert_shown(const char *annotation, bool shown)
{
  struct document d = {.annotations = annotation};

  flatten_and_show(d);
  assert_true(dark(5, 5));
  assert_int_equal(dark(105, 110), shown);
  assert_false(dark(115, 110)); /* the right half */
}

#define STAMP "/Subtype/Stamp/Rect[100 100 120 120]"
#define AP "/AP<</N 5 0 R>>"

/* ---- annotations ---- */

static void only_printable_annotations_are_drawn(void **state)
{
  (void)state;
  assert_shown("<<" STAMP "/F 4" AP ">>", true);
  assert_shown("<<" STAMP "/F 36" AP ">>", true); /* NoView */
  assert_shown("<<" STAMP AP ">>", false);
  assert_shown("<<" STAMP "/F 6" AP ">>", false); /* Hidden */
  assert_shown("<</Subtype/Popup/Rect[100 100 120 120]/F 4" AP ">>", false);
  assert_shown("<</Subtype/Widget/Rect[100 100 120 120]/F 4" AP ">>", true);
  /* Any two opposite corners. */
  assert_shown("<</Subtype/Stamp/Rect[120 120 100 100]/F 4" AP ">>", true);
}

static void state_selects_the_appearance(void **state)
{
  (void)state;
  assert_shown("<<" STAMP "/F 4/AP<</N<</On 5 0 R/Off 4 0 R>>>>/AS/On>>", true);
  assert_shown("<<" STAMP "/F 4/AP<</N<</On 5 0 R>>>>>>", true);
  /* Of a signature whose /N is not a dictionary of states. */
  assert_shown("<</Subtype/Widget/FT/Sig/Rect[100 100 120 120]/F 4" AP
               "/AS/Off>>",
               true);
  assert_shown("<</Subtype/Widget/FT/Btn/Rect[100 100 120 120]/F 4/AS/Off"
               "/AP<</N<</Yes 5 0 R>>>>>>",
               false);
  assert_shown("<</Subtype/Widget/FT/Btn/Rect[100 100 120 120]/F 4"
               "/AP<</N<</A 5 0 R/B 5 0 R>>>>>>",
               false);
}

/* Without a state, that is the value; another one, or none, is not checked. */
static void value_selects_the_state_of_a_button(void **state)
{
  static const struct {
    const char *keys;
    bool shown;
  } cases[] = {
      {"/V/Yes/AP<</N<</Yes 5 0 R/Off 4 0 R>>>>", true},
      {"/V/Yes/AP<</N<</Yes 5 0 R>>>>", true},
      {"/V/Off/AP<</N<</Yes 5 0 R/Off 4 0 R>>>>", false},
      {"/V/Off/AP<</N<</Yes 5 0 R>>>>", false},
      {"/V/No/AP<</N<</Yes 5 0 R/Off 4 0 R>>>>", false},
      {"/V/No/AP<</N<</Yes 4 0 R/Off 5 0 R>>>>", true},
      {"/AP<</N<</Yes 5 0 R/Off 4 0 R>>>>", false},
      {"/AP<</N<</Yes 5 0 R>>>>", false},
      {"/Ff 32768/V/Yes/AP<</N<</Yes 5 0 R>>>>", true},
      {"/Ff 32768/V/No/AP<</N<</Yes 5 0 R>>>>", false},
  };
  char annotation[256];
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    (void)snprintf(annotation, sizeof(annotation),
                   "<</Subtype/Widget/FT/Btn/Rect[100 100 120 120]/F 4%s>>",
                   cases[i].keys);
    assert_shown(annotation, cases[i].shown);
  }
}

static void appearance_is_fitted_into_its_rectangle(void **state)
{
  struct document turned = {
      .annotations = "<<" STAMP "/F 4/AP<</N 6 0 R>>>>",
      /* Turned by 90 degrees: its left half is the lower one. */
      .objects = "6 0 obj<</BBox[0 0 10 20]/Matrix[0 1 -1 0 7 7]/Length 13>>"
                 "stream\n0 0 5 20 re f\nendstream\nendobj\n"};

  (void)state;
  flatten_and_show(turned);
  assert_true(dark(105, 105) && dark(115, 105));
  assert_false(dark(105, 115) || dark(115, 115));
  turned.page = "/Rotate 90";
  turned.annotations = "<<" STAMP "/F 20" AP ">>"; /* NoRotate */
  flatten_and_show(turned);
  /* Upright, right of the upper left corner, which is shown at 120, 100. */
  assert_true(dark(125, 90));
  assert_false(dark(135, 90) || dark(105, 90));
}

/* What it leaves open, and what stops poppler. */
static void content_does_not_change_what_is_added(void **state)
{
  static const char *const contents[] = {
      "0 0 20 20 re f q q 0.1 0 0 0.1 0 0 cm 1 g",
      "0 0 20 20 re f 9 0 0 9 0 0 cm 3 Tr Q Q",
      "0 0 20 20 re f 0 0 1 1 re W n",
      "0 0 20 20 re f /M BDC",
      "0 0 20 20 re f BT (words",
      "0 0 20 20 re f [1 2",
      "0 0 20 20 re f <</A",
      "0 0 20 20 re f BI /W 1 /H 1 /BPC 8 /CS /G ID q EI %",
  };
  struct document d = {.annotations = "<<" STAMP "/F 4" AP ">>"};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
    d.content = contents[i];
    flatten_and_show(d);
    assert_true(dark(5, 5) && dark(105, 110));
  }
}

static void resources_of_other_pages_do_not_change(void **state)
{
  static const char text[] =
      "%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
      "2 0 obj<</Type/Pages/Kids[3 0 R 6 0 R]/Count 2>>endobj\n"
      "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R"
      "/Resources 7 0 R/Annots[<<" STAMP "/F 4/AP<</N 5 0 R>>>>]>>endobj\n"
      "4 0 obj<</Length 7>>stream\n/Dx1 Do\nendstream\nendobj\n"
      "5 0 obj<</BBox[0 0 10 20]/Length 13>>stream\n0 0 5 20 re f\nendstream\n"
      "endobj\n6 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]"
      "/Resources 7 0 R>>endobj\n"
      "7 0 obj<</XObject 8 0 R/Kept true>>endobj\n8 0 obj<</Dx1 9 0 R>>endobj\n"
      "9 0 obj<</Type/XObject/Subtype/Form/BBox[0 0 50 50]/Length 14>>stream\n"
      "0 0 20 20 re f\nendstream\nendobj\ntrailer<</Root 1 0 R/Size "
      "99>>\n%%EOF\n";
  char out[8192];

  (void)state;
  assert_int_equal(flatten(text, 2, true), DX_REASON_NONE);
  show();
  assert_true(dark(5, 5) && dark(105, 110)); /* both of that name */
  read_result(out, sizeof(out));
  assert_null(strstr(out, "/Annots"));
  assert_non_null(strstr(out, "/Dx2"));
  /* Drawn, and in the resources of one page. */
  assert_null(strstr(strstr(strstr(out, "/Dx2") + 4, "/Dx2") + 4, "/Dx2"));
}

static void appearance_uses_resources_of_its_page(void **state)
{
  static const char *const resources[] = {"", "/Resources<</XObject<<>>>>"};
  struct document d = {.page = "/Resources<</XObject<</Dx1 7 0 R>>>>",
                       .annotations = "<<" STAMP "/F 4/AP<</N 6 0 R>>>>"};
  char objects[512];
  size_t i;

  (void)state;
  for (i = 0; i < 2; i++) {
    (void)snprintf(objects, sizeof(objects),
                   "6 0 obj<</BBox[0 0 10 20]/Length 7%s>>stream\n/Dx1 Do\n"
                   "endstream\nendobj\n7 0 obj<</Type/XObject/Subtype/Form"
                   "/BBox[0 0 10 20]/Length 13>>stream\n0 0 5 20 re f\n"
                   "endstream\nendobj\n",
                   resources[i]);
    d.objects = objects;
    flatten_and_show(d);
    assert_true(dark(5, 5) && dark(105, 110));
  }
}

static void highlight_does_not_cover_text(void **state)
{
  static const char *const streams[] = {
      "/Length 27>>stream\n1 1 0 rg 0 0 100 100 re f",
      "/Resources<</ExtGState<</G<</BM/Multiply>>>>>>/Group<</S/Transparency>>"
      "/Length 33>>stream\n/G gs 1 1 0 rg 0 0 100 100 re f",
      "/Resources<</ExtGState<</G<</BM/Multiply>>>>>>/Group<</S/Transparency"
      "/I true>>/Length 33>>stream\n/G gs 1 1 0 rg 0 0 100 100 re f"};
  char object[512];
  struct document d = {.annotations =
                           "<</Subtype/Highlight/Rect[0 0 100 100]/F 4"
                           "/AP<</N 6 0 R>>>>",
                       .objects = object};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
    (void)snprintf(object, sizeof(object),
                   "6 0 obj<</BBox[0 0 100 100]%s\nendstream\nendobj\n",
                   streams[i]);
    flatten_and_show(d);
    assert_true(dark(5, 5));
    assert_int_not_equal(picture[100 * SIZE + 50], 255);
  }
}

static void appearance_keeps_a_group_that_changes_it(void **state)
{
  static const struct {
    const char *entries;
    bool kept;
  } cases[] = {{"", false}, {"/I true", true}, {"/K true", true}};
  char object[256], out[8192];
  struct document d = {.annotations = "<<" STAMP "/F 4/AP<</N 6 0 R>>>>",
                       .objects = object};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    (void)snprintf(object, sizeof(object),
                   "6 0 obj<</BBox[0 0 9 9]/Group<</S/Transparency%s>>"
                   "/Length 0>>stream\nendstream\nendobj\n",
                   cases[i].entries);
    assert_int_equal(flatten_document(d), DX_REASON_NONE);
    read_result(out, sizeof(out));
    assert_int_equal(strstr(out, "/Group") != NULL, cases[i].kept);
  }
  /* Of no width: it would be scaled to infinity. */
  d.objects = "6 0 obj<</BBox[0 0 0 9]/Length 0>>stream\nendstream\nendobj\n";
  assert_int_equal(flatten_document(d), DX_REASON_NONE);
  read_result(out, sizeof(out));
  assert_null(strstr(out, "/Dx1"));
}

static void links_are_not_sent(void **state)
{
  struct document d = {.annotations = "<</Subtype/Link/F 4/Rect[50 50 90 90]"
                                      "/Border[0 0 4]>>"};

  (void)state;
  flatten_and_show(d);
  assert_false(dark(50, 70));
}

/* ---- layers ---- */

static void layers_have_their_print_state(void **state)
{
  static const struct {
    const char *usage, *config;
    bool shown;
  } cases[] = {
      {"", "", true},
      {"", "/OFF[6 0 R]", false},
      {"", "/BaseState/OFF", false},
      {"", "/BaseState/OFF/ON[6 0 R]", true},
      {"/Print<</PrintState/ON>>", "/OFF[6 0 R]", false}, /* no /AS */
      {"/Print<</PrintState/ON>>",
       "/OFF[6 0 R]/AS[<</Event/Print/Category[/Print]/OCGs[6 0 R]>>]", true},
      {"/Print<</PrintState/OFF>>",
       "/AS[<</Event/Print/Category[/Print]/OCGs[6 0 R]>>]", false},
      {"/Print<</PrintState/OFF>>",
       "/AS[<</Event/View/Category[/Print]/OCGs[6 0 R]>>]", true},
      {"/Print<</PrintState/OFF>>/View<</ViewState/ON>>",
       "/AS[<</Event/Print/Category[/Print/View]/OCGs[6 0 R]>>]", false},
      {"/Print<</PrintState/ON>>/View<</ViewState/OFF>>",
       "/AS[<</Event/Print/Category[/Print/View]/OCGs[6 0 R]>>]", false},
  };
  char catalog[512], objects[256], content[256];
  struct document d = {.catalog = catalog,
                       .page = "/Resources<</Properties<</L 6 0 R>>>>",
                       .objects = objects,
                       .content = content};
  size_t i;
  int member;

  (void)state;
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    for (member = 0; member < 2; member++) {
      (void)snprintf(catalog, sizeof(catalog),
                     "/OCProperties<</OCGs[6 0 R]/D<<%s>>>>", cases[i].config);
      (void)snprintf(objects, sizeof(objects),
                     "6 0 obj<</Type/OCG/Name(L)/Usage<<%s>>>>endobj\n"
                     "7 0 obj<</Type/OCMD/OCGs 6 0 R>>endobj\n",
                     cases[i].usage);
      (void)snprintf(content, sizeof(content), "%s",
                     "0 0 20 20 re f /OC /L BDC 50 50 20 20 re f EMC");
      d.annotations = member ? "<<" STAMP "/F 4/OC 7 0 R" AP ">>"
                             : "<<" STAMP "/F 4/OC 6 0 R" AP ">>";
      flatten_and_show(d);
      assert_true(dark(5, 5));
      assert_int_equal(dark(105, 110), cases[i].shown);
      assert_int_equal(dark(60, 60), cases[i].shown);
    }
}

/* ---- form fields ---- */

#define FIELD "/Subtype/Widget/F 4/Rect[50 100 150 120]"
#define FORM "/AcroForm<</Fields[3 0 R]/DA(0 0 1 rg /Helv 9 Tf)/Q 2>>"
#define STALE "/AcroForm<</Fields[3 0 R]/NeedAppearances true>>"

static void values_are_drawn_with_the_format_of_their_fields(void **state)
{
  static const struct {
    const char *catalog, *field, *drawn;
    int multiline, comb, align;
  } cases[] = {
      {FORM, "/FT/Tx/V(one two)", "one two|", 0, 0, 2},
      {FORM, "/FT/Tx/Q 1/V<FEFF0141>", "\xC5\x81|", 0, 0, 1},
      {FORM, "/FT/Tx/V<EFBBBFC581>", "\xC5\x81|", 0, 0, 2},
      {FORM, "/FT/Tx/V<FFFE4101>", "\xC5\x81|", 0, 0, 2},
      /* The language of the text is not a part of it. */
      {FORM, "/FT/Tx/V<FEFF001B0065006E002D00550053001B0035002E0034>", "5.4|",
       0, 0, 2},
      {FORM, "/FT/Tx/V<FEFF0035001B00640065001B002E0034>", "5.4|", 0, 0, 2},
      {FORM, "/FT/Tx/V<FEFF001B0061002D0076006500720079001B0035>",
       "\033a-very\0335|", 0, 0, 2},
      {FORM, "/FT/Tx/V<FEFF001B0064001B0035>", "\033d\0335|", 0, 0, 2},
      {FORM, "/FT/Tx/V<FEFF001B0064006500200035>", "\033de 5|", 0, 0, 2},
      {FORM, "/FT/Tx/V<FEFF0035001B00640065>", "5\033de|", 0, 0, 2},
      {FORM, "/FT/Tx/V 7 0 R", "from a stream|", 0, 0, 2},
      {FORM, "/FT/Tx/V(a\\nb)", "a b|", 0, 0, 2},
      {FORM, "/FT/Tx/V(a\\000b)", "a b|", 0, 0, 2},
      {FORM, "/FT/Tx/Q 3/V(a)", "a|", 0, 0, 0},
      {FORM, "/FT/Tx/Ff 4096/V(a\\nb)", "a\nb|", 1, 0, 2},
      {FORM, "/FT/Tx/Ff 8192/V<FEFF01410062>", "**|", 0, 0, 2},
      {FORM, "/FT/Tx/Ff 16777216/MaxLen 9/V(12)", "12|", 0, 9, 2},
      {FORM, "/FT/Tx/Ff 16781312/MaxLen 9/V(12)", "12|", 1, 0, 2},
      {FORM, "/FT/Tx/V()", "", 0, 0, 0},
      {FORM, "/Rect[0 0 99999999 20]/FT/Tx/V(a)", "", 0, 0, 0},
      {FORM, "/Rect[50 100 50.5 120]/FT/Tx/V(a)", "", 0, 0, 0},
      {FORM, "/FT/Tx", "", 0, 0, 0},
      {FORM, "/FT/Tx" AP "/V(no)", "", 0, 0, 0},
      {STALE, "/FT/Tx" AP "/V(yes)", "yes|", 0, 0, 0},
      {STALE, "/FT/Tx" AP "/V()", "", 0, 0, 0},
      {STALE, "/FT/Ch" AP "/V(b)", "b|", 1, 0, 0},
      {STALE, "/FT/Ch" AP "/V<FEFF05D005D1>", "\xD7\x90\xD7\x91|", 1, 0, 0},
      {STALE, "/FT/Ch/Ff 131072" AP "/V(b)", "b|", 0, 0, 0},
      {FORM, "/FT/Ch" AP "/V(b)", "", 0, 0, 0},
      {FORM, "/FT/Ch/V(b)/Opt[(a)[(b)(Bee)]]", "Bee|", 1, 0, 2},
      {FORM, "/FT/Ch/V[(b)(a)]/Opt[(a)[(b)(Bee)]]", "Bee\na|", 1, 0, 2},
      {FORM, "/FT/Ch/Ff 131072/V(b)/Opt[[(b)(Bee)][(b)(Bay)]]", "Bee|", 0, 0,
       2},
      /* Several options have the same value. */
      {FORM, "/FT/Ch/V(b)/I[1]/Opt[[(b)(Bee)][(b)(Bay)]]", "Bay|", 1, 0, 2},
      {FORM, "/FT/Ch/V[(b)(b)]/I[0 1]/Opt[[(b)(Bee)][(b)(Bay)]]", "Bee\nBay|",
       1, 0, 2},
      {FORM, "/FT/Ch/I[1]/Opt[[(a)(A)][(b)(Bay)]]", "Bay|", 1, 0, 2},
      /* /V is newer. */
      {FORM, "/FT/Ch/V(b)/I[0]/Opt[[(a)(A)][(b)(Bay)]]", "Bay|", 1, 0, 2},
      {FORM, "/FT/Ch/V[(b)(a)]/I[0]/Opt[(a)(b)]", "b\na|", 1, 0, 2},
      {FORM, "/FT/Ch/V(c)/I[7]/Opt[(a)(b)]", "c|", 1, 0, 2},
      {FORM, "/Parent 6 0 R", "inherited|", 1, 0, 0},
      {FORM, "/Parent 8 0 R", "", 0, 0, 0}, /* its own parent */
      {FORM, "/FT/Btn/V/Yes", "X|", 0, 0, 1},
      {FORM, "/FT/Btn/V/Yes/AS/Off", "", 0, 0, 0},
      {FORM, "/FT/Btn/V/Off", "", 0, 0, 0},
      {FORM, "/FT/Btn/Ff 32768/AS/a/Parent 6 0 R", "X|", 0, 0, 1},
      {FORM, "/FT/Btn/Ff 32768/V/a", "", 0, 0, 0}, /* of one of several */
      {FORM, "/FT/Btn/V/Off/AS/No/AP<</N<</Yes 5 0 R>>>>", "", 0, 0, 0},
      {FORM, "/FT/Btn/AS/Yes/AP<</N<</Yes 9 0 R>>>>", "X|", 0, 0, 1},
      {FORM, "/FT/Btn/Ff 65536/V/Yes/MK<</CA(Print)>>", "", 0, 0, 0},
      {FORM, "/FT/Sig/V<</Name(x)>>", "", 0, 0, 0},
  };
  char field[512];
  struct document d = {
      .annotations = field,
      .objects = "6 0 obj<</FT/Tx/Ff 4096/Q 0/V(inherited)>>endobj\n"
                 "7 0 obj<</Length 13>>stream\nfrom a stream\nendstream\nendobj"
                 "\n8 0 obj<</Parent 8 0 R>>endobj\n"
                 "9 0 obj<</Length 0>>stream\nendstream\nendobj\n"};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    (void)snprintf(field, sizeof(field), "<<" FIELD "%s>>", cases[i].field);
    d.catalog = cases[i].catalog;
    assert_int_equal(flatten_document(d), DX_REASON_NONE);
    assert_string_equal(seen_text, cases[i].drawn);
    if (cases[i].drawn[0] == '\0')
      continue;
    assert_int_equal(seen_first.multiline, cases[i].multiline);
    assert_int_equal(seen_first.comb, cases[i].comb);
    assert_int_equal(seen_first.align, cases[i].align);
  }
}

/* The program that deleted or changed it did not draw it. */
static void older_value_is_not_drawn(void **state)
{
  static const struct {
    const char *catalog, *field;
    bool drawn;
  } cases[] = {{FORM, "/FT/Tx/V()", true},
               {STALE, "/FT/Tx/V()", false},
               {STALE, "/FT/Ch/V[]", false},
               {STALE, "/FT/Ch/V(b)", false},
               {STALE, "/FT/Tx", true}}; /* its value may be elsewhere */
  char field[512];
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    struct document d = {.catalog = cases[i].catalog, .annotations = field};

    (void)snprintf(field, sizeof(field),
                   "<<" FIELD AP "/Rect[100 100 120 120]%s>>", cases[i].field);
    flatten_and_show(d);
    assert_int_equal(dark(102, 118), cases[i].drawn);
  }
}

static void values_have_the_size_and_color_of_their_fields(void **state)
{
  static const struct {
    const char *style;
    double size, rgb[3];
  } cases[] = {
      {"/Helv 9 Tf", 9, {0, 0, 0}},
      {"0.5 g /Helv 0 Tf", 0, {0.5, 0.5, 0.5}},
      {"0.25 0.5 1 rg /Helv 12 Tf", 12, {0.25, 0.5, 1}},
      {"0.25 1 0 0.5 k", 0, {0.25, 0, 0.5}},
  };
  char field[512];
  struct document d = {.annotations = field};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    (void)snprintf(field, sizeof(field), "<<" FIELD "/FT/Tx/V(a)/DA(%s)>>",
                   cases[i].style);
    assert_int_equal(flatten_document(d), DX_REASON_NONE);
    assert_true(seen_first.size == cases[i].size);
    assert_memory_equal(seen_first.rgb, cases[i].rgb, sizeof(cases[i].rgb));
  }
}

static void values_are_drawn_inside_their_fields(void **state)
{
  static const char *const marks[] = {"", "/MK<</R 90>>", "/MK<</R 180>>",
                                      "/MK<</R -90>>"};
  char field[512];
  struct document d = {.catalog = FORM, .annotations = field};
  int x, y, turn;

  (void)state;
  for (turn = 0; turn < 4; turn++) {
    int inside = 0;

    (void)snprintf(field, sizeof(field), "<<" FIELD "/FT/Tx/V(HHHH)%s>>",
                   marks[turn]);
    flatten_and_show(d);
    for (y = 0; y < SIZE; y++)
      for (x = 0; x < SIZE; x++)
        if (x >= 50 && x < 150 && y >= 100 && y < 120)
          inside += picture[(SIZE - 1 - y) * SIZE + x] < 255;
        else
          assert_true(picture[(SIZE - 1 - y) * SIZE + x] == 255 ||
                      (x < 21 && y < 21));
    assert_true(inside > 50);
    if (turn == 0)
      assert_non_null(strstr(words, "HHHH"));
    assert_true(turn % 2 == 0 ? seen_first.width > 90 : seen_first.width < 20);
  }
  assert_true(seen_first.size == 9);
  assert_true(seen_first.rgb[0] == 0 && seen_first.rgb[2] == 1);
  /* Two widgets of one field, on a rotated page. */
  (void)snprintf(field, sizeof(field),
                 "<<" FIELD "/Parent 6 0 R>> <</Subtype/Widget/F 4"
                 "/Rect[50 20 150 40]/Parent 6 0 R>>");
  d.objects = "6 0 obj<</FT/Tx/V(HHHH)>>endobj";
  d.page = "/Rotate 90";
  flatten_and_show(d);
  assert_string_equal(seen_text, "HHHH|HHHH|");
  /* It turns with its field, whatever its flags are (NoRotate). */
  (void)snprintf(field, sizeof(field), "<<" FIELD "/F 20/FT/Tx/V(HHHH)>>");
  flatten_and_show(d);
  for (y = 0; y < SIZE; y++)
    for (x = 0; x < SIZE; x++)
      assert_true(picture[(SIZE - 1 - y) * SIZE + x] == 255 ||
                  (x >= 100 && x < 120 && y >= 50 && y < 150) ||
                  (x < 21 && y >= SIZE - 21));
}

/* The page is black there. */
static void background_of_a_field_is_below_its_value(void **state)
{
  static const struct {
    const char *catalog, *field;
    bool is_dark;
  } cases[] = {
      {STALE, "/FT/Tx/V(a)/MK<</BG[1]>>", false},
      {STALE, "/FT/Tx/V(a)/MK<</BG[1 1 1]>>", false},
      {STALE, "/FT/Tx/V(a)/MK<</BG[0 0 0 0]>>", false},
      {STALE, "/FT/Tx/V(a)/MK<</BG[0]>>", true},
      {STALE, "/FT/Tx/V(a)/MK<</BG[0 0 1]>>", true},
      {STALE, "/FT/Tx/V(a)/MK<</BG[0 0 0 1]>>", true},
      {STALE, "/FT/Tx/V(a)/MK<</BG[]>>", true}, /* transparent */
      {STALE, "/FT/Tx/V(a)/MK<</BG[1 1]>>", true},
      {STALE, "/FT/Tx/V(a)/MK<</BG[1 1 /x]>>", true},
      {STALE, "/FT/Tx/V(a)/MK<</BC[1]>>", true},
      {STALE, "/FT/Tx" AP "/V(a)/MK<</BG[1]>>", false},
      {FORM, "/FT/Tx/V(a)/MK<</BG[1]/R 90>>", false},
      {FORM, "/FT/Tx/MK<</BG[1]>>", false},
      {FORM, "/FT/Ch/V()/MK<</BG[1]>>", false},
      {FORM, "/FT/Tx", true},
      {FORM, "/FT/Sig/MK<</BG[1]>>", true}, /* not in all viewers */
      /* Its appearance has it, if it needs it. */
      {FORM, "/FT/Tx/V(a)/AP<</N 6 0 R>>/MK<</BG[1]>>", true},
  };
  char field[512];
  struct document d = {
      .annotations = field,
      .content = "0 0 200 200 re f",
      .objects =
          "6 0 obj<</BBox[0 0 9 9]/Length 0>>stream\nendstream\nendobj\n"};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    (void)snprintf(field, sizeof(field), "<<" FIELD "%s>>", cases[i].field);
    d.catalog = cases[i].catalog;
    flatten_and_show(d);
    assert_int_equal(dark(51, 101), cases[i].is_dark);
    assert_int_equal(dark(149, 119), cases[i].is_dark);
    assert_true(dark(48, 110) && dark(152, 110) && dark(100, 98) &&
                dark(100, 122));
  }
  (void)snprintf(field, sizeof(field),
                 "<<" FIELD "/FT/Tx/V(HHHH)/MK<</BG[1]>>>>");
  flatten_and_show(d);
  assert_non_null(strstr(words, "HHHH"));
}

static void fonts_are_loaded_only_when_needed(void **state)
{
  static const char text[] =
      "%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
      "2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
      "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]"
      "/Annots[<<" FIELD
      "/FT/Tx/V(a)>>]>>endobj\ntrailer<</Root 1 0 R/Size 99>>\n";

  (void)state;
  assert_int_equal(flatten(text, 1, false), DX_REASON_TROUBLE);
  assert_true(done.needs_fonts);
  assert_int_equal(flatten(text, 1, true), DX_REASON_NONE);
  assert_false(done.needs_fonts);
}

/* ---- refusals ---- */

static void annotation_that_cannot_be_drawn_is_refused(void **state)
{
#define PORTFOLIO \
  "the documents attached to it can be shown only by a PDF viewer"
  static const struct {
    const char *catalog, *annotation;
    enum dx_reason reason;
    const char *why;
  } cases[] = {
      {"", "/Subtype/Highlight", DX_REASON_NOT_DRAWN,
       "a highlight has no appearance"},
      {"", "/Subtype/FreeText/Contents(x)", DX_REASON_NOT_DRAWN,
       "a text comment has no appearance"},
      {"", "/Subtype/Ink", DX_REASON_NOT_DRAWN, "a drawing has no appearance"},
      {"", "/Subtype/Redact", DX_REASON_NOT_DRAWN,
       "a redaction mark has no appearance"},
      {"", "/Subtype/3D", DX_REASON_NOT_DRAWN,
       "a 3D picture has no appearance"},
      {"", "/Subtype/RichMedia", DX_REASON_NOT_DRAWN,
       "a video has no appearance"},
      {"", "/Subtype/Movie", DX_REASON_NOT_DRAWN, "a video has no appearance"},
      {"", "/Subtype/Highlight/CA 0", DX_REASON_NONE, ""},
      {"", "/Subtype/Text", DX_REASON_NONE, ""},
      {"", "/Subtype/FileAttachment", DX_REASON_NONE, ""},
      {"", "/Subtype/Screen", DX_REASON_NONE, ""},
      {"", "/Subtype/Stamp/AP<</N 99 0 R>>", DX_REASON_DAMAGED,
       "a stamp is missing"},
      {"", "/Subtype/Stamp/AP<</N<</On 99 0 R>>>>/AS/On", DX_REASON_DAMAGED,
       "a stamp is missing"},
      {"", "/Subtype/Widget/FT/Sig/AP<</N 99 0 R>>", DX_REASON_DAMAGED,
       "a signature is missing"},
      {"", "/Subtype/Stamp/AP<</N 4 0 R>>", DX_REASON_DAMAGED,
       "a stamp is missing"}, /* a stream without /BBox */
      /* Nothing of a signature is visible. */
      {"", "/Subtype/Widget/FT/Sig", DX_REASON_NONE, ""},
      {"", "/Subtype/Widget/FT/Sig/AP<<>>", DX_REASON_NONE, ""},
      {"", "/Subtype/Widget/FT/Sig/V<</Type/Sig>>/AP<<>>", DX_REASON_NONE, ""},
      {"", "/Subtype/Widget/FT/Sig/AP<</N<<>>>>", DX_REASON_NONE, ""},
      {"", "/Subtype/Widget/FT/Sig/AP<</N 6 0 R>>", DX_REASON_NONE, ""},
      {"", "/Subtype/Widget/FT/Sig/AP<</N<</On 5 0 R>>>>/AS/Off",
       DX_REASON_NONE, ""},
      {"", "/Subtype/Widget/FT/Sig/Rect[0 0 0 0]/AP<</N 99 0 R>>",
       DX_REASON_NONE, ""},
      {"", "/Subtype/Widget/FT/Sig/Rect[9 9 9 99]/AP<</N 99 0 R>>",
       DX_REASON_NONE, ""},
      {"", "/Subtype/Widget/FT/Sig/AP<</N 4 0 R>>", DX_REASON_DAMAGED,
       "a signature is missing"},
      {"", "/Subtype/Widget/FT/Sig/AP<</N<</On 99 0 R/Off 99 0 R>>>>/AS/On",
       DX_REASON_DAMAGED, "a signature is missing"},
      /* Some viewers draw a check mark. */
      {"", "/Subtype/Widget/FT/Btn/AS/Ja/AP<</N<</Yes 5 0 R>>>>",
       DX_REASON_NOT_DRAWN, "a check mark has no appearance"},
      {"", "/Subtype/Widget/FT/Btn/V/Ja/AS/Ja/AP<</N<</Yes 5 0 R/Off 5 0 R>>>>",
       DX_REASON_NOT_DRAWN, "a check mark has no appearance"},
      {"", "/Subtype/Widget/FT/Btn/V/Yes/AS/Ja/AP<</N<</Yes 5 0 R>>>>",
       DX_REASON_NOT_DRAWN, "a check mark has no appearance"},
      {"", "/Subtype/Widget/FT/Btn/V/Off/AS/Ja/AP<</N<</Yes 5 0 R>>>>",
       DX_REASON_NONE, ""},
      {"", "/Subtype/Widget/FT/Btn/V/Yes/AS/Off/AP<</N<</Yes 5 0 R>>>>",
       DX_REASON_NONE, ""},
      {"", "/Subtype/Widget/FT/Btn/Ff 32768/AS/Ja/AP<</N<</Yes 5 0 R>>>>",
       DX_REASON_NONE, ""},
      {"", "/Subtype/Widget/FT/Btn/Ff 65536/AS/Ja/AP<</N<</Yes 5 0 R>>>>",
       DX_REASON_NONE, ""},
      {"/NeedsRendering true", "/Subtype/Text", DX_REASON_NOT_DRAWN,
       "the form can be shown only by the program it was made with"},
      {"/AcroForm<</XFA[(a)4 0 R]/Fields[]>>", "/Subtype/Text",
       DX_REASON_NOT_DRAWN,
       "the form can be shown only by the program it was made with"},
      {"/AcroForm<</XFA[(a)4 0 R]/Fields[3 0 R]>>", "/Subtype/Text",
       DX_REASON_NONE, ""},
#define FILES(list) "/Names<</EmbeddedFiles<<" list ">>>>"
#define FILE_OF(keys) "<</Type/Filespec/F(x)/EF<</F 4 0 R>>" keys ">>"
#define NAMED(keys) "/Names[(x)" FILE_OF(keys) "]"
#define PAYLOAD "/AFRelationship/EncryptedPayload"
      {"/Collection<</View/D>>" FILES(NAMED("")), "/Subtype/Text",
       DX_REASON_NOT_DRAWN, PORTFOLIO},
      {"/Collection<<>>" FILES(NAMED("")), "/Subtype/Text", DX_REASON_NOT_DRAWN,
       PORTFOLIO},
      {"/Collection<<>>" FILES("/Kids[<<>><<" NAMED("") ">>]"), "/Subtype/Text",
       DX_REASON_NOT_DRAWN, PORTFOLIO},
      {"/Collection<</View/H>>" FILES(NAMED("")), "/Subtype/Text",
       DX_REASON_NONE, ""},
      {"/Collection<</View/D>>", "/Subtype/Text", DX_REASON_NONE, ""},
      {"/Collection<</View/D>>/AF[" FILE_OF("") "]" FILES("/Names[]"),
       "/Subtype/Text", DX_REASON_NONE, ""},
      {FILES(NAMED("/AFRelationship/Source")), "/Subtype/Text", DX_REASON_NONE,
       ""},
      {FILES(NAMED(PAYLOAD)), "/Subtype/Text", DX_REASON_PROTECTED, ""},
      {"/Collection<</View/H>>" FILES(NAMED(PAYLOAD)), "/Subtype/Text",
       DX_REASON_PROTECTED, ""},
      {"/AF[" FILE_OF("/AFRelationship/Data") FILE_OF(PAYLOAD) "]",
       "/Subtype/Text", DX_REASON_PROTECTED, ""},
      {"/AF[" FILE_OF("/AFRelationship/Data") "]", "/Subtype/Text",
       DX_REASON_NONE, ""},
  };
  char annotation[512];
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    (void)snprintf(
        annotation, sizeof(annotation), "<</F 4%s%s>>",
        strstr(cases[i].annotation, "/Rect") != NULL ? "" : "/Rect[9 9 99 99]",
        cases[i].annotation);
    assert_int_equal(
        flatten_document((struct document){
            .catalog = cases[i].catalog,
            .annotations = annotation,
            .objects = "6 0 obj<</Length 0>>stream\nendstream\nendobj\n"}),
        cases[i].reason);
    assert_string_equal(done.why, cases[i].why);
    assert_int_equal(done.page, cases[i].why[0] != '\0');
  }
}

/* tests/hostile/documents.sh has as many as are refused that are printed. */
static void many_annotations_take_linear_time_or_are_refused(void **state)
{
  static const struct {
    int count;
    const char *print;
    enum dx_reason reason;
  } cases[] = {{2000, "/F 4", DX_REASON_NONE},
               {100000, "", DX_REASON_TOO_COMPLEX}};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    int n;

    assert_non_null(out);
    (void)fprintf(out,
                  "%%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
                  "2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
                  "5 0 obj<</BBox[0 0 9 9]/Length 0>>stream\nendstream\n"
                  "endobj\n4 0 obj<<" STAMP "%s" AP ">>endobj\n"
                  "3 0 obj<</Type/Page/Parent 2 0 R"
                  "/MediaBox[0 0 200 200]/Annots[",
                  cases[i].print);
    for (n = 0; n < cases[i].count; n++)
      (void)fprintf(out, "4 0 R ");
    (void)fprintf(out, "]>>endobj\ntrailer<</Root 1 0 R/Size 99>>\n");
    assert_int_equal(fclose(out), 0);
    assert_int_equal(flatten(text, 1, true), cases[i].reason);
    free(text);
  }
}

static int set_up(void **state)
{
  (void)state;
  return temp_dir_make(dir);
}

static int tear_down(void **state)
{
  (void)state;
  return temp_dir_remove(dir);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(only_printable_annotations_are_drawn),
      cmocka_unit_test(state_selects_the_appearance),
      cmocka_unit_test(value_selects_the_state_of_a_button),
      cmocka_unit_test(appearance_is_fitted_into_its_rectangle),
      cmocka_unit_test(content_does_not_change_what_is_added),
      cmocka_unit_test(resources_of_other_pages_do_not_change),
      cmocka_unit_test(appearance_uses_resources_of_its_page),
      cmocka_unit_test(highlight_does_not_cover_text),
      cmocka_unit_test(appearance_keeps_a_group_that_changes_it),
      cmocka_unit_test(links_are_not_sent),
      cmocka_unit_test(layers_have_their_print_state),
      cmocka_unit_test(values_are_drawn_with_the_format_of_their_fields),
      cmocka_unit_test(older_value_is_not_drawn),
      cmocka_unit_test(values_have_the_size_and_color_of_their_fields),
      cmocka_unit_test(values_are_drawn_inside_their_fields),
      cmocka_unit_test(background_of_a_field_is_below_its_value),
      cmocka_unit_test(fonts_are_loaded_only_when_needed),
      cmocka_unit_test(annotation_that_cannot_be_drawn_is_refused),
      cmocka_unit_test(many_annotations_take_linear_time_or_are_refused),
  };

  return cmocka_run_group_tests(tests, set_up, tear_down);
}
