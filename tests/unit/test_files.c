/*
 * test_files.c - daemon/files.c: which changes of docextract.conf and of the
 * files that it names are noticed.
 */
#include "tests/unit/temp_dir.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/files.h"
#include "lib/base/clock.h"

#define LOOK_MS 5000

static char dir[TEMP_DIR_BYTES], conf[96];
static struct dx_config *config;
static struct files files;

static int64_t now_ms = 1000000;

static int64_t fake_ms(void)
{
  return now_ms;
}

static const struct dx_clock fake = {fake_ms, fake_ms};

static void put(const char *name, const char *text)
{
  char path[160];
  FILE *out;

  (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
  out = fopen(path, "we");
  assert_non_null(out);
  assert_true(fputs(text, out) >= 0);
  assert_int_equal(fclose(out), 0);
}

/* A name in the directory. */
static const char *in(const char *name)
{
  static char paths[2][160];
  static int turn;

  turn = !turn;
  (void)snprintf(paths[turn], sizeof(paths[turn]), "%s/%s", dir, name);
  return paths[turn];
}

static int set_up(void **state)
{
  struct dx_config_notes notes = {.takes_mistakes = true};
  struct dx_err err;
  char text[1024];

  (void)state;
  if (temp_dir_make(dir) < 0 || mkdir(in("secrets"), 0700) < 0)
    return -1;
  dx_clock_use(&fake);
  (void)snprintf(conf, sizeof(conf), "%s/docextract.conf", dir);
  (void)snprintf(
      text, sizeof(text),
      "SpoolDir %s\n"
      "<Service a>\nBaseURL https://a.example\nTokenKeyFile %s/secrets/key\n"
      "CAFile %s/ca.pem\nOnResult %s/program --all\n</Service>\n"
      "<Service b>\nBaseURL https://a.example\nToken file\n"
      "TokenFile %s/token\n</Service>\n",
      dir, dir, dir, dir, dir);
  put("docextract.conf", text);
  put("secrets/key", "x");
  put("ca.pem", "x");
  put("program", "x");
  put("token", "x");
  files_begin(&files, conf);
  if (dx_config_load(conf, &config, &notes, &err) != DX_OK)
    fail_msg("%s", err.text);
  dx_config_notes_release(&notes);
  files_follow(&files, config);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  files_release(&files);
  dx_config_free(&config);
  dx_clock_use(NULL);
  return temp_dir_remove(dir);
}

/* What is noticed when it is due: 'c'onfig, 'n'amed, 't'okens. */
static void check_noticed(const char *want)
{
  struct files_changes changes;
  char got[4] = "";
  size_t n = 0;

  now_ms += LOOK_MS;
  assert_true(files_look(&files, config, &changes));
  if (changes.config)
    got[n++] = 'c';
  if (changes.named)
    got[n++] = 'n';
  if (changes.tokens)
    got[n++] = 't';
  assert_string_equal(got, want);
}

static void each_file_is_noticed_once(void **state)
{
  static const struct {
    const char *name, *want;
  } rows[] = {{"docextract.conf", "c"},
              {"secrets/key", "n"},
              {"ca.pem", "n"},
              {"program", "n"},
              {"token", "t"}};
  size_t i;

  (void)state;
  check_noticed("");
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    put(rows[i].name, "changed");
    check_noticed(rows[i].want);
    check_noticed("");
  }
}

static void every_kind_of_change_is_noticed(void **state)
{
  (void)state;
  assert_int_equal(chmod(in("secrets/key"), 0604), 0);
  check_noticed("n");
  assert_int_equal(unlink(in("secrets/key")), 0);
  check_noticed("n");
  put("other", "x");
  assert_int_equal(symlink(in("other"), in("secrets/key")), 0);
  check_noticed("n");
  put("other", "behind the link");
  check_noticed("n");
  put("third", "behind the link");
  assert_int_equal(rename(in("third"), in("other")), 0);
  check_noticed("n");
  assert_int_equal(rename(in("secrets"), in("away")), 0);
  check_noticed("n");
  assert_int_equal(rename(in("away"), in("secrets")), 0);
  check_noticed("n");
  check_noticed("");
}

static void files_are_looked_at_every_5_seconds(void **state)
{
  struct files_changes changes;

  (void)state;
  put("ca.pem", "changed");
  now_ms += LOOK_MS - 1;
  assert_false(files_look(&files, config, &changes));
  now_ms++;
  assert_true(files_look(&files, config, &changes));
  assert_true(changes.named);
}

static void without_a_configuration_only_its_file_is_noticed(void **state)
{
  struct files_changes changes;

  (void)state;
  put("docextract.conf", "changed");
  put("ca.pem", "changed");
  now_ms += LOOK_MS;
  assert_true(files_look(&files, NULL, &changes));
  assert_true(changes.config);
  assert_false(changes.named);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(each_file_is_noticed_once),
      TEST(every_kind_of_change_is_noticed),
      TEST(files_are_looked_at_every_5_seconds),
      TEST(without_a_configuration_only_its_file_is_noticed),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
