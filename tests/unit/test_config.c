/*
 * test_config.c - lib/config/config.h: valid configurations, and the errors
 * reported for invalid ones.
 */
#include "tests/unit/temp_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/user.h"
#include "lib/config/config.h"

#define OPEN "<Service default>\n"
#define URL "BaseURL https://host.example\n"
#define KEY "TokenKeyFile /nowhere/key\n"
#define CLOSE "</Service>\n"
#define GOOD OPEN URL KEY CLOSE
#define X64 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

static char dir[64];
static char path[96];
static char key_path[96];

static int make_dir(void **state)
{
  (void)state;
  if (temp_dir_make(dir) < 0)
    return -1;
  (void)snprintf(path, sizeof(path), "%s/docextract.conf", dir);
  (void)snprintf(key_path, sizeof(key_path), "%s/key", dir);
  return 0;
}

static int remove_dir(void **state)
{
  (void)state;
  (void)unlink(path);
  (void)unlink(key_path);
  return rmdir(dir);
}

static void write_file(const char *name, const char *text, size_t len,
                       mode_t mode)
{
  int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, len), (ssize_t)len);
  assert_int_equal(fchmod(fd, mode), 0);
  (void)close(fd);
}

static enum dx_code load(const char *text, struct dx_config **ret_config,
                         struct dx_err *err)
{
  write_file(path, text, strlen(text), 0640);
  return dx_config_load(path, ret_config, NULL, err);
}

static struct dx_config *loaded(const char *text)
{
  struct dx_config *config = NULL;
  struct dx_err err = {0};

  if (load(text, &config, &err) != DX_OK)
    fail_msg("%s", err.text);
  return config;
}

/* Refused with "PATH:LINE: ...fragment..."; line 0: "PATH: ...". */
static void check_refused(const char *text, int line, const char *fragment)
{
  struct dx_config *config = NULL;
  struct dx_err err = {0};
  char begin[160];

  if (line > 0)
    (void)snprintf(begin, sizeof(begin), "%s:%d: ", path, line);
  else
    (void)snprintf(begin, sizeof(begin), "%s: ", path);
  if (load(text, &config, &err) != DX_E_CONFIG)
    fail_msg("accepted: %.300s", text);
  assert_null(config);
  assert_int_equal(err.code, DX_E_CONFIG);
  if (strncmp(err.text, begin, strlen(begin)) != 0 ||
      strstr(err.text, fragment) == NULL)
    fail_msg("'%s' instead of '%s...%s'", err.text, begin, fragment);
  assert_true(err.text[strlen(err.text) - 1] != '.');
}

static const struct {
  const char *text;
  int line;
  const char *fragment;
} wrong[] = {
    /* sections */
    {"", 0, "no service; add a section <Service default>"},
    {"# nothing\n\n", 0, "no service"},
    {"KeepJobs 7d\n", 0, "no service"},
    {"<Service>\n" URL KEY CLOSE, 1, "a section begins with <Service NAME>"},
    {"<Service default\n" URL KEY CLOSE, 1,
     "a section begins with <Service NAME>"},
    {"<Service >\n" URL KEY CLOSE, 1, "<Service NAME>"},
    {"<Service a b>\n" URL KEY CLOSE, 1, "letters, digits, '-', '_', and '.'"},
    {"<Service a/b>\n" URL KEY CLOSE, 1, "letters, digits"},
    {"<Service \xC3\xA4>\n" URL KEY CLOSE, 1, "letters, digits"},
    {"<Service " X64 "y>\n" URL KEY CLOSE, 1, "at most 64"},
    {"<Printer lp>\n" CLOSE, 1, "unknown section; use <Service NAME>"},
    {"\n\n</Service>\n", 3, "</Service> without <Service NAME>"},
    {OPEN URL KEY CLOSE CLOSE, 5, "</Service> without"},
    {OPEN URL "<Service b>\n" URL KEY CLOSE, 3,
     "close the one from line 1 with </Service>"},
    {OPEN URL KEY, 3, "<Service default> of line 1 is not closed"},
    {OPEN URL KEY "\n# end\n", 5, "is not closed; add </Service>"},
    {GOOD GOOD, 5, "<Service default> appears twice"},
    /* directives and their places */
    {"Spooldirr /x\n" GOOD, 1,
     "unknown directive 'Spooldirr'; did you mean 'SpoolDir'?"},
    {OPEN URL "Aprate 5\n", 3,
     "unknown directive 'Aprate'; did you mean 'APIRate'?"},
    {OPEN URL "Password 5\n", 3, "unknown directive; possible here: "},
    {X64 X64 " 1\n" GOOD, 1, "unknown directive; possible here: Spool"},
    {URL, 1, "BaseURL belongs in a <Service NAME> section"},
    {GOOD "APIRate 5\n", 5, "APIRate belongs in a <Service"},
    {OPEN URL KEY "SpoolDir /x\n" CLOSE, 4,
     "SpoolDir belongs outside of <Service>"},
    {OPEN "KeepJobs 7d\n", 2, "KeepJobs belongs outside"},
    {OPEN "BaseURL\n", 2, "BaseURL needs a value"},
    {OPEN "BaseURL    # https://x\n", 2, "BaseURL needs a value"},
    {OPEN URL URL, 3, "BaseURL appears twice"},
    {"SpoolDir /a\nspooldir /b\n" GOOD, 2, "SpoolDir appears twice"},
    /* values */
    {"SpoolDir spool\n" GOOD, 1, "'spool' must be an absolute path"},
    {"\nSpoolDir /dev/shm\n" GOOD, 2,
     "SpoolDir '/dev/shm' is on a file system in memory"},
    {"ResultsDir ~/x\n" GOOD, 1,
     "must be an absolute path, beginning with '/'"},
    {OPEN URL KEY "ResultsDir x\n", 4, "must be an absolute path"},
    {OPEN "TokenKeyFile key\n", 2,
     "TokenKeyFile must be the absolute path of a file"},
    {OPEN "TokenFile ./t\n", 2,
     "TokenFile must be the absolute path of a file"},
    {OPEN "CAFile System\n", 2, "CAFile 'System' must be an absolute path"},
    {OPEN "StorageCAFile ca.pem\n", 2,
     "StorageCAFile 'ca.pem' must be an absolute path"},
    {OPEN "ProxyPasswordFile ann:secret\n", 2,
     "ProxyPasswordFile must be the absolute path of a file; the secret "
     "itself does not belong here"},
    {OPEN URL KEY "ProxyPasswordFile /nowhere/p\n" CLOSE, 5,
     "<Service default> needs Proxy, for its ProxyPasswordFile"},
    {OPEN "CAFile ca.pem\n", 2, "CAFile 'ca.pem' must be an absolute path"},
    {OPEN "SeparatorPage p.pdf\n", 2, "must be an absolute path"},
    {OPEN "TokenCommand mint -a\n", 2, "absolute path of a program"},
    {OPEN "BaseURL host.example\n", 2, "must look like https://host"},
    {OPEN "BaseURL https://\n", 2, "must look like https://host"},
    {OPEN "BaseURL ftp://host\n", 2, "must look like https://host"},
    {OPEN "BaseURL https://u:p@host\n", 2, "without user"},
    {OPEN "BaseURL https://u@host\n", 2, "without user"},
    {OPEN "BaseURL https://host/?x=1\n", 2, "without user name, '?'"},
    {OPEN "BaseURL https://host/\\#x\n", 2, "'#'"},
    {OPEN "BaseURL https://host /x\n", 2, "or blanks"},
    {OPEN "BaseURL https://host/a\tb\n", 2, "or blanks"},
    {OPEN "BaseURL https://host:0\n", 2, "must look like"},
    {OPEN "BaseURL https://host:65536\n", 2, "must look like"},
    {OPEN "BaseURL https://host:x\n", 2, "must look like"},
    {OPEN "BaseURL https://host:1x\n", 2, "must look like"},
    {OPEN "BaseURL https://host/%2\n", 2, "must look like"},
    {OPEN "BaseURL https://host/\xC3\xA4\n", 2, "must look like"},
    {OPEN "BaseURL https://[::1\n", 2, "must look like"},
    {OPEN "BaseURL https://[::1].example\n", 2, "must look like"},
    {OPEN "BaseURL https://[localhost]\n", 2, "must look like"},
    {OPEN "BaseURL HTTPS://host\n", 2, "must look like"},
    {OPEN "BaseURL http://localhost%00.example\n", 2, "must look like"},
    {OPEN "BaseURL https://ho%0ast\n", 2, "must look like"},
    {OPEN "BaseURL http://host.example\n", 2, "must begin with https://"},
    {OPEN "BaseURL http://128.0.0.1\n", 2, "127.0.0.1, localhost"},
    {OPEN "BaseURL http://127.0.0.1.example\n", 2, "must begin with https://"},
    {OPEN "BaseURL http://localhost.example\n", 2, "must begin with https://"},
    {OPEN "Proxy host:3128\n", 2, "Proxy must look like http://host:port"},
    {OPEN "Proxy http://ho%73t:3128\n", 2, "Proxy must look like"},
    {OPEN "Proxy http://u:p@host:3128\n", 2, "belong in a ProxyPasswordFile"},
    {OPEN "StorageHost https://s.example\n", 2, "StorageHost is the name of"},
    {OPEN "StorageHost s.example:443\n", 2, "without https://, port, or path"},
    {OPEN "StorageHost s.example/b\n", 2, "such as storage.example.com"},
    {OPEN "StorageHost *.s.example\n", 2, "StorageHost is the name of"},
    {OPEN "StorageHost s.example t.example\n", 2, "StorageHost is the name"},
    {OPEN "StorageHost [::1]:443\n", 2, "StorageHost is the name of"},
    {OPEN "-----BEGIN PRIVATE KEY-----\n", 2, "put them into separate files"},
    {OPEN "StorageHost []\n", 2, "StorageHost is the name of"},
    {OPEN "StorageHost [\n", 2, "StorageHost is the name of"},
    {OPEN "StorageHost a\nStorageHost A\n", 3, "'a' appears twice"},
    {OPEN "Token jwt\n", 2, "Token is one of: key file command"},
    {OPEN "Token jwt\n", 2, "; the token itself does not belong here"},
    {OPEN "TokenAlgorithm none\n", 2,
     "possible values: HS256 HS384 HS512 RS256"},
    {OPEN "TokenAlgorithm HS25\n", 2, "unknown TokenAlgorithm 'HS25'"},
    {OPEN "Completion done\n", 2, "possible values: auto extracted accepted"},
    {OPEN "OnDocumentError stop\n", 2, "possible values: hold cancel"},
    {OPEN "TokenClaim iss\n", 2, "TokenClaim NAME VALUE"},
    {OPEN "TokenClaim exp 1\n", 2, "'exp' is set by docextract"},
    {OPEN "TokenClaim iat 1\n", 2, "'iat' is set by docextract"},
    {OPEN "TokenClaim jti 1\n", 2, "'jti' is set by docextract"},
    {OPEN "TokenClaim nbf 1\n", 2, "'nbf' is set by docextract"},
    {OPEN "TokenClaim a 1\nTokenClaim a 2\n", 3, "'a' appears twice"},
    {OPEN "APIRate fast\n", 2, "is not a number; write one such as 8"},
    {OPEN "APIRate 0x5\n", 2, "is not a number"},
    {OPEN "APIRate 5/s\n", 2, "is not a number"},
    {OPEN "APIRate -1\n", 2, "is not a number"},
    {OPEN "APIRate .\n", 2, "is not a number"},
    {OPEN "APIRate 0\n", 2, "must be between 0.1 and 9"},
    {OPEN "APIRate 9.01\n", 2, "must be between 0.1 and 9"},
    {"KeepJobs 7\n" GOOD, 1, "is not a duration; write one such as 7d"},
    {"KeepJobs 7w\n" GOOD, 1, "'7w' is not a duration"},
    {"KeepJobs -7d\n" GOOD, 1, "is not a duration"},
    {"KeepJobs 7dd\n" GOOD, 1, "is not a duration"},
    {"KeepJobs 99999999999999999999d\n" GOOD, 1, "is not a duration"},
    {"KeepJobs 59m\n" GOOD, 1, "must be between 1h and 365d"},
    {"KeepJobs 366d\n" GOOD, 1, "must be between 1h and 365d"},
    {OPEN "TokenLifetime 59s\n", 2, "must be between 1m and 1h"},
    {OPEN "ProcessingLimit 8d\n", 2, "must be between 1m and 7d"},
    {OPEN "MaxDocumentSize 5\n", 2, "is not a size; write one such as 1G"},
    {OPEN "MaxDocumentSize 5T\n", 2, "'5T' is not a size"},
    {OPEN "MaxDocumentSize 5MB\n", 2, "such as 1G"},
    {OPEN "MaxDocumentSize -5M\n", 2, "is not a size"},
    {OPEN "MaxDocumentSize 99999999999999999999G\n", 2, "is not a size"},
    {OPEN "MaxDocumentSize 1023K\n", 2, "must be between 1M and 100G"},
    {OPEN "MaxDocumentSize 101G\n", 2, "must be between 1M and 100G"},
    {OPEN "MaxResultSize 1023K\n", 2, "must be between 1M and 1G"},
    {OPEN "MaxResultSize 2G\n", 2, "must be between 1M and 1G"},
    {OPEN "MaxDocumentsPerJob 0\n", 2, "must be between 1 and 1000"},
    {OPEN "MaxDocumentsPerJob 1001\n", 2, "must be between 1 and 1000"},
    {OPEN "MaxDocumentsPerJob 2.5\n", 2, "is not a count"},
    {OPEN "MaxDocumentsPerJob many\n", 2, "write one such as 1000"},
    {OPEN "FilterTimeLimit 0s\n", 2, "must be between 1s and 1d"},
    {OPEN "FileNames number\n", 2, "possible values: title neutral"},
    {"FileNames title\n" GOOD, 1, "belongs in a <Service"},
    /* what a section needs */
    {OPEN KEY CLOSE, 3, "<Service default> needs BaseURL"},
    {OPEN URL CLOSE, 3, "<Service default> needs TokenKeyFile"},
    {OPEN URL KEY "Token file\n" CLOSE, 5, "needs TokenFile"},
    {OPEN URL KEY "Token command\n\n" CLOSE, 6, "needs TokenCommand"},
    {OPEN URL "TokenFile /nowhere/t\n" CLOSE, 4, "needs the line 'Token file'"},
    {OPEN URL "TokenCommand /nowhere/t\n" CLOSE, 4,
     "needs the line 'Token command'"},
    /* syntax of other formats */
    {"KeepJobs = 7d\n" GOOD, 1, "write 'KeepJobs VALUE', without '='"},
    {"KeepJobs=7d\n" GOOD, 1, "'KeepJobs VALUE', with a blank instead of '='"},
    {"keepjobs: 7d\n" GOOD, 1, "'KeepJobs VALUE', with a blank instead of ':'"},
    {"KeepJobs \"7d\"\n" GOOD, 1, "KeepJobs takes its value without quotes"},
    {OPEN "BaseURL 'https://h'\n", 2, "BaseURL takes its value without quotes"},
    {OPEN "TokenClaim iss \"a b\"\n", 2, "TokenClaim takes its value without"},
    {"<Service \"a\">\n" URL KEY CLOSE, 1, "letters, digits"},
    {"Service a\n" URL KEY CLOSE, 1, "a section begins with <Service NAME>"},
    {"[Service]\n" URL KEY, 1, "possible here: SpoolDir, ResultsDir"},
    {"{\n", 1, "possible here: SpoolDir, ResultsDir, KeepJobs, StatusSocket"},
    {"Language italian\n" GOOD, 1,
     "unknown Language 'italian'; possible values: auto en de es fr ja"},
    {OPEN "Language de\n", 2, "Language"},
    {"StatusSocket status\n" GOOD, 1, "'status' must be an absolute path"},
    {"StatusSocket /" X64 X64 "\n" GOOD, 1, "at most 107 characters long"},
    {"<Service a> " URL KEY CLOSE, 1, "a section begins with <Service NAME>"},
    {OPEN URL KEY "</Services>\n", 4, "and </Service> at its end"},
    {OPEN "<Limit>\nx\n</Limit>\n" URL KEY CLOSE, 2, "use <Service NAME>"},
    {"Include /etc/x.conf\n" GOOD, 1, "unknown directive; possible here"},
    {"<Include /etc/x.conf>\n" GOOD, 1, "unknown section; use <Serv"},
    {OPEN "Timeout 5s\n", 2, "possible here: ResultsDir, BaseURL, Token"},
    {OPEN "TokenKeyID2 5\n", 2,
     "unknown directive 'TokenKeyID2'; did you mean 'TokenKeyID'?"},
    /* written by editors or on other systems */
    {GOOD "\xEF\xBB\xBF", 5, "byte order mark; remove it"},
    {"\xFF\xFE<", 1, "this is not UTF-8; save the file as UTF-8"},
    {OPEN "TokenKeyID \xE4\n", 2, "this is not UTF-8; save the file"},
    {OPEN "TokenClaim iss caf\xE9\n", 2, "this is not UTF-8"},
    {"SpoolDir /a\x1b[31m\n" GOOD, 1, "there is a control character"},
    {"\x1b[31mSpoolDir /a\n" GOOD, 1, "there is a control character"},
    {OPEN "TokenKeyID a\xE2\x80\x8B\n", 2, "there is a control character"},
    {"# caf\xE9\nSpoolDir x\n" GOOD, 2, "'x' must be an absolute path"},
    {"# one\r# two\rSpoolDir x\r", 3, "'x' must be an absolute path"},
    /* numbers and units as people write them */
    {"KeepJobs 7D\n" GOOD, 1, "'7D' is not a duration"},
    {"KeepJobs 7 d\n" GOOD, 1, "'7 d' is not a duration"},
    {"KeepJobs 1.5d\n" GOOD, 1, "'1.5d' is not a duration"},
    {"KeepJobs 7days\n" GOOD, 1, "'7days' is not a duration"},
    {OPEN "TokenLifetime 5min\n", 2, "write one such as 5m"},
    {OPEN "MaxDocumentSize 1g\n", 2, "'1g' is not a size"},
    {OPEN "MaxDocumentSize 1.5G\n", 2, "'1.5G' is not a size"},
    {OPEN "MaxDocumentsPerJob 1e3\n", 2, "'1e3' is not a count"},
    {OPEN "MaxDocumentsPerJob 1,000\n", 2, "write one such as 1000"},
    {OPEN "APIRate 1,5\n", 2, "'1,5' is not a number; write one such as 8"},
    {OPEN "APIRate nan\n", 2, "'nan' is not a number"},
    {OPEN "APIRate\n", 2, "APIRate needs a value, such as 8"},
    {OPEN "CAFile $HOME/ca.pem\n", 2, "must be an absolute path"},
    {OPEN "BaseURL https://host; \n", 2, "must look like https://host"},
    {OPEN "BaseURL https://ho st\n", 2, "or blanks"},
    {OPEN "BaseURL file:///etc/passwd\n", 2, "must look like https://host"},
};

static void invalid_lines_are_rejected_with_their_number(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
    check_refused(wrong[i].text, wrong[i].line, wrong[i].fragment);
}

/* All of `text`, with the lines of the errors and warnings. */
static int check_all(const char *text, struct dx_config_notes *notes)
{
  struct dx_config *config = NULL;
  struct dx_err err = {0};
  enum dx_code code;

  write_file(path, text, strlen(text), 0640);
  code = dx_config_load(path, &config, notes, &err);
  assert_int_equal(code, notes->mistake_count > 0 ? DX_E_CONFIG : DX_OK);
  if (notes->mistake_count > 0)
    assert_memory_equal(dx_buf_text(&notes->mistakes), err.text,
                        strlen(err.text));
  dx_config_free(&config);
  return notes->mistake_count;
}

/* "N" for each line "PATH:N: ...", each with a blank after it. */
static void numbers_of(const struct dx_buf *lines, char *text, size_t size)
{
  const char *at = dx_buf_text(lines);
  size_t used = 0;

  text[0] = '\0';
  for (; *at != '\0'; at = strchr(at, '\n') + 1) {
    assert_memory_equal(at, path, strlen(path));
    used += (size_t)snprintf(text + used, size - used, "%d ",
                             atoi(at + strlen(path) + 1));
  }
}

static void all_errors_are_reported_except_consequential_ones(void **state)
{
  static const struct {
    const char *text;
    const char *lines;
  } rows[] = {
      {GOOD, ""},
      {"SpoolDirr /a\nKeepJobs 7\n" OPEN "BaseURL x\nToken x\n" CLOSE "X y\n",
       "1 2 4 5 7 "},
      {"<Service a/b>\n" URL "APIRate x\n" CLOSE GOOD, "1 3 "},
      {"<Printer a>\nMore\n</Printer>\n" GOOD, "1 2 3 "},
      {OPEN "<Auth>\n</Auth>\n" URL KEY CLOSE, "2 3 "},
      {OPEN URL KEY "<Service b>\n" URL KEY CLOSE, "4 "},
      {OPEN KEY "Token x\n" CLOSE, "3 4 "},
      {GOOD GOOD "SpoolDir x\n", "5 9 "},
      {OPEN "BaseURL\n" KEY CLOSE OPEN URL KEY, "2 5 7 "},
  };
  char numbers[64];
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct dx_config_notes notes = {.mistake_count = 0};

    (void)check_all(rows[i].text, &notes);
    numbers_of(&notes.mistakes, numbers, sizeof(numbers));
    assert_string_equal(numbers, rows[i].lines);
    dx_config_notes_release(&notes);
  }
}

static void first_error_gives_the_number_of_errors(void **state)
{
  (void)state;
  check_refused("KeepJobs 7\nKeepJob 7d\n" OPEN URL KEY CLOSE, 1,
                "such as 7d (the first of 2 errors; see docextract config)");
}

static void number_of_reported_errors_is_limited(void **state)
{
  struct dx_config_notes notes = {.mistake_count = 0};
  struct dx_buf text = {0};
  const char *at;
  int i;

  (void)state;
  for (i = 0; i < 1000; i++)
    dx_buf_puts(&text, "Nothing 1\n");
  assert_int_equal(check_all(dx_buf_text(&text), &notes), 1000);
  at = dx_buf_text(&notes.mistakes);
  for (i = 0; *at != '\0'; i++)
    at = strchr(at, '\n') + 1;
  assert_int_equal(i, DX_MISTAKES_MAX);
  dx_config_notes_release(&notes);
  dx_buf_release(&text);
}

static enum dx_code read_anyway(struct dx_config **ret_config)
{
  struct dx_config_notes notes = {.takes_mistakes = true};
  struct dx_err err;
  enum dx_code code = dx_config_load(path, ret_config, &notes, &err);

  dx_config_notes_release(&notes);
  return code;
}

/* docextractd uses the spool of such a file, and reports its mistakes. */
static void correct_lines_of_an_incorrect_file_are_read(void **state)
{
  static const struct {
    const char *text, *spool_dir, *results_dir;
  } rows[] = {
      {"SpoolDir /s\nKeepJobs x\n" GOOD, "/s", "/s/results"},
      {"SpoolDir s\nResultsDir /r\n" GOOD, "/var/spool/docextract", "/r"},
      {"SpoolDir /s\n" OPEN "ResultsDir /r\n", "/s", "/s/results"},
  };
  struct dx_config *config;
  struct dx_err err;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    assert_int_equal(load(rows[i].text, &config, &err), DX_E_CONFIG);
    assert_int_equal(read_anyway(&config), DX_OK);
    assert_string_equal(config->spool_dir, rows[i].spool_dir);
    assert_string_equal(config->results_dir, rows[i].results_dir);
    dx_config_free(&config);
  }
  write_file(path, "SpoolDir /dev/shm\n", 18, 0640);
  assert_int_equal(read_anyway(&config), DX_E_CONFIG);
  write_file(path, "SpoolDir /s\0\n", 13, 0640);
  assert_int_equal(read_anyway(&config), DX_E_CONFIG);
}

static void misplaced_secrets_are_not_printed(void **state)
{
  static const char *const texts[] = {
      OPEN "Token s3cret\n",
      OPEN "Token SecretToken\n",
      OPEN "TokenKeyFile s3cret\n",
      OPEN "TokenFile SecretToken\n",
      OPEN "TokenSecret s3cret\n",
      OPEN "TokenSecret=s3cret\n",
      OPEN "TokenKeyFile=s3cret\n",
      OPEN "TokenKeyFile:s3cret\n",
      OPEN "TokenCommand mint s3cret\n",
      OPEN "TokenKeyID\nTokenKeyID \"s3cret\"\n",
      OPEN "TokenClaim s3cret\n",
      OPEN "TokenClaim a \"s3cret\"\n",
      OPEN "BaseURL https://me:s3cret@host\n",
      OPEN "Proxy http://me:s3cret@host:1\n",
      "0123s3cret4567890abcdef\n",
      "s3cret\n",
      "SecretToken7\n",
      "ThisIsASecretTokenThatSlippedInto\n",
      "-----BEGIN PRIVATE KEY-----\nSecret\ns3cret\n"
      "-----END PRIVATE KEY-----\n",
      "<s3cret>\n",
      "<Service s3cret/>\n",
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    struct dx_config_notes notes = {.mistake_count = 0};
    const char *mistakes;

    assert_true(check_all(texts[i], &notes) > 0);
    mistakes = dx_buf_text(&notes.mistakes);
    if (strstr(mistakes, "s3cret") != NULL ||
        strstr(mistakes, "SecretToken") != NULL ||
        strstr(mistakes, "'Secret'") != NULL)
      fail_msg("%s", mistakes);
    dx_config_notes_release(&notes);
  }
}

static void every_source_of_tokens_needs_its_directive(void **state)
{
  char text[512], want[128];
  int i;

  (void)state;
  for (i = 0; i < DX_TOKEN_SOURCE_COUNT; i++) {
    const struct dx_token_source_info *source = &dx_token_sources[i];

    (void)snprintf(text, sizeof(text), OPEN URL "Token %s\n" CLOSE,
                   source->word);
    (void)snprintf(want, sizeof(want), "<Service default> needs %s",
                   source->directive);
    check_refused(text, 4, want);
    (void)snprintf(text, sizeof(text), OPEN URL "%s /nowhere/x\n" CLOSE,
                   source->directive);
    (void)snprintf(want, sizeof(want), "needs the line 'Token %s', for its %s",
                   source->word, source->directive);
    if (i != DX_TOKEN_KEY) /* the default */
      check_refused(text, 4, want);
    assert_true(strlen(source->advice) > 0);
  }
}

static void missing_file_is_a_warning(void **state)
{
  static const char text[] =
      "SpoolDir /nowhere/spool\nResultsDir /nowhere/x/results\n" OPEN URL KEY
      "CAFile /dev/null\nSeparatorPage /nowhere/page.pdf\n"
      "TokenCommand %s --all\nTokenFile %s\nResultsDir %s/results\n"
      "StorageCAFile %s/below\n" CLOSE;
  struct dx_config_notes notes = {.mistake_count = 0};
  char filled[700], numbers[64];

  (void)state;
  write_file(key_path, "x", 1, 0600);
  (void)snprintf(filled, sizeof(filled), text, key_path, key_path, dir,
                 key_path);
  assert_int_equal(check_all(filled, &notes), 0);
  numbers_of(&notes.warnings, numbers, sizeof(numbers));
  assert_string_equal(numbers, "1 2 5 6 7 8 11 ");
  assert_non_null(strstr(dx_buf_text(&notes.warnings), "is below a file; "));
  assert_non_null(strstr(dx_buf_text(&notes.warnings),
                         "8: TokenCommand '/var/tmp/dx-unit-"));
  assert_non_null(
      strstr(dx_buf_text(&notes.warnings), "/key' is not a program"));
  assert_non_null(strstr(dx_buf_text(&notes.warnings),
                         "'/nowhere/spool' does not exist; create it"));
  dx_config_notes_release(&notes);
}

/* The lines of dx_config_drop_in(), each shortened to "DIRECTIVE SETTING". */
static void check_drop_ins(const char *text, const char *mountinfo,
                           const char *want)
{
  struct dx_config *config = loaded(text);
  char line[DX_ERR_TEXT_BYTES], got[512] = "";
  size_t at = 0, used = 0;

  while (dx_config_drop_in(config, mountinfo, &at, line))
    used += (size_t)snprintf(got + used, sizeof(got) - used, "%.*s%s\n",
                             (int)strcspn(line, " "), line,
                             strstr(line, "docextractd': ") + 13);
  assert_string_equal(got, want);
  dx_config_free(&config);
}

#define SECTION(lines) OPEN URL KEY lines CLOSE

static void protected_paths_require_a_drop_in(void **state)
{
  static const struct {
    const char *text, *want;
  } rows[] = {
      {SECTION(""), ""},
      {SECTION("ResultsDir /srv/north\n"), ""},
      {SECTION("ResultsDir /homes/north\n"), ""},
      {SECTION("ResultsDir /home/north\n"),
       "ResultsDir ProtectHome=tmpfs and BindPaths=/home/north\n"},
      {SECTION("ResultsDir /root/x\n"),
       "ResultsDir ProtectHome=tmpfs and BindPaths=/root/x\n"},
      {SECTION("ResultsDir /run/user/5/x\n"),
       "ResultsDir ProtectHome=tmpfs and BindPaths=/run/user/5/x\n"},
      {SECTION("ResultsDir /tmp/x\n"), "ResultsDir BindPaths=/tmp/x\n"},
      {SECTION("ResultsDir /var/tmp/x\n"), "ResultsDir BindPaths=/var/tmp/x\n"},
      {SECTION("ResultsDir /usr/x\n"), "ResultsDir ReadWritePaths=/usr/x\n"},
      {SECTION("ResultsDir /boot/x\n"), "ResultsDir ReadWritePaths=/boot/x\n"},
      {SECTION("ResultsDir /etc/x\n"), "ResultsDir ReadWritePaths=/etc/x\n"},
      {"SpoolDir /etc/x\n" SECTION(""), "SpoolDir ReadWritePaths=/etc/x\n"},
      {SECTION("OnResult /bin/true\n"), ""},
      {SECTION("OnResult /usr/bin/true --home /home\n"), ""},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    check_drop_ins(rows[i].text, NULL, rows[i].want);
}

/* What systemd 252 makes of the unit, and of a drop-in. */
static void existing_drop_in_is_sufficient(void **state)
{
  static const char unit[] =
      "120 90 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
      "121 120 0:22 /systemd/inaccessible/dir /home ro,nosuid - tmpfs t rw\n"
      "122 120 8:1 /tmp/systemd-private-1-x.service-y/tmp /tmp rw - ext4 a rw\n"
      "123 120 8:1 /etc /etc ro,relatime - ext4 /dev/sda1 rw\n";
  static const char drop_in[] =
      "130 121 0:50 / /home ro,nosuid - tmpfs tmpfs rw\n"
      "131 130 8:1 /home/a /home/a rw,relatime - ext4 /dev/sda1 rw\n"
      "135 130 8:1 /home/b /home/b ro,relatime - ext4 /dev/sda1 rw\n"
      "132 122 8:1 /tmp/a /tmp/a rw,relatime - ext4 /dev/sda1 rw\n"
      "133 123 8:1 /etc/a /etc/a ro,relatime - ext4 /dev/sda1 rw\n"
      "134 133 8:1 /etc/a /etc/a rw,relatime - ext4 /dev/sda1 rw\n";
  static const struct {
    const char *text, *without;
  } rows[] = {
      {SECTION("ResultsDir /home/a\n"),
       "ResultsDir ProtectHome=tmpfs and BindPaths=/home/a\n"},
      {SECTION("OnResult /home/b/p\n"),
       "OnResult ProtectHome=tmpfs and BindReadOnlyPaths=/home/b/p\n"},
      {SECTION("ResultsDir /tmp/a\n"), "ResultsDir BindPaths=/tmp/a\n"},
      {SECTION("ResultsDir /etc/a\n"), "ResultsDir ReadWritePaths=/etc/a\n"},
      {SECTION("ResultsDir /var/tmp/a\n"), ""}, /* no such mount */
  };
  char mounts[128], both[1024];
  size_t i;

  (void)state;
  (void)snprintf(mounts, sizeof(mounts), "%s/mountinfo", dir);
  (void)snprintf(both, sizeof(both), "%s%s", unit, drop_in);
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    write_file(mounts, unit, strlen(unit), 0600);
    check_drop_ins(rows[i].text, mounts, rows[i].without);
    write_file(mounts, both, strlen(both), 0600);
    check_drop_ins(rows[i].text, mounts, "");
  }
  (void)unlink(mounts);
}

static void carriage_returns_and_comments_count_as_lines(void **state)
{
  (void)state;
  check_refused("# one\r\n\r\n  # three\r\n" OPEN "  " URL "Nothing 1\r\n", 6,
                "unknown directive");
}

static int reads_left = -1; /* of this program and libcups; -1: no limit */

ssize_t read(int fd, void *bytes, size_t size)
{
  if (reads_left != 0) {
    reads_left -= reads_left > 0;
    return syscall(SYS_read, fd, bytes, size);
  }
  errno = EIO;
  return -1;
}

static void unreadable_part_is_not_left_out(void **state)
{
  struct dx_config *config = NULL;
  struct dx_buf text = {0};
  struct dx_err err;
  int n, failed = 0;

  (void)state;
  dx_buf_puts(&text, GOOD);
  while (text.len < 20000) /* more than libcups reads at once */
    dx_buf_puts(&text, "# nothing\n");
  dx_buf_puts(&text, "KeepJobs 365d\n");
  write_file(path, text.data, text.len, 0600);
  for (n = 0; config == NULL; n++) {
    reads_left = n;
    if (dx_config_load(path, &config, NULL, &err) != DX_OK) {
      assert_int_equal(err.code, DX_E_IO);
      failed++;
    }
  }
  reads_left = -1;
  assert_true(failed > 5);
  assert_int_equal(config->keep_jobs_ms / 86400000, 365);
  dx_config_free(&config);
  dx_buf_release(&text);
}

/* The lines are read into a buffer that just holds the file. */
static void last_line_needs_no_end(void **state)
{
  char text[512];
  int len;

  (void)state;
  for (len = 1; len <= 256; len++) {
    struct dx_config *config;

    (void)snprintf(text, sizeof(text),
                   OPEN URL KEY "TokenKeyID %0*d\n" CLOSE "KeepJobs 365d", len,
                   7);
    config = loaded(text);
    assert_int_equal(strlen(config->services[0].token_key_id), len);
    assert_int_equal(config->keep_jobs_ms / 86400000, 365);
    dx_config_free(&config);
  }
}

static void lines_that_are_too_long_are_rejected(void **state)
{
  struct dx_buf text = {0};
  struct dx_config *config = NULL;
  struct dx_err err = {0};

  (void)state;
  dx_buf_puts(&text, "ResultsDir /");
  while (text.len < strlen("ResultsDir ") + 4095)
    dx_buf_puts(&text, "x");
  dx_buf_puts(&text, "\n" GOOD);
  config = loaded(dx_buf_text(&text));
  dx_config_free(&config);
  text.data[strlen("ResultsDir ") + 4095] = 'x';
  check_refused(dx_buf_text(&text), 1, "longer than 4095 bytes");
  dx_buf_release(&text);
  write_file(path, GOOD "KeepJobs\0 7d\n", strlen(GOOD) + 13, 0600);
  assert_int_equal(dx_config_load(path, &config, NULL, &err), DX_E_CONFIG);
  assert_non_null(strstr(err.text, "there is a NUL byte"));
}

static void services_claims_and_hosts_are_limited(void **state)
{
  struct dx_buf text = {0};
  int i;

  (void)state;
  for (i = 0; i < 101; i++)
    dx_buf_printf(&text, "<Service s%d>\n" URL KEY CLOSE, i);
  check_refused(dx_buf_text(&text), 401, "more than 100 services");
  dx_buf_release(&text);
  dx_buf_puts(&text, OPEN);
  for (i = 0; i < 51; i++)
    dx_buf_printf(&text, "TokenClaim c%d x\n", i);
  check_refused(dx_buf_text(&text), 52, "more than 50 TokenClaims");
  dx_buf_release(&text);
  dx_buf_puts(&text, OPEN);
  for (i = 0; i < 51; i++)
    dx_buf_printf(&text, "StorageHost s%d.example\n", i);
  check_refused(dx_buf_text(&text), 52, "more than 50 StorageHosts");
  dx_buf_release(&text);
}

/* ---- the file itself ---- */

static void configuration_may_be_world_readable(void **state)
{
  struct dx_config *config = NULL;
  struct dx_err err = {0};

  (void)state;
  write_file(path, GOOD, strlen(GOOD), 0644);
  assert_int_equal(dx_config_load(path, &config, NULL, &err), DX_OK);
  dx_config_free(&config);
}

static void configuration_that_others_can_write_is_rejected(void **state)
{
  static const mode_t modes[] = {0660, 0602};
  struct dx_config *config = NULL;
  struct dx_err err = {0};
  char fragment[160];
  size_t i;

  (void)state;
  (void)snprintf(fragment, sizeof(fragment), "chmod go-w %s", path);
  for (i = 0; i < 2; i++) {
    write_file(path, GOOD, strlen(GOOD), modes[i]);
    assert_int_equal(dx_config_load(path, &config, NULL, &err), DX_E_CONFIG);
    assert_non_null(strstr(err.text, "other users may write"));
    assert_non_null(strstr(err.text, fragment));
    assert_null(config);
  }
}

/* Root reads no other user's configuration: it names programs to run. */
static void configuration_of_another_user_is_rejected(void **state)
{
  struct dx_config *config = NULL;
  struct dx_err err = {0};

  (void)state;
  write_file(path, GOOD, strlen(GOOD), 0640);
  if (geteuid() != 0)
    leave_out("as root");
  assert_int_equal(chown(path, 1, (gid_t)-1), 0);
  assert_int_equal(dx_config_load(path, &config, NULL, &err), DX_E_CONFIG);
  assert_non_null(strstr(err.text, "belongs to 'daemon'"));
  assert_non_null(strstr(err.text, "chown root"));
  assert_null(config);
  assert_int_equal(unlink(path), 0);
}

/* `text` is valid, with this warning in line `line`; "": none. */
static void check_warning(const char *text, int line, const char *fragment)
{
  struct dx_config_notes notes = {.mistake_count = 0};
  char numbers[64], want[16] = "";

  assert_int_equal(check_all(text, &notes), 0);
  numbers_of(&notes.warnings, numbers, sizeof(numbers));
  if (fragment[0] != '\0')
    (void)snprintf(want, sizeof(want), "%d ", line);
  assert_string_equal(numbers, want);
  assert_non_null(strstr(dx_buf_text(&notes.warnings), fragment));
  dx_config_notes_release(&notes);
}

/* Only its section is affected. */
static void key_that_others_can_write_is_a_warning(void **state)
{
  char text[512];

  (void)state;
  (void)snprintf(text, sizeof(text),
                 "SpoolDir %s\n" OPEN URL "TokenKeyFile %s\n" CLOSE, dir,
                 key_path);
  write_file(key_path, "x", 1, 0620);
  check_warning(text, 4, "other users may write");
}

/* Who can change it gets the rights of docextractd. */
static void program_that_others_can_write_is_rejected(void **state)
{
  static const char *const directives[] = {"Token command\nTokenCommand",
                                           "TokenKeyFile /key\nOnResult"};
  static const mode_t modes[] = {0755, 0775, 0757};
  struct dx_err err;
  char text[512];
  size_t i, k;

  (void)state;
  for (i = 0; i < 2; i++)
    for (k = 0; k < 3; k++) {
      struct dx_config *config = NULL;

      (void)snprintf(text, sizeof(text),
                     "SpoolDir %s\n" OPEN URL "%s %s --all\n" CLOSE, dir,
                     directives[i], key_path);
      write_file(key_path, "x", 1, modes[k]);
      assert_int_equal(load(text, &config, &err), k == 0 ? DX_OK : DX_E_CONFIG);
      assert_true(k == 0 || strstr(err.text, "other users may write") != NULL);
      dx_config_free(&config);
    }
}

/* Its group may read it where the programs run as the user who starts them. */
static void key_that_others_can_read_is_a_warning(void **state)
{
  static const char *const names[] = {"TokenKeyFile", "TokenFile"};
  char text[512];
  size_t i;

  (void)state;
  for (i = 0; i < 2; i++) {
    (void)snprintf(text, sizeof(text),
                   "SpoolDir %s\n" OPEN URL "Token %s\n%s %s\n" CLOSE, dir,
                   i == 0 ? "key" : "file", names[i], key_path);
    write_file(key_path, "x", 1, 0604);
    check_warning(
        text, 5, dx_user() == NULL ? "all users may read" : "users other than");
    check_warning(text, 5, key_path);
    write_file(key_path, "x", 1, 0640);
    if (dx_user() != NULL) {
      check_warning(text, 5, "users other than");
      write_file(key_path, "x", 1, 0600);
    }
    check_warning(text, 5, "");
  }
}

static void path_that_is_not_a_file_is_rejected(void **state)
{
  struct dx_config *config = NULL;
  struct dx_err err = {0};

  (void)state;
  assert_int_equal(dx_config_load("/nowhere/x", &config, NULL, &err),
                   DX_E_CONFIG);
  assert_string_equal(err.text,
                      "cannot open '/nowhere/x': No such file or directory; "
                      "write one as in docextract.conf(5)");
  assert_int_equal(dx_config_load(dir, &config, NULL, &err), DX_E_CONFIG);
  assert_non_null(strstr(err.text, "is not a configuration file"));
  (void)unlink(path);
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_int_equal(dx_config_load(path, &config, NULL, &err), DX_E_CONFIG);
  assert_non_null(strstr(err.text, "is not a configuration file"));
  (void)unlink(path);
  write_file(path, "", 0, 0600);
  assert_int_equal(truncate(path, 1024 * 1024 + 1), 0);
  assert_int_equal(dx_config_load(path, &config, NULL, &err), DX_E_CONFIG);
  assert_non_null(strstr(err.text, "is not a configuration file"));
  assert_null(config);
}

static void path_follows_cups_serverroot(void **state)
{
  static const struct {
    const char *root; /* NULL: not set */
    const char *path;
  } rows[] = {
      {NULL, DX_SERVERROOT "/docextract.conf"},
      {"/srv/cups", "/srv/cups/docextract.conf"},
      {"srv/cups", DX_SERVERROOT "/docextract.conf"},
      {"", DX_SERVERROOT "/docextract.conf"},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (rows[i].root != NULL)
      assert_int_equal(setenv("CUPS_SERVERROOT", rows[i].root, 1), 0);
    else
      assert_int_equal(unsetenv("CUPS_SERVERROOT"), 0);
    assert_string_equal(dx_config_path(), rows[i].path);
  }
  assert_int_equal(unsetenv("CUPS_SERVERROOT"), 0);
}

/* ---- valid ones ---- */

static void file_that_windows_wrote_is_read(void **state)
{
  struct dx_config *config =
      loaded("\xEF\xBB\xBF" OPEN "BaseURL https://host.example\r\n"
             "TokenKeyFile /nowhere/key\r\n" CLOSE);
  const struct dx_service *s = dx_config_service(config, "default");

  (void)state;
  assert_non_null(s);
  assert_int_equal(s->line, 1);
  assert_string_equal(s->base_url, "https://host.example");
  dx_config_free(&config);
}

static void smallest_configuration_gets_the_defaults(void **state)
{
  struct dx_config *config = loaded(GOOD);
  const struct dx_service *s = dx_config_service(config, "default");

  (void)state;
  assert_string_equal(config->path, path);
  assert_string_equal(config->spool_dir, "/var/spool/docextract");
  assert_string_equal(config->results_dir, "/var/spool/docextract/results");
  assert_int_equal(config->keep_jobs_ms, 7 * 86400000LL);
  assert_int_equal(config->service_count, 1);
  assert_non_null(s);
  assert_int_equal(s->line, 1);
  assert_string_equal(s->base_url, "https://host.example");
  assert_string_equal(s->host, "host.example");
  assert_int_equal(s->port, 443);
  assert_int_equal(s->token, DX_TOKEN_KEY);
  assert_string_equal(s->token_key_file, "/nowhere/key");
  assert_int_equal(s->token_algorithm, DX_ALG_HS256);
  assert_null(s->token_key_id);
  assert_int_equal(s->claims.count, 0);
  assert_int_equal(s->token_lifetime_ms, 300000);
  assert_null(s->token_file);
  assert_null(s->token_command);
  assert_null(s->ca_file);
  assert_null(s->storage_ca_file);
  assert_null(s->proxy);
  assert_null(s->proxy_password_file);
  assert_true(s->api_rate > 7.99 && s->api_rate < 8.01);
  assert_int_equal(s->completion, DX_COMPLETION_AUTO);
  assert_null(s->separator_page);
  assert_int_equal(s->on_document_error, DX_ON_ERROR_HOLD);
  assert_int_equal(s->processing_limit_ms, 1800000);
  assert_int_equal(s->max_document_bytes, 1 << 30);
  assert_int_equal(s->max_documents, 1000);
  assert_int_equal(s->filter_time_limit_ms, 900000);
  assert_int_equal(s->file_names, DX_FILE_NAMES_TITLE);
  assert_string_equal(s->results_dir, config->results_dir);
  dx_config_free(&config);
  assert_null(config);
  dx_config_free(&config);
}

#define EVERYTHING                               \
  "# as in the manual\n"                         \
  "SpoolDir /srv/spool\n"                        \
  "ResultsDir /srv/results\n"                    \
  "KeepJobs 90m\n"                               \
  "<Service first>\n"                            \
  "  BaseURL https://API.Example.org:8443/v//\n" \
  "  Token key\n"                                \
  "  TokenKeyFile /nowhere/a key.pem\n"          \
  "  TokenAlgorithm eddsa\n"                     \
  "  TokenKeyID 2026 \\#1 # the first\n"         \
  "  TokenClaim iss clinic  7\n"                 \
  "  TokenClaim aud \\#a#b \\# c\n"              \
  "  TokenLifetime 3600s\n"                      \
  "  CAFile /nowhere/ca.pem\n"                   \
  "  StorageCAFile system\n"                     \
  "  Proxy http://proxy:3128\n"                  \
  "  ProxyPasswordFile /nowhere/proxy\n"         \
  "  StorageHost Bucket_1.S3.example.com\n"      \
  "  StorageHost [2001:DB8::2]\n"                \
  "  APIRate 1.2345678\n"                        \
  "  Completion ACCEPTED\n"                      \
  "  SeparatorPage /nowhere/page.pdf\n"          \
  "  OnDocumentError cancel\n"                   \
  "  ProcessingLimit 1d\n"                       \
  "  MaxDocumentSize 1536K\n"                    \
  "  MaxResultSize 3M\n"                         \
  "  MaxDocumentsPerJob 20\n"                    \
  "  FilterTimeLimit 90s\n"                      \
  "  FileNames neutral\n"                        \
  "  ResultsDir /srv/first\n"                    \
  "</Service>\n"                                 \
  "<Service Second_2.b>\n"                       \
  "  BaseURL http://127.0.0.1\n"                 \
  "  Token command\n"                            \
  "  TokenCommand /bin/mint --for  you\n"        \
  "</service>\n"                                 \
  "<SERVICE third>\n"                            \
  "  BASEURL https://[2001:DB8::1]:444/\n"       \
  "  Token file\n"                               \
  "  TokenFile /nowhere/token\n"                 \
  "</Service>\n"

static void assert_same_text(const char *a, const char *b)
{
  assert_int_equal(a == NULL, b == NULL);
  if (a != NULL)
    assert_string_equal(a, b);
}

static void storage_has_its_own_cas_or_those_of_the_service(void **state)
{
  static const struct {
    const char *of_both, *of_storage, *api, *storage;
  } rows[] = {
      {NULL, NULL, NULL, NULL},     {"system", NULL, NULL, NULL},
      {"/a", NULL, "/a", "/a"},     {"/a", "/b", "/a", "/b"},
      {"/a", "system", "/a", NULL}, {"system", "/b", NULL, "/b"},
      {NULL, "/b", NULL, "/b"},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    const struct dx_service s = {.ca_file = rows[i].of_both,
                                 .storage_ca_file = rows[i].of_storage};

    assert_same_text(dx_ca_file(&s, false), rows[i].api);
    assert_same_text(dx_ca_file(&s, true), rows[i].storage);
  }
}

static void every_directive_reaches_its_field(void **state)
{
  struct dx_config *config = loaded(EVERYTHING);
  const struct dx_service *s = dx_config_service(config, "first");

  (void)state;
  assert_string_equal(config->spool_dir, "/srv/spool");
  assert_string_equal(config->results_dir, "/srv/results");
  assert_int_equal(config->keep_jobs_ms, 5400000);
  assert_int_equal(s->line, 5);
  assert_string_equal(s->base_url, "https://API.Example.org:8443/v");
  assert_string_equal(s->host, "api.example.org");
  assert_int_equal(s->port, 8443);
  assert_string_equal(s->token_key_file, "/nowhere/a key.pem");
  assert_int_equal(s->token_algorithm, DX_ALG_EdDSA);
  assert_int_equal(s->claims.count, 2);
  assert_string_equal(s->claims.items[0].name, "iss");
  assert_string_equal(s->claims.items[0].value, "clinic  7");
  assert_int_equal(s->token_lifetime_ms, 3600000);
  assert_string_equal(s->ca_file, "/nowhere/ca.pem");
  assert_string_equal(s->storage_ca_file, "system");
  assert_string_equal(s->proxy, "http://proxy:3128");
  assert_string_equal(s->proxy_password_file, "/nowhere/proxy");
  assert_int_equal(s->storage_hosts.count, 2);
  assert_string_equal(s->storage_hosts.items[0].name,
                      "bucket_1.s3.example.com");
  assert_string_equal(s->storage_hosts.items[1].name, "2001:db8::2");
  assert_true(s->api_rate > 1.23456779 && s->api_rate < 1.23456781);
  assert_int_equal(s->completion, DX_COMPLETION_ACCEPTED);
  assert_string_equal(s->separator_page, "/nowhere/page.pdf");
  assert_int_equal(s->on_document_error, DX_ON_ERROR_CANCEL);
  assert_int_equal(s->processing_limit_ms, 86400000);
  assert_int_equal(s->max_document_bytes, 1536 * 1024);
  assert_int_equal(s->max_result_bytes, 3 * 1024 * 1024);
  assert_int_equal(s->max_documents, 20);
  assert_int_equal(s->filter_time_limit_ms, 90000);
  assert_int_equal(s->file_names, DX_FILE_NAMES_NEUTRAL);
  assert_string_equal(s->results_dir, "/srv/first");
  dx_config_free(&config);
}

static void services_are_found_by_name(void **state)
{
  struct dx_config *config = loaded(EVERYTHING);
  const struct dx_service *s = dx_config_service(config, "Second_2.b");

  (void)state;
  assert_int_equal(config->service_count, 3);
  assert_ptr_equal(s, &config->services[1]);
  assert_int_equal(s->token, DX_TOKEN_COMMAND);
  assert_string_equal(s->token_command, "/bin/mint --for  you");
  assert_int_equal(s->port, 80);
  assert_string_equal(s->results_dir, "/srv/results");
  s = dx_config_service(config, "third");
  assert_string_equal(s->host, "2001:db8::1");
  assert_int_equal(s->port, 444);
  assert_string_equal(s->base_url, "https://[2001:DB8::1]:444");
  assert_string_equal(s->token_file, "/nowhere/token");
  assert_null(dx_config_service(config, "second_2.b"));
  assert_null(dx_config_service(config, ""));
  dx_config_free(&config);
}

static void hash_is_a_comment_unless_escaped(void **state)
{
  struct dx_config *config = loaded(EVERYTHING);
  const struct dx_service *s = dx_config_service(config, "first");

  (void)state;
  assert_string_equal(s->token_key_id, "2026 #1 # the first"); /* CUPS's rule:
                           only the first one of a line is looked at */
  assert_string_equal(s->claims.items[1].value, "#a#b \\# c");
  dx_config_free(&config);
  config = loaded(OPEN URL KEY "TokenKeyID a b # c \\# d\n" CLOSE);
  s = dx_config_service(config, "default");
  assert_string_equal(s->token_key_id, "a b");
  dx_config_free(&config);
}

static void loopback_hosts_are_known(void **state)
{
  static const struct {
    const char *host;
    bool loopback;
  } rows[] = {
      {"127.0.0.1", true},
      {"127.255.255.255", true},
      {"127.0.0.0", true},
      {"localhost", true},
      {"LocalHost", true},
      {"::1", true},
      {"", false},
      {"127", false},
      {"127.1", false},
      {"127.0.0", false},
      {"127.0.0.1.", false},
      {"127.0.0.1.2", false},
      {"127.0.0.256", false},
      {"127.0.0.1000", false},
      {"127.0.0.1.nip.io", false},
      {"127.0.0.-1", false},
      {" 127.0.0.1", false},
      {"127. 0.0.1", false},
      {"128.0.0.1", false},
      {"10.0.0.1", false},
      {"0.0.0.0", false},
      {"0177.0.0.1", false},
      {"0x7f.0.0.1", false},
      {"2130706433", false},
      {"localhost.", false},
      {"localhost.example", false},
      {"xlocalhost", false},
      {"::", false},
      {"::2", false},
      {"::ffff:127.0.0.1", false},
      {"fe80::1", false},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    if (dx_host_is_loopback(rows[i].host) != rows[i].loopback)
      fail_msg("'%s'", rows[i].host);
}

static void plain_http_is_limited_to_loopback(void **state)
{
  static const char *const urls[] = {
      "http://127.0.0.1:8080", "http://[::1]:1/x", "http://localhost/v%201"};
  char text[256];
  size_t i;

  (void)state;
  for (i = 0; i < 3; i++) {
    struct dx_config *config;

    (void)snprintf(text, sizeof(text), OPEN "BaseURL %s\n" KEY CLOSE, urls[i]);
    config = loaded(text);
    dx_config_free(&config);
  }
}

/* ---- the table and what is printed ---- */

/* Loads a configuration with the additional line `name value`. */
static enum dx_code try_value(const struct dx_directive *d, const char *value)
{
  struct dx_config *config = NULL;
  struct dx_err err;
  enum dx_code code;
  char text[512];

  (void)snprintf(text, sizeof(text), "%s %s\n" OPEN URL KEY "%s %s\n" CLOSE,
                 d->in_service ? "#" : d->name, d->in_service ? "" : value,
                 d->in_service ? d->name : "#", d->in_service ? value : "");
  code = load(text, &config, &err);
  dx_config_free(&config);
  return code;
}

static void defaults_are_within_their_range(void **state)
{
  const struct dx_directive *d;
  size_t ranged = 0, i;

  (void)state;
  for (i = 0; (d = dx_directive(i)) != NULL; i++) {
    assert_true(d->in_service || d->in_general);
    assert_true(d->type[0] != '\0');
    assert_int_equal(d->help[strlen(d->help) - 1], '.');
    assert_int_equal(d->least == NULL, d->most == NULL);
    if (d->fallback != NULL)
      assert_int_equal(try_value(d, d->fallback), DX_OK);
    if (d->least == NULL)
      continue;
    assert_non_null(d->fallback);
    assert_int_equal(try_value(d, d->least), DX_OK);
    assert_int_equal(try_value(d, d->most), DX_OK);
    assert_int_equal(try_value(d, "0s"), DX_E_CONFIG);
    assert_int_equal(try_value(d, "0"), DX_E_CONFIG);
    ranged++;
  }
  assert_true(i >= 23);
  assert_true(ranged >= 7);
}

static void algorithms_have_their_names(void **state)
{
  (void)state;
  assert_string_equal(dx_algorithm_names[DX_ALG_HS256], "HS256");
  assert_string_equal(dx_algorithm_names[DX_ALG_ES512], "ES512");
  assert_string_equal(dx_algorithm_names[DX_ALG_EdDSA], "EdDSA");
}

static char *printed(const struct dx_config *config)
{
  char *text = NULL;
  size_t len;
  FILE *out = open_memstream(&text, &len);

  assert_non_null(out);
  assert_int_equal(dx_config_print(config, out, NULL), DX_OK);
  assert_int_equal(fclose(out), 0);
  return text;
}

/* Comments say where values came from: this file, the second time. */
static void cut_comments(char *text)
{
  char *to = text;
  bool inside = false;

  for (const char *at = text; *at != '\0'; at++) {
    if (*at == '\n')
      inside = false;
    else if (*at == '#' && (at == text || at[-1] != '\\'))
      inside = true;
    if (!inside && *at != ' ' && (*at != '\n' || to == text || to[-1] != '\n'))
      *to++ = *at;
  }
  *to = '\0';
}

static void assert_same_service(const struct dx_service *a,
                                const struct dx_service *b)
{
  size_t i;

  assert_string_equal(a->name, b->name);
  assert_string_equal(a->base_url, b->base_url);
  assert_string_equal(a->host, b->host);
  assert_int_equal(a->port, b->port);
  assert_int_equal(a->token, b->token);
  assert_same_text(a->token_key_file, b->token_key_file);
  assert_int_equal(a->token_algorithm, b->token_algorithm);
  assert_same_text(a->token_key_id, b->token_key_id);
  assert_int_equal(a->claims.count, b->claims.count);
  for (i = 0; i < a->claims.count; i++) {
    assert_string_equal(a->claims.items[i].name, b->claims.items[i].name);
    assert_string_equal(a->claims.items[i].value, b->claims.items[i].value);
  }
  assert_int_equal(a->token_lifetime_ms, b->token_lifetime_ms);
  assert_same_text(a->token_file, b->token_file);
  assert_same_text(a->token_command, b->token_command);
  assert_same_text(a->ca_file, b->ca_file);
  assert_same_text(a->storage_ca_file, b->storage_ca_file);
  assert_same_text(a->proxy, b->proxy);
  assert_same_text(a->proxy_password_file, b->proxy_password_file);
  assert_int_equal(a->storage_hosts.count, b->storage_hosts.count);
  for (i = 0; i < a->storage_hosts.count; i++)
    assert_string_equal(a->storage_hosts.items[i].name,
                        b->storage_hosts.items[i].name);
  assert_memory_equal(&a->api_rate, &b->api_rate, sizeof(a->api_rate));
  assert_int_equal(a->completion, b->completion);
  assert_same_text(a->separator_page, b->separator_page);
  assert_int_equal(a->on_document_error, b->on_document_error);
  assert_int_equal(a->processing_limit_ms, b->processing_limit_ms);
  assert_int_equal(a->max_document_bytes, b->max_document_bytes);
  assert_int_equal(a->max_result_bytes, b->max_result_bytes);
  assert_int_equal(a->max_documents, b->max_documents);
  assert_int_equal(a->filter_time_limit_ms, b->filter_time_limit_ms);
  assert_int_equal(a->file_names, b->file_names);
  assert_string_equal(a->results_dir, b->results_dir);
}

static void printed_configuration_can_be_parsed(void **state)
{
  static const char *const texts[] = {
      GOOD,
      EVERYTHING,
      OPEN URL KEY "TokenClaim a\\#b c#d\nTokenClaim x y\\#z\nAPIRate 0.1\n"
                   "TokenClaim back\\\\#slash \\x\nTokenLifetime 61s\n"
                   "ResultsDir /odd \\#name\n" CLOSE,
      "KeepJobs 1209601s\n" GOOD,
  };
  size_t i, k;

  (void)state;
  for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    struct dx_config *a = loaded(texts[i]), *b;
    char *text = printed(a), *again;

    b = loaded(text);
    assert_string_equal(a->spool_dir, b->spool_dir);
    assert_string_equal(a->results_dir, b->results_dir);
    assert_int_equal(a->keep_jobs_ms, b->keep_jobs_ms);
    assert_int_equal(a->service_count, b->service_count);
    for (k = 0; k < a->service_count; k++)
      assert_same_service(&a->services[k], &b->services[k]);
    again = printed(b);
    cut_comments(text);
    cut_comments(again);
    assert_string_equal(text, again);
    free(text);
    free(again);
    dx_config_free(&a);
    dx_config_free(&b);
  }
}

static void every_value_is_printed_with_its_origin(void **state)
{
  static const char *const lines[] = {
      "\nSpoolDir /s # docextract.conf:1\n",
      "\nKeepJobs 7d # default\n",
      "\nResultsDir /r # docextract.conf:2\n",
      "\nResultsDir /r # docextract.conf:2, for all services\n",
      "\nResultsDir /q # docextract.conf:12\n",
      "\nAPIRate 5 # docextract.conf:11\n",
      "\nAPIRate 8 # default\n",
      "\n# docextract.conf:7\nTokenKeyID a\\#b\n",
      "\nTokenClaim iss x # docextract.conf:6\n",
      "\nStorageHost s.example # docextract.conf:8\n",
  };
  struct dx_config *config =
      loaded("SpoolDir /s\nResultsDir /r\n<Service a>\n" URL KEY
             "TokenClaim iss x\nTokenKeyID a\\#b\nStorageHost s.example\n" CLOSE
             "<Service b>\n"
             "APIRate 5\nResultsDir /q\n" URL KEY CLOSE);
  char *text = printed(config), *to = text;
  size_t i;

  (void)state;
  for (const char *at = text; *at != '\0'; at++) /* any number of blanks */
    if (*at != ' ' || (to > text && to[-1] != ' ' && to[-1] != '\n'))
      *to++ = *at;
  *to = '\0';
  for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
    if (strstr(text, lines[i]) == NULL)
      fail_msg("no line '%s' in %s", lines[i], text);
  free(text);
  dx_config_free(&config);
}

static void output_that_cannot_be_written_is_reported(void **state)
{
  struct dx_config *config = loaded(GOOD);
  FILE *out = fopen("/dev/full", "we");
  struct dx_err err;

  (void)state;
  assert_non_null(out);
  assert_int_equal(dx_config_print(config, out, &err), DX_E_SPACE);
  (void)fclose(out);
  dx_config_free(&config);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(invalid_lines_are_rejected_with_their_number),
      cmocka_unit_test(all_errors_are_reported_except_consequential_ones),
      cmocka_unit_test(first_error_gives_the_number_of_errors),
      cmocka_unit_test(number_of_reported_errors_is_limited),
      cmocka_unit_test(correct_lines_of_an_incorrect_file_are_read),
      cmocka_unit_test(misplaced_secrets_are_not_printed),
      cmocka_unit_test(every_source_of_tokens_needs_its_directive),
      cmocka_unit_test(missing_file_is_a_warning),
      cmocka_unit_test(carriage_returns_and_comments_count_as_lines),
      cmocka_unit_test(unreadable_part_is_not_left_out),
      cmocka_unit_test(last_line_needs_no_end),
      cmocka_unit_test(lines_that_are_too_long_are_rejected),
      cmocka_unit_test(services_claims_and_hosts_are_limited),
      cmocka_unit_test(configuration_may_be_world_readable),
      cmocka_unit_test(configuration_that_others_can_write_is_rejected),
      cmocka_unit_test(configuration_of_another_user_is_rejected),
      cmocka_unit_test(key_that_others_can_write_is_a_warning),
      cmocka_unit_test(program_that_others_can_write_is_rejected),
      cmocka_unit_test(key_that_others_can_read_is_a_warning),
      cmocka_unit_test(path_that_is_not_a_file_is_rejected),
      cmocka_unit_test(path_follows_cups_serverroot),
      cmocka_unit_test(file_that_windows_wrote_is_read),
      cmocka_unit_test(smallest_configuration_gets_the_defaults),
      cmocka_unit_test(storage_has_its_own_cas_or_those_of_the_service),
      cmocka_unit_test(every_directive_reaches_its_field),
      cmocka_unit_test(protected_paths_require_a_drop_in),
      cmocka_unit_test(existing_drop_in_is_sufficient),
      cmocka_unit_test(services_are_found_by_name),
      cmocka_unit_test(hash_is_a_comment_unless_escaped),
      cmocka_unit_test(loopback_hosts_are_known),
      cmocka_unit_test(plain_http_is_limited_to_loopback),
      cmocka_unit_test(defaults_are_within_their_range),
      cmocka_unit_test(algorithms_have_their_names),
      cmocka_unit_test(printed_configuration_can_be_parsed),
      cmocka_unit_test(every_value_is_printed_with_its_origin),
      cmocka_unit_test(output_that_cannot_be_written_is_reported),
  };

  return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
