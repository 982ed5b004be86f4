/*
 * test_windows1252.c - texts in Windows-1252 are plausible, and the same bytes
 * in another encoding are not.
 */
#include "filter/windows1252.h"

#include <iconv.h>
#include <stdint.h>
#include <string.h>

#include "tests/unit/unit.h"

/* The bytes, and those where the doubt begins; NULL: there is none. */
static const struct {
  const char *bytes, *doubt;
} rows[] = {
    /* words, quotes, and symbols of people who write Windows-1252 */
    {"", NULL},
    {"plain ASCII, 5.40 10^3/uL\r\n", NULL},
    {"M\xFCller, Jos\xE9; 5 \xB5g/dl; 37,5 \xB0"
     "C; \xB1 0,2; 3 m\xB2; n\xB0 7",
     NULL},
    {"\x84Wort\x93, \x82so\x91, \xABmot\xBB, \xBBName\xABs, \x93quote\x94, "
     "l\x92"
     "eau, rock\x91n\x92roll",
     NULL},
    {"d\x92"
     "apr\xE8s\x97puis\x85 90\x96"
     "95 %, col\xB7lecci\xF3, 1\xAA dosis, 2\xBA",
     NULL},
    {"\x8Ctz, \x9Cuvre, \x8Akoda, \x9Ekola, \xC5se, \xC6sop, \xD8re", NULL},
    {"100 \x80, \xA3 5, \xA5 9, \xA9 2024, \xBD l, \xBFqu\xE9? \xA1no!", NULL},
    {"\xC4\xC4\xC4\xC4\xC4\xC4 \x97\x97\x97\x97\x97 \xA0\xA0\xAB\xAB \xBB",
     NULL},
    {"\xE9\xE8\xEA a", NULL},
    {"soft\xADhyphen, no\xA0"
     "break, o\xB4Neill, \x86 1970",
     NULL},
    /* bytes without a character */
    {"M\x81ller", "\x81"},
    {"\x8Do", "\x8D"},
    {"\x8Fo", "\x8F"},
    {"\x90tat", "\x90"},
    {"a \x9D b", "\x9D"},
    /* symbols between letters */
    {"Jos\x82s", "\x82"},
    {"G\x94ran", "\x94"},
    {"Pe\xA4"
     "a",
     "\xA4"},
    {"a\xF7"
     "b",
     "\xF7"},
    {"Na\xD7"
     "re",
     "\xD7"},
    {"5 \xD7 3 \xF7 2", NULL},
    {"a\xD7 b", NULL},
    {"Concei\x87\x84o", "\x87"}, /* also two of them */
    {"A\x87\xA3"
     "car",
     "\x87"},
    {"(a \x87\xA3 b)", NULL},
    {"n\xF8 5", "\xF8"}, /* the sign of degrees */
    {"N\xF8: 5", "\xF8"},
    {"en\xF8 5", NULL},
    {"N\xF8rgaard", NULL},
    {"Temp. (\xF8"
     "C)",
     "\xF8"},
    {"n\xA1 5", "\xA1"},
    {"no \xA1"
     "no!",
     NULL},
    {"37,5 \xB3"
     "C",
     "\xB3"},
    {"m\xB3 C", NULL},
    {"5,4 \xF3mol/l, 5 /\xF3l", "\xF3"},
    {"CREA \xF3mol/l 80", "\xF3"},
    {"4 \xF3 5, 4 \xF3 mol, ag \xF3l", NULL},
    {"5,4 \xFE 0,2", "\xFE"},
    {"\xFE"
     "etta",
     NULL},
    {"37,5 \x9C"
     "C",
     "\x9C"},
    {"2\x8Ame", "\x8A"},
    {"c\x9Cur, 2 \x9Cufs", NULL},
    {"voc\x88", "\x88"},
    {"Nicol\x98", "\x98"},
    {"\x98 5", NULL},
    {"37,5 \xC2\n", "\xC2"}, /* UTF-8, of which a byte is lost */
    {"WBC \xC2 0,2", "\xC2"},
    {"\xC2ngela, JO\xC3O, \xC0 jeun, \xC1 \xC2 \xC3", NULL},
    /* a capital letter behind a small one */
    {"Jos\xC5", "\xC5"},
    {"Mu\xD1OZ", "\xD1"},
    {"L'\xC9"
     "cole, JOS\xC9",
     NULL},
    {"Mu\xC4"
     "oz",
     "\xC4"},
    {"BJ\xD8RN", NULL},
    {"Mc\xC9"
     "amon",
     "\xC9"},
    /* letters alone */
    {"5 \x9C", "\x9C"},
    {"Si\x9C", NULL},
    {"Zo\x89", "\x89"},
    {"5 \x89", NULL},
    {"\x8E 12", "\x8E"},
    {"a \x9Ez", NULL},
    /* quotes and symbols at one end of a word only */
    {"Caf\x82 ", "\x82"},
    {"Stra\x84\n", "\x84"},
    {"\x84Stra", NULL},
    {"\x87"
     "a va",
     "\x87"},
    {"5 \x87", NULL},
    {"\x99"
     "sterreich",
     "\x99"},
    {"Name\x99 5", NULL},
    {"\x83t\x82", "\x83"},
    {"5 \x83 7", NULL},
    {"pu\x95 ", "\x95"},
    {"\x95 item\n\x95item", NULL},
    {"creaci\xA2", "\xA2"},
    {"5\xA2", NULL},
    {"37 \xA2J", "\xA2"},
    /* boxes */
    {"\xDA\xC4\xC4\xBF", "\xBF"},
    {"\xC9\xCD\xCD\xCD\xBB", "\xCD\xBB"},
    {"\xE9\xE8\xEA\xE0", "\xE0"},
    {"\xABS\xE9\xBB\xA0\xC9t\xE9", NULL},
    /* symbols of DOS */
    {"5 \xE6g", "\xE6"},
    {"10^3/\xE6l", "\xE6"},
    {"(\xE6mol/l)", "\xE6"},
    {"5\xE6U/ml", "\xE6"},
    {"\xE6ldre p\xE6n \xE6gte", NULL},
    {"37,5\xF8"
     "C",
     "\xF8"},
    {"37,5 \xF8"
     "C\n",
     "\xF8"},
    {"99 \xF8"
     "F.",
     "\xF8"},
    {"5 \xF8"
     "Calling, K\xF8"
     "C",
     NULL},
    {"\xF1"
     "0,2",
     "\xF1"},
    {"5\xF1"
     "2",
     "\xF1"},
    {"< \xF3"
     "5",
     "\xF3"},
    {"\xF2"
     "7",
     "\xF2"},
    {"ni\xF1o 5 \xF3 6, n\xF1"
     "1",
     NULL},
    {"3 m\xFD", "\xFD"},
    {"4 mm\xFC ", "\xFC"},
    {"25 kg/m\xFD\n", "\xFD"},
    {"10\xFD/l", "\xFD"},
    {"m\xFCxe, Sam\xFC, m\xFDri", NULL},
    /* What todocextract(7) says of Welsh and Esperanto: "tŷ, cŵn, dŵr", "Ĝis,
     * ĉe antaŭ ŝi, Ĵaŭdo", and "eĥo, aĵo". */
    {"t\xFE, c\xF0n, d\xF0r", NULL},
    {"\xD8is, \xE6"
     "e anta\xFD \xFEi, \xAC"
     "a\xFD"
     "do",
     NULL},
    {"e\xB6o", "\xB6"},
    {"a\xBCo", "\xBC"},
    {"axis 45\xF8 left", "\xF8"},
    {"45\xF8, 5 \xF8, \xF8, 3\xF8re", "\xF8, 5"},
    {"5.40 \xF1 0.2", "\xF1"},
    {"WBC (\xF1"
     "0.2)",
     "\xF1"},
    {"\xF1 es una letra; (\xF1)", NULL},
    {"LDL \xF2 3.0", "\xF2"},
    {"2 semanas \xF3 3 meses; per\xF2 3", NULL},
    {"3\xAB tablets", "\xAB"},
    {"1\xAC tablets", "\xAC"},
    {"\xBBGrad 3\xAB, \xBB"
     "5\xAB; \xAB"
     "3 \xAB"
     "5",
     NULL},
    {"3\xAB \xBB"
     "a\xAB",
     "\xAB"},
    {"\xBBTwo lines of\nwords\xAB, grade 3\xAB", NULL},
    {"take \xAB tablet", "\xAB"},
    {"\xAB take\ntablet \xBB", NULL},
    {"on Sunday \xAC tablet", "\xAC"},
    {"Allergi: m\xE6lk, \xE6g", NULL},
    {"Fe 5 \xE6g, 5\xE6g/l", "\xE6"},
    {"Fe \xE6g/l", "\xE6"},
    {"CRP \xF3 5 mg/l", "\xF3"},
    {"4 d\xED"
     "as\n\xF3 5",
     "\xF3"},
    {"Dosis 1\xF3 Stk.", "\xF3"},
    {"in \xF3g/dl", "\xF3"},
    {"Se\xE1n \xD3g, \xF3g", NULL},
    {"x10\xFB\xFD/l", "\xFB"},
    {"s\xFBr, 5 \xFBr", NULL},
    {"\xB3WBC\xB3"
     "5.40\xB3\r\n",
     "\xB3WBC"},
    {"a\n\xBATemp\xBA"
     "37.5\xBA  ",
     "\xBA"},
    {"PLT 138 10\xB3\n\xB3 see below\n1\xBA\n2\xBA\n\xBA", NULL},
    /* HP Roman-8 */
    {"M\xCFller", "\xCF"},
    {"J\xCEnis", "\xCE"},
    {"NO\xCBL, P\xC8RE, \xC8lia", NULL},
    /* the Macintosh */
    {"Jos\x8E", "\x8E"},
    {"M\x9Fller", "\x9F"},
    {"\x9F"
     "bersicht",
     "\x9F"},
    {"L\x92HA\x9F-LES-ROSES", NULL},
    {"H\x8Akkinen", "\x8A"},
    {"Gr\x9A\xA7", "\xA7"},
    {"siehe \xA7 5, \xA7"
     "7, \xA7\xA7 8, A\xA7",
     NULL},
    {"37.5\xA1"
     "C",
     "\xA1"},
    {"37.5 \xA1"
     "C ",
     "\xA1"},
    {"\xA1"
     "Feliz! \xA1"
     "C\xF3mo! 5 \xA1no",
     NULL},
    {"Temp. (\xA1"
     "C)",
     "\xA1"},
    {"4.0 \xD0 10.0", "\xD0"},
    {"LDL \xB3 3.0", "\xB3"},
    {"eGFR (\xB2"
     "60)",
     "\xB2"},
    {"3 m\xB2 5; 10\xB3/l; see \xB2 below", NULL},
    {"4.0\xD0"
     "10.0",
     "\xD0"},
    {"\xD0"
     "i\xF0rik 5\xD0",
     NULL},
    /* UTF-8 of which a part is damaged */
    {"LDL \xE2\x89\xA4 3.0, M\xFCller", "\xE2"},
    {"\xAB voil\xE2\xA0\xBB, p\xE2\xE9", NULL},
    {"37,5 \xC2\xB0"
     "C \xC3",
     "\xC2"},
    {"Jos\xC3\xA9 \xFF", "\xC3"},
    {"5 \xC3\xA4", "\xC3"},
    {"\xC3\x9F \xC3\x81", "\x81"},
    {"CAF\xC9\x94, NOSTR\xC3\xA0, CAF\xC9\xBB, \xC3\xAE, \xC2\xA9", NULL},
    /* ESC [ with 8 bits */
    {"WBC \x9B"
     "4m5.40",
     "\x9B"},
    {"H\x9B"
     "0m",
     "\x9B"},
    /* symbols in two bytes: ≤, ×, °, µ, é */
    {"LDL \xA1\xDC 3.0", "\xA1"},
    {"PLT 250 \xA1\xBF"
     "10^9/L",
     "\xA1"},
    {"Temp (\xA1\xC6"
     "C)",
     "\xA1"},
    {"\xA6\xCCmol/L", "\xA6"},
    {"CREA \xA5\xECg/dL", "\xA5"},
    {"CREA \xA3gg/dL", "\xA3"},
    {"Jos\xA8\xA6", "\xA8"},
    {"\xA1\xC1nimo! \xA1\xBFQu\xE9? \xA9\xC9"
     "dition, \xA7\xA7 5, \xAB\xA3\xBB, \xA3gold, \xA3 gl",
     NULL},
    /* words of other scripts: Hebrew, Cyrillic */
    {"Name: \xEC\xE5\xE9 \xEB\xE4\xEF\n", "\n"},
    {"\xD4\xC8\xCE: \xD6\xEE\xE9\r", "\r"},
    {"\xE4\xF6\xFC \xC4\xD6\xDC \xDF, \xE9\xE8\xEA a\xE9\xE8\xEA", NULL},
    /* Irish */
    {"na h\xD3ige, \xC1th, i n\xC9irinn", NULL},
    {"bh\xC9", "\xC9"},
    {"\x8B"
     "Wort\x9B, \x9BWort\x8B, 5\x9B, \x9B 5",
     NULL},
};

static void doubt_is_where_no_one_writes_it(void **state)
{
  size_t i, at, len, expected;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    len = strlen(rows[i].bytes);
    at = windows1252_doubt((const unsigned char *)rows[i].bytes, len);
    expected =
        rows[i].doubt != NULL
            ? (size_t)(strstr(rows[i].bytes, rows[i].doubt) - rows[i].bytes)
            : len;
    if (at != expected)
      fail_msg("row %zu, '%s': %zu instead of %zu", i, rows[i].bytes, at,
               expected);
  }
}

/* Small charts, as a laboratory prints them, in the encodings of old programs.
 */
#define VALUES "WBC 5,40 10^3/µL\nTemp 37,5 °C ±0,2\nBSA 1,8 m²\n"
#define VALUES_OF_MACINTOSH "Temp 37,5 °C\n"
static const struct {
  const char *encoding, *text;
} charts[] = {
    {"CP437", "Patient: Müller, José\n" VALUES},
    {"CP437", "Paciente: Peña, José\nPresión 120\n"},
    {"CP850", "Patient: Müller, José\n" VALUES},
    {"CP850", "Patient : Lefèvre, Hélène\nGlycémie à jeun 5,1\n" VALUES},
    {"CP850", "Potilas: Mäkelä, Väinö\nPituus 180\n" VALUES},
    {"CP850", "┌────────┐\n│ WBC    │\n└────────┘\n"},
    {"CP852", "Pacjent: Żółć, Łukasz\nCiśnienie 120\n"},
    {"CP866", "Пациент: Иванов, Иван\nГемоглобин 135 г/л\n"},
    {"WINDOWS-1251", "Пациент: Иванов, Иван\nГемоглобин 135 г/л\n"},
    {"KOI8-R", "Пациент: Иванов, Иван\nГемоглобин 135 г/л\n"},
    {"CP1253", "Ασθενής: Παπαδόπουλος\nΑιμοσφαιρίνη 13,5\n"},
    {"MACINTOSH", "Patient: Müller\nWBC 5.40\n"},
    {"MACINTOSH", "Paciente: José\n" VALUES_OF_MACINTOSH},
    {"MACINTOSH", "LDL ≥ 3.0\n"},
    {"CP932", "患者: 山田 太郎\n白血球 5.40\nﾍﾓｸﾞﾛﾋﾞﾝ 13.2\n"},
    {"EUC-JP", "患者: 山田 太郎\n白血球 5.40\n"},
    {"GB18030", "患者：王小明\n白细胞 5.40\n"},
    {"GB18030", "CREA 80 μmol/L\n"},
    {"BIG5", "病人：王小明\n白血球 5.40\n"},
    {"BIG5", "LDL ≧ 3.0\n"},
    {"UHC", "환자: 김철수\n백혈구 5.40\n"},
    {"UHC", "Lactate ≤ 2.0\n"},
};

static void encode(const char *encoding, const char *text, char *bytes,
                   size_t room, size_t *ret_len)
{
  char *from = (char *)(uintptr_t)text, *to = bytes;
  size_t left = strlen(text), size = room;
  iconv_t cd = iconv_open(encoding, "UTF-8");

  assert_true(cd != (iconv_t)(intptr_t)-1);
  if (iconv(cd, &from, &left, &to, &room) != 0)
    fail_msg("%s: '%s'", encoding, text);
  (void)iconv_close(cd);
  *ret_len = size - room;
}

static void chart_in_another_encoding_is_doubtful(void **state)
{
  char bytes[500];
  size_t i, len;

  (void)state;
  for (i = 0; i < sizeof(charts) / sizeof(charts[0]); i++) {
    encode(charts[i].encoding, charts[i].text, bytes, sizeof(bytes), &len);
    if (windows1252_doubt((const unsigned char *)bytes, len) == len)
      fail_msg("%s: '%s'", charts[i].encoding, charts[i].text);
  }
}

static void chart_in_windows1252_is_plausible(void **state)
{
  static const char *const texts[] = {
      "Patientin: Müller-Lüdenscheidt, Änne\nGröße 1,70 m; Gewicht 63 kg\n",
      "Patient : Lefèvre, Hélène\nGlycémie à jeun : 5,1 mmol/l (œdème)\n",
      "Paciente: Peña, Ángel\n¿Alergias? Ninguna. 1.ª dosis, n.º 7\n",
      "Paziente: Niccolò D’Andrea\nEtà: 45; l’età è più alta\n",
      "Paciente: João Gonçalves\nPressão arterial: 12×8; coração são\n",
      "Patiënt: Zoë\nGeïrriteerd; één dosis\n",
      "Patient: Åsa Öberg\nBlodtryck 120/80; två gånger\n",
      "Patient: Bjørn Sørensen\nHæmoglobin, ældre, på række\n",
      "Potilas: Väinö Mäkelä\nHengitysääni\n",
      "Sjúklingur: Þórður Æsir\nblóðrauði, ný þörf\n",
      "Pacient: Núria Col·lell\nHemoglobina; així\n",
      "“The patient’s” café — naïve… 20–30 %\n",
  };
  char bytes[500];
  size_t i, len;

  (void)state;
  for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    encode("CP1252", texts[i], bytes, sizeof(bytes), &len);
    if (windows1252_doubt((const unsigned char *)bytes, len) != len)
      fail_msg("'%s'", texts[i]);
    encode("CP1252", VALUES, bytes, sizeof(bytes), &len);
    assert_int_equal(windows1252_doubt((const unsigned char *)bytes, len), len);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(doubt_is_where_no_one_writes_it),
      cmocka_unit_test(chart_in_another_encoding_is_doubtful),
      cmocka_unit_test(chart_in_windows1252_is_plausible),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
