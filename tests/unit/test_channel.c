/*
 * test_channel.c - lines of the control socket, notes, and one end of it with
 * valid and invalid data from the other end.
 */
#include "tests/unit/temp_dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/policy.h"
#include "lib/base/utf8.h"
#include "lib/control/channel.h"

static struct dx_err err;
static char dir[TEMP_DIR_BYTES];

static int setup(void **state)
{
  (void)state;
  return temp_dir_make(dir);
}

static int teardown(void **state)
{
  (void)state;
  return temp_dir_remove(dir);
}

/* ---- lines ---- */

static void only_lines_of_the_tables_are_accepted(void **state)
{
  static const struct {
    const char *line;
    enum dx_verb verb; /* DX_VERB_COUNT: none */
    const char *text;
  } rows[] = {
      {"attend KEY RUN", DX_VERB_ATTEND, ""},
      {"alive", DX_VERB_ALIVE, ""},
      {"leave", DX_VERB_LEAVE, ""},
      {"stopping", DX_VERB_STOPPING, ""},
      {"hello", DX_VERB_HELLO, ""},
      {"hello default", DX_VERB_HELLO, "default"},
      {"retry KEY", DX_VERB_RETRY, ""},
      {"retry KEY other", DX_VERB_RETRY, "other"},
      {"line ", DX_VERB_LINE, ""},
      {"line  two  blanks ", DX_VERB_LINE, " two  blanks "},
      {"end E_NET no caf\xc3\xa9", DX_VERB_END, "no caf\xc3\xa9"},
      {"note waiting OK 0 1 2 3", DX_VERB_NOTE, ""},
      {"jobs all", DX_VERB_JOBS, "all"},
      {"show KEY S%2f1-2.json", DX_VERB_SHOW, ""},
      {"watch 2026-01-31T12:00:00Z", DX_VERB_WATCH, "2026-01-31T12:00:00Z"},
      {"metrics", DX_VERB_METRICS, ""},
      {"", DX_VERB_COUNT, ""},
      {" ", DX_VERB_COUNT, ""},
      {" leave", DX_VERB_COUNT, ""},
      {"leave ", DX_VERB_COUNT, ""},
      {"LEAVE", DX_VERB_COUNT, ""},
      {"leave now", DX_VERB_COUNT, ""},
      {"leave\r", DX_VERB_COUNT, ""},
      {"line a\tb", DX_VERB_COUNT, ""},
      {"line a\nb", DX_VERB_COUNT, ""},
      {"line \xc2\x85", DX_VERB_COUNT, ""},
      {"line \xff", DX_VERB_COUNT, ""},
      {"attend KEY", DX_VERB_COUNT, ""},
      {"attend KEY ", DX_VERB_COUNT, ""},
      {"attend  KEY RUN", DX_VERB_COUNT, ""},
      {"attend KEY RUN more", DX_VERB_COUNT, ""},
      {"attend K\xc3\xa9Y RUN", DX_VERB_COUNT, ""},
      {"note waiting OK 0 1 2", DX_VERB_COUNT, ""},
      {"show KEY S-1.json more", DX_VERB_COUNT, ""},
      {"metrics all", DX_VERB_COUNT, ""},
      {"GET / HTTP/1.1", DX_VERB_COUNT, ""},
  };
  struct dx_message message;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    enum dx_code code =
        dx_message_parse(rows[i].line, strlen(rows[i].line), &message, &err);

    if (code != (rows[i].verb == DX_VERB_COUNT ? DX_E_ARG : DX_OK) ||
        (code == DX_OK && (message.verb != rows[i].verb ||
                           strcmp(message.text, rows[i].text) != 0)))
      fail_msg("'%s': %s", rows[i].line, dx_code_name(code));
  }
}

static void line_with_nul_or_too_long_is_rejected(void **state)
{
  char line[DX_CHANNEL_LINE_BYTES + 1] = "line ";
  struct dx_message message;

  (void)state;
  assert_int_equal(dx_message_parse("leave\0", 6, &message, &err), DX_E_ARG);
  memset(line + 5, 'x', sizeof(line) - 5);
  assert_int_equal(
      dx_message_parse(line, DX_CHANNEL_LINE_BYTES - 1, &message, &err), DX_OK);
  assert_int_equal(
      dx_message_parse(line, DX_CHANNEL_LINE_BYTES, &message, &err), DX_E_ARG);
}

static void words_are_parsed(void **state)
{
  const char *line = "note down E_NET 1 -5 99 x text";
  struct dx_message message;
  int64_t number;

  (void)state;
  assert_int_equal(dx_message_parse(line, strlen(line), &message, &err), DX_OK);
  assert_int_equal(message.count, 6);
  assert_string_equal(message.words[0], "down");
  assert_true(dx_message_number(&message, 3, &number) && number == -5);
  assert_true(dx_message_number(&message, 4, &number) && number == 99);
  assert_false(dx_message_number(&message, 5, &number));
  assert_int_equal(
      dx_message_parse("failures 9223372036854775808 0", 30, &message, &err),
      DX_OK);
  assert_false(dx_message_number(&message, 0, &number));
  assert_int_equal(dx_message_parse("end E_NET gone", 14, &message, &err),
                   DX_OK);
  assert_int_equal(dx_message_outcome(&message, &err), DX_E_NET);
  assert_string_equal(err.text, "gone");
  assert_int_equal(dx_message_parse("end E_WHAT gone", 15, &message, &err),
                   DX_OK);
  assert_int_equal(dx_message_outcome(&message, &err), DX_E_RESPONSE);
}

/* ---- notes ---- */

static int64_t stopped_ms(void)
{
  return 1000000;
}

static void formatted_note_can_be_parsed(void **state)
{
  static const struct dx_clock stopped = {stopped_ms, stopped_ms};
  struct dx_note note = {DX_NOTE_COUNT, 7, 1LL << 40, 400000, DX_E_NET, "why"};
  struct dx_note read;
  char line[DX_CHANNEL_LINE_BYTES];
  struct dx_message message;
  bool here;
  int i;

  (void)state;
  dx_clock_use(&stopped);
  for (i = 0; i < 2 * DX_NOTE_COUNT; i++) {
    note.kind = (enum dx_note_kind)(i / 2);
    note.since_ms = i % 2 ? 400000 : 0;
    dx_note_format(&note, i % 2 != 0, line);
    assert_int_equal(dx_message_parse(line, strlen(line), &message, &err),
                     DX_OK);
    assert_int_equal(dx_note_parse(&message, &read, &here, &err), DX_OK);
    assert_int_equal(read.kind, note.kind);
    assert_int_equal(read.done, 7);
    assert_int_equal(read.total, 1LL << 40);
    assert_int_equal(read.since_ms, note.since_ms);
    assert_int_equal(read.code, DX_E_NET);
    assert_string_equal(read.text, "why");
    assert_int_equal(here, i % 2);
  }
  dx_clock_use(NULL);
}

static void note_of_another_version_is_rejected(void **state)
{
  static const char *const lines[] = {"note later OK 0 0 0 0",
                                      "note up WHAT 0 0 0 0",
                                      "note up OK 2 0 0 0",
                                      "note up OK 0 x 0 0",
                                      "note up OK 0 0 +1 0",
                                      "note up OK 0 0 0 -2",
                                      "note up OK 0 0 0 9223372036854775807"};
  struct dx_message message;
  struct dx_note note;
  bool here;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
    assert_int_equal(
        dx_message_parse(lines[i], strlen(lines[i]), &message, &err), DX_OK);
    if (dx_note_parse(&message, &note, &here, &err) != DX_E_RESPONSE)
      fail_msg("%s", lines[i]);
  }
}

/* ---- one end ---- */

/* Both ends; the second is a plain descriptor. */
static struct dx_channel open_pair(int *ret_other)
{
  struct dx_channel channel = DX_CHANNEL_NONE;
  int fds[2];

  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
  channel.fd = fds[0];
  *ret_other = fds[1];
  return channel;
}

static void incomplete_line_is_not_delivered(void **state)
{
  static const char lines[] = "alive\nline caf\xc3\xa9\nleave\n";
  struct dx_message message;
  size_t i, count = 0;
  int other;
  struct dx_channel channel = open_pair(&other);

  (void)state;
  for (i = 0; i < sizeof(lines) - 1; i++) {
    enum dx_code code;

    assert_int_equal(write(other, lines + i, 1), 1);
    code = dx_channel_read(&channel, &message, &err);
    assert_int_equal(code, lines[i] == '\n' ? DX_OK : DX_E_NOT_YET);
    count += code == DX_OK;
  }
  assert_int_equal(count, 3);
  (void)close(other);
  assert_int_equal(dx_channel_read(&channel, &message, &err), DX_E_NET);
  dx_channel_close(&channel);
}

static void truncated_line_is_rejected(void **state)
{
  static const char line[] = "end OK text";
  struct dx_message message;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(line); i++) {
    int other;
    struct dx_channel channel = open_pair(&other);

    assert_int_equal(write(other, line, i), i);
    (void)close(other);
    assert_int_equal(dx_channel_read(&channel, &message, &err), DX_E_NET);
    dx_channel_close(&channel);
  }
}

static void hostile_lines_are_rejected(void **state)
{
  static char endless[2 * DX_CHANNEL_LINE_BYTES];
  static const struct {
    const char *bytes;
    size_t len;
  } rows[] = {{"leave\0\n", 7},       {"\n", 1},
              {"leave\r\n", 7},       {"what\n", 5},
              {"line \x1b[2J\n", 10}, {endless, sizeof(endless)}};
  struct dx_message message;
  size_t i;

  (void)state;
  memset(endless, 'x', sizeof(endless));
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    int other;
    struct dx_channel channel = open_pair(&other);

    assert_int_equal(write(other, rows[i].bytes, rows[i].len), rows[i].len);
    assert_int_equal(dx_channel_read(&channel, &message, &err), DX_E_RESPONSE);
    (void)close(other);
    dx_channel_close(&channel);
  }
}

/* The longest line, with a character at its end that has to be cut. */
static void message_is_sent_as_a_line(void **state)
{
  static char text[2 * DX_CHANNEL_LINE_BYTES];
  struct dx_channel one = DX_CHANNEL_NONE, two = DX_CHANNEL_NONE;
  struct dx_message message;
  size_t i;

  (void)state;
  one = open_pair(&two.fd);
  assert_int_equal(dx_channel_send(&one, &err, "line %s", "a\nb\xff\x1b"),
                   DX_OK);
  assert_int_equal(dx_channel_read(&two, &message, &err), DX_OK);
  assert_string_equal(message.text, "a?b??");
  for (i = 0; i + 2 < sizeof(text); i += 2)
    memcpy(text + i, "\xc3\xa9", 2);
  assert_int_equal(dx_channel_send(&one, &err, "line %s", text), DX_OK);
  assert_int_equal(dx_channel_read(&two, &message, &err), DX_OK);
  assert_true(dx_utf8_is_plain(message.text));
  assert_in_range(strlen(message.text), DX_CHANNEL_LINE_BYTES - 8,
                  DX_CHANNEL_LINE_BYTES - 6);
  dx_channel_close(&one);
  dx_channel_close(&two);
}

static void slow_reader_gets_everything_or_is_disconnected(void **state)
{
  struct dx_channel one = DX_CHANNEL_NONE, two = DX_CHANNEL_NONE;
  struct dx_message message;
  int64_t number;
  int i, sent = 0;

  (void)state;
  one = open_pair(&two.fd);
  while (dx_channel_send(&one, &err, "failures %d 0", sent) == DX_OK)
    sent++;
  assert_int_equal(err.code, DX_E_NET);
  assert_true(one.out.len > 0);
  assert_in_range(one.out.len, 1, DX_CHANNEL_BACKLOG_BYTES);
  for (i = 0; i < sent; i++) {
    if (dx_channel_read(&two, &message, &err) == DX_E_NOT_YET) {
      dx_channel_flush(&one);
      assert_int_equal(dx_channel_read(&two, &message, &err), DX_OK);
    }
    assert_true(dx_message_number(&message, 0, &number) && number == i);
  }
  assert_false(one.out.len > 0);
  dx_channel_close(&one);
  dx_channel_close(&two);
}

static void received_lines_are_read_after_a_failed_send(void **state)
{
  struct dx_message message;
  int other;
  struct dx_channel channel = open_pair(&other);

  (void)state;
  assert_int_equal(write(other, "error E_ARG no\n", 15), 15);
  (void)close(other);
  assert_int_equal(dx_channel_send(&channel, &err, "leave"), DX_OK);
  assert_false(channel.out.len > 0);
  assert_int_equal(dx_channel_read(&channel, &message, &err), DX_OK);
  assert_int_equal(message.verb, DX_VERB_ERROR);
  dx_channel_close(&channel);
}

/* ---- greetings ---- */

/* A docextractd that sends these bytes and closes. */
static enum dx_code open_to(const char *bytes, size_t len,
                            struct dx_channel *channel)
{
  int dirfd = dx_fs_open_dir(AT_FDCWD, dir, &err), listen_fd, status;
  struct sockaddr_un address;
  enum dx_code code;
  pid_t child;

  listen_fd = socket(AF_UNIX, SOCK_STREAM, 0);
  dx_channel_address(dirfd, DX_CHANNEL_NAME, &address);
  assert_int_equal(
      bind(listen_fd, (struct sockaddr *)&address, sizeof(address)), 0);
  assert_int_equal(listen(listen_fd, 1), 0);
  child = fork();
  if (child == 0) {
    int fd = accept(listen_fd, NULL, NULL);

    _exit(fd < 0 || write(fd, bytes, len) != (ssize_t)len);
  }
  code = dx_channel_open(dirfd, dir, channel, &err);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  (void)close(listen_fd);
  (void)unlinkat(dirfd, DX_CHANNEL_NAME, 0);
  (void)close(dirfd);
  return code;
}

static enum dx_code open_to_text(const char *text, struct dx_channel *channel)
{
  enum dx_code code = open_to(text, strlen(text), channel);

  if (code != DX_OK)
    assert_int_equal(channel->fd, -1);
  return code;
}

static void greeting_is_parsed(void **state)
{
  struct dx_channel channel;

  (void)state;
  assert_int_equal(open_to_text("docextractd 2 9.9\n", &channel), DX_OK);
  dx_channel_close(&channel);
}

static void truncated_greeting_means_that_the_server_exits(void **state)
{
  static const char greeting[] = "docextractd 2 9.9";
  struct dx_channel channel;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(greeting); i++)
    assert_int_equal(open_to(greeting, i, &channel), DX_E_BUSY);
}

static void other_version_is_reported(void **state)
{
  struct dx_channel channel;

  (void)state;
  assert_int_equal(open_to_text("docextractd 1 9.9 service\n", &channel),
                   DX_E_STATE);
  assert_non_null(strstr(err.text, "9.9"));
  assert_non_null(strstr(err.text, PACKAGE_VERSION));
  assert_int_equal(open_to_text("docextractd 0 0.1\n", &channel), DX_E_STATE);
  assert_int_equal(open_to_text("docextractd 3 8 and more\n", &channel),
                   DX_E_STATE);
}

static void invalid_greeting_is_rejected(void **state)
{
  static char endless[DX_CHANNEL_LINE_BYTES + 1];
  struct dx_channel channel;

  (void)state;
  assert_int_equal(open_to_text("220 mail\n", &channel), DX_E_RESPONSE);
  assert_int_equal(open_to_text("docextractd 2\n", &channel), DX_E_RESPONSE);
  assert_int_equal(open_to_text("docextractd two 9.9\n", &channel),
                   DX_E_RESPONSE);
  memset(endless, 'x', sizeof(endless) - 1);
  assert_int_equal(open_to_text(endless, &channel), DX_E_RESPONSE);
}

static void refusal_is_passed_on(void **state)
{
  struct dx_channel channel;

  (void)state;
  assert_int_equal(open_to_text("error E_CONFIG line 3\n", &channel),
                   DX_E_CONFIG);
  assert_string_equal(err.text, "line 3");
}

static void missing_server_is_reported(void **state)
{
  int dirfd = dx_fs_open_dir(AT_FDCWD, dir, &err);
  struct dx_channel channel;

  (void)state;
  assert_int_equal(dx_channel_open(dirfd, dir, &channel, &err), DX_E_NOT_FOUND);
  (void)close(dirfd);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(only_lines_of_the_tables_are_accepted),
      cmocka_unit_test(line_with_nul_or_too_long_is_rejected),
      cmocka_unit_test(words_are_parsed),
      cmocka_unit_test(formatted_note_can_be_parsed),
      cmocka_unit_test(note_of_another_version_is_rejected),
      cmocka_unit_test(incomplete_line_is_not_delivered),
      cmocka_unit_test(truncated_line_is_rejected),
      cmocka_unit_test(hostile_lines_are_rejected),
      cmocka_unit_test(message_is_sent_as_a_line),
      cmocka_unit_test(slow_reader_gets_everything_or_is_disconnected),
      cmocka_unit_test(received_lines_are_read_after_a_failed_send),
      cmocka_unit_test(greeting_is_parsed),
      cmocka_unit_test(truncated_greeting_means_that_the_server_exits),
      cmocka_unit_test(other_version_is_reported),
      cmocka_unit_test(invalid_greeting_is_rejected),
      cmocka_unit_test(refusal_is_passed_on),
      cmocka_unit_test(missing_server_is_reported),
  };

  return cmocka_run_group_tests(tests, setup, teardown);
}
