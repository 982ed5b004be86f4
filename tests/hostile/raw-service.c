/*
 * raw-service.c - a service that sends what no HTTP library can be made to
 * send: headers without end, lengths that lie, half a response. By default it
 * is a service that completes every source at once.
 *
 * usage: raw-service READY-FILE LOG [CALL:NTH=WORD]...
 *
 * The port is written to READY-FILE, the method and path of each request to
 * LOG, one line each. CALL is create, put, source, extract or hello; NTH counts
 * calls of that kind from 1, "*" means all. WORD is a row of the table at the
 * end of this file. One process serves each connection.
 */
#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define REQUEST_BYTES 65536
#define SOURCES_MAX 1000
#define CASES_MAX 20000
#define NUMBERS_BYTES 60000000
#define TRICKLE_BYTES 512 /* each second */

enum call { CREATE, PUT, SOURCE, EXTRACT, HELLO, OTHER, CALL_COUNT };

static const char *const call_words[] = {"create", "put", "source", "extract",
                                         "hello"};

/* What all connections share. */
static struct shared {
  atomic_uint counts[CALL_COUNT];
  atomic_uint sources;
  atomic_bool is_uploaded[SOURCES_MAX];
} * shared;

static int port;
static int log_fd;
static char **rules;

/* A connection and its current request. */
static struct request {
  int fd;
  enum call call;
  unsigned nth;
  unsigned source;
  char text[REQUEST_BYTES];
  char good[CASES_MAX * 24]; /* the body of the right response */
  int status;
} r;

/* ---- sending ---- */

static void send_bytes(const char *bytes, size_t len)
{
  while (len > 0) {
    ssize_t n = write(r.fd, bytes, len);

    if (n <= 0)
      exit(0); /* the client has had enough */
    bytes += n;
    len -= (size_t)n;
  }
}

static void send_text(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
static void send_text(const char *format, ...)
{
  char text[4096];
  va_list args;

  va_start(args, format);
  (void)vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  send_bytes(text, strlen(text));
}

static void send_status(void)
{
  send_text("HTTP/1.1 %d X\r\nContent-Type: application/json\r\n", r.status);
}

static void send_good(void)
{
  send_status();
  send_text("Content-Length: %zu\r\n\r\n", strlen(r.good));
  send_bytes(r.good, strlen(r.good));
}

/* The right body behind these headers, then the end of the connection. */
static void send_behind(const char *headers)
{
  send_status();
  send_text("%s\r\n\r\n", headers);
  send_bytes(r.good, strlen(r.good));
  exit(0);
}

static void send_forever(const char *text)
{
  for (;;)
    send_bytes(text, strlen(text));
}

static void wait_ms(long ms)
{
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000};

  (void)nanosleep(&time, NULL);
}

static void send_slowly(const char *text, long pause_ms)
{
  for (; *text != '\0'; text++) {
    send_bytes(text, 1);
    wait_ms(pause_ms);
  }
}

/* ---- what goes wrong ---- */

static void headers(const char *arg)
{
  (void)arg;
  send_status();
  send_forever("X-Filler: 0123456789012345678901234567890123456789\r\n");
}

static void header(const char *arg)
{
  (void)arg;
  send_status();
  send_text("X-Filler: ");
  send_forever("0123456789");
}

static void interim(const char *arg)
{
  (void)arg;
  send_forever("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n");
}

static void early(const char *arg)
{
  (void)arg;
  send_text("HTTP/1.1 100 Continue\r\n\r\n");
  send_text("HTTP/1.1 103 Early Hints\r\nDate: Thu, 01 Jan 2099 00:00:00 "
            "GMT\r\nRetry-After: 3600\r\n\r\n");
  send_good();
}

static void trailers(const char *arg)
{
  (void)arg;
  send_status();
  send_text("Transfer-Encoding: chunked\r\n\r\n%zx\r\n%s\r\n0\r\n",
            strlen(r.good), r.good);
  send_forever("X-Filler: 0123456789\r\n");
}

static void chunk(const char *arg)
{
  send_status();
  send_text("Transfer-Encoding: chunked\r\n\r\n%s\r\n%s", arg, r.good);
  exit(0);
}

static void raw(const char *arg)
{
  send_text("%s\r\n\r\n", arg);
  send_bytes(r.good, strlen(r.good));
  exit(0);
}

static void nul(const char *arg)
{
  static const char bytes[] = "X-Nul: a\0b\r\nContent-Length: 0\r\n\r\n";

  (void)arg;
  send_status();
  send_bytes(bytes, sizeof(bytes) - 1);
}

static void reset(const char *arg)
{
  const struct linger now = {1, 0};

  (void)arg;
  send_status();
  send_text("Content-Length: 1000\r\n\r\n{");
  (void)setsockopt(r.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  (void)close(r.fd);
  exit(0);
}

static void redirect(const char *arg)
{
  send_text("HTTP/1.1 %s X\r\nLocation: http://127.0.0.1:%d/trap\r\n"
            "Content-Length: 0\r\n\r\n",
            arg, port);
}

static void status(const char *arg)
{
  send_text("HTTP/1.1 %s X\r\nContent-Length: 0\r\n\r\n", arg);
}

static void date(const char *arg)
{
  send_text("HTTP/1.1 401 X\r\nDate: %s\r\nContent-Length: 0\r\n\r\n", arg);
}

static void drip(const char *arg)
{
  char text[4096];

  (void)arg;
  (void)snprintf(text, sizeof(text),
                 "HTTP/1.1 %d X\r\nContent-Length: %zu\r\n\r\n%.2000s",
                 r.status, strlen(r.good), r.good);
  send_slowly(text, 1000);
}

/* The headers come at once. Less than one byte a second would be a stall to
 * libcurl, and on a busy machine a second is longer than one. */
static void drip_body(const char *arg)
{
  (void)arg;
  send_status();
  send_text("Content-Length: %zu\r\n\r\n", strlen(r.good));
  send_slowly(r.good, 500);
}

/* The document was read just as slowly, see read_body(). */
static void trickle(const char *arg)
{
  (void)arg;
  send_good();
}

/* The document was not read, see serve(). Unread bytes would make the kernel
 * reset the connection, and the response could be lost: the client ends first.
 */
static void hasty(const char *arg)
{
  struct pollfd end = {.fd = r.fd, .events = POLLRDHUP};

  (void)arg;
  send_status();
  send_text("Connection: close\r\nContent-Length: 0\r\n\r\n");
  (void)shutdown(r.fd, SHUT_WR);
  (void)poll(&end, 1, -1);
  exit(0);
}

/* A complete result, nothing but small numbers. */
static void numbers(const char *arg)
{
  static const char begin[] = "{\"results\":{\"status\":\"complete\",\"n\":[";
  char block[6000];
  size_t i;

  (void)arg;
  for (i = 0; i < sizeof(block); i += 2)
    memcpy(block + i, "1,", 2);
  send_status();
  send_text("Content-Length: %zu\r\n\r\n%s",
            sizeof(begin) - 1 + NUMBERS_BYTES + 4, begin);
  for (i = 0; i < NUMBERS_BYTES / sizeof(block); i++)
    send_bytes(block, sizeof(block));
  send_text("1]}}");
}

static void deep(const char *arg)
{
  (void)arg;
  send_status();
  send_text("\r\n");
  send_forever("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[");
}

static void body(const char *arg)
{
  (void)snprintf(r.good, sizeof(r.good), "%s", arg);
  send_good();
}

static void odd_source(const char *arg)
{
  (void)snprintf(r.good, sizeof(r.good),
                 "{\"results\":{\"id\":\"../../%s/odd-%u\\u001b[2J\\u202e\\n\","
                 "\"upload_urls\":[{\"url\":\"http://127.0.0.1:%d/up/%u\"}]}}",
                 arg, r.source, port, r.source);
  send_good();
}

static void cases(const char *arg)
{
  size_t len = 0;
  int i, count = atoi(arg);

  len += (size_t)snprintf(r.good, sizeof(r.good),
                          "{\"results\":{\"status\":\"complete\",\"case_ids\":["
                          "\"C0\"");
  for (i = 1; i < count; i++)
    len += (size_t)snprintf(r.good + len, sizeof(r.good) - len, ",\"C%d\"", i);
  (void)snprintf(r.good + len, sizeof(r.good) - len, "]}}");
  send_good();
}

static const struct {
  const char *word; /* what follows a ':' is the argument */
  void (*send)(const char *arg);
} table[] = {
    {"headers", headers}, {"header", header},     {"interim", interim},
    {"early", early},     {"trailers", trailers}, {"behind", send_behind},
    {"chunk", chunk},     {"raw", raw},           {"nul", nul},
    {"reset", reset},     {"redirect", redirect}, {"status", status},
    {"date", date},       {"drip", drip},         {"drip-body", drip_body},
    {"trickle", trickle}, {"hasty", hasty},       {"numbers", numbers},
    {"deep", deep},       {"body", body},         {"odd-source", odd_source},
    {"cases", cases},
};

/* ---- what is right ---- */

static void make_create(void)
{
  const char *at = r.text;
  size_t len;
  unsigned i;

  r.source = atomic_fetch_add(&shared->sources, 1) + 1;
  if (r.source >= SOURCES_MAX)
    errx(1, "too many sources");
  r.status = 201;
  len = (size_t)snprintf(r.good, sizeof(r.good),
                         "{\"results\":{\"id\":\"S%u\",\"upload_urls\":[",
                         r.source);
  for (i = 0; (at = strstr(at, "content_type")) != NULL; at++, i++)
    len += (size_t)snprintf(r.good + len, sizeof(r.good) - len,
                            "%s{\"url\":\"http://127.0.0.1:%d/up/%u\"}",
                            i > 0 ? "," : "", port, r.source);
  (void)snprintf(r.good + len, sizeof(r.good) - len, "]}}");
}

static void make_source(void)
{
  if (shared->is_uploaded[r.source])
    (void)snprintf(r.good, sizeof(r.good),
                   "{\"results\":{\"status\":\"complete\",\"case_ids\":["
                   "\"C%u\"]}}",
                   r.source);
  else
    (void)snprintf(r.good, sizeof(r.good),
                   "{\"results\":{\"status\":\"pending_upload\","
                   "\"expected_file_count\":1,\"uploaded_file_count\":0}}");
}

static void make_good(void)
{
  r.status = 200;
  r.good[0] = '\0';
  switch (r.call) {
  case CREATE:
    make_create();
    break;
  case PUT:
    shared->is_uploaded[r.source] = true;
    break;
  case SOURCE:
    make_source();
    break;
  case EXTRACT:
    (void)snprintf(r.good, sizeof(r.good),
                   "%200s{\"results\":{\"status\":\"complete\"}}", "");
    break;
  case HELLO:
    (void)snprintf(r.good, sizeof(r.good),
                   "{\"results\":{\"auth_info\":\"Hello\"}}");
    break;
  default:
    r.status = 404;
  }
}

/* ---- requests ---- */

static bool begins(const char *prefix)
{
  return strncmp(r.text, prefix, strlen(prefix)) == 0;
}

/* The number of the source, in the path: its id and URL end with it. */
static unsigned source_number(void)
{
  const char *line_end = r.text + strcspn(r.text, "\r");
  const char *odd = strstr(r.text, "odd-"), *last = strrchr(r.text, '/');
  char path[4096];

  if (odd != NULL && odd < line_end)
    return (unsigned)atoi(odd + 4) % SOURCES_MAX;
  (void)snprintf(path, sizeof(path), "%.*s",
                 (int)(strcspn(strchr(r.text, ' ') + 1, " ")),
                 strchr(r.text, ' ') + 1);
  last = strrchr(path, '/');
  last = last != NULL ? last + 1 : "";
  return (unsigned)atoi(last + (*last == 'S')) % SOURCES_MAX;
}

static enum call read_call(void)
{
  if (begins("POST /v1/source "))
    return CREATE;
  if (begins("PUT /up/"))
    return PUT;
  if (begins("GET /v1/source/"))
    return SOURCE;
  if (begins("GET /v1/patient_case/"))
    return EXTRACT;
  return begins("POST /auth/hello ") ? HELLO : OTHER;
}

static void log_request(void)
{
  size_t len = strcspn(r.text, "\r");
  char line[8192];

  len = (size_t)snprintf(line, sizeof(line), "%.*s\n", (int)len, r.text);
  (void)!write(log_fd, line, len);
}

static ssize_t read_some(char *to, size_t room)
{
  ssize_t n = read(r.fd, to, room);

  if (n <= 0)
    exit(0);
  return n;
}

/* Reads the headers into r.text, with what came of the body; returns the
 * length of both. */
static size_t read_head(void)
{
  const char *end = NULL;
  size_t len = 0;

  memset(r.text, 0, sizeof(r.text));
  while (end == NULL && len < sizeof(r.text) - 1) {
    len += (size_t)read_some(r.text + len, sizeof(r.text) - 1 - len);
    end = strstr(r.text, "\r\n\r\n");
  }
  return len;
}

/* Keeps what fits in r.text. */
static void read_body(size_t len, bool slowly)
{
  const char *end = strstr(r.text, "\r\n\r\n");
  const char *length = strcasestr(r.text, "\r\nContent-Length:");
  size_t head = end != NULL ? (size_t)(end - r.text) + 4 : len;
  size_t rest = length != NULL ? strtoul(length + 17, NULL, 10) : 0;
  char sink[TRICKLE_BYTES];

  for (rest -= len - head < rest ? len - head : rest; rest > 0;) {
    bool fits = len + rest < sizeof(r.text);
    size_t n =
        (size_t)read_some(fits ? r.text + len : sink,
                          fits || rest < sizeof(sink) ? rest : sizeof(sink));

    len += fits ? n : 0;
    rest -= n;
    if (slowly)
      wait_ms(1000);
  }
}

/* The rule for this call, after its '='; NULL if there is none. */
static const char *find_rule(void)
{
  char **rule;

  for (rule = rules; r.call != OTHER && *rule != NULL; rule++) {
    size_t len = strlen(call_words[r.call]);
    const char *nth = *rule + len + 1;

    if (strncmp(*rule, call_words[r.call], len) == 0 && (*rule)[len] == ':' &&
        (*nth == '*' || (unsigned)atoi(nth) == r.nth))
      return strchr(nth, '=') + 1;
  }
  return NULL;
}

static void respond(const char *rule)
{
  size_t i, len = rule != NULL ? strcspn(rule, ":") : 0;

  for (i = 0; rule != NULL && i < sizeof(table) / sizeof(table[0]); i++)
    if (strlen(table[i].word) == len &&
        strncmp(table[i].word, rule, len) == 0) {
      table[i].send(rule[len] == ':' ? rule + len + 1 : "");
      return;
    }
  if (rule != NULL)
    errx(1, "unknown: %s", rule);
  send_good();
}

static void serve(void)
{
  for (;;) {
    size_t len = read_head();
    const char *rule;

    r.call = read_call();
    r.nth = atomic_fetch_add(&shared->counts[r.call], 1) + 1;
    rule = find_rule();
    if (rule == NULL || strcmp(rule, "hasty") != 0)
      read_body(len, rule != NULL && strcmp(rule, "trickle") == 0);
    log_request();
    r.source = source_number();
    make_good();
    respond(rule);
  }
}

/* ---- connections ---- */

/* Or the kernels would pass on some MB of a document at once. */
static void make_small(int fd)
{
  static const int segment = 536, buffer = 2 * TRICKLE_BYTES;

  if (setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof(segment)) < 0 ||
      setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer)) < 0)
    err(1, "setsockopt");
}

static int listen_here(void)
{
  struct sockaddr_in at = {.sin_family = AF_INET,
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t len = sizeof(at);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

  if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) < 0 ||
      listen(fd, 64) < 0 || getsockname(fd, (struct sockaddr *)&at, &len) < 0)
    err(1, "listen");
  port = ntohs(at.sin_port);
  return fd;
}

/* Whoever sees the file sees all of it. */
static void announce(const char *path)
{
  char temp[4096];
  FILE *file;

  (void)snprintf(temp, sizeof(temp), "%s.new", path);
  file = fopen(temp, "w");
  if (file == NULL || fprintf(file, "%d\n", port) < 0 || fclose(file) != 0 ||
      rename(temp, path) < 0)
    err(1, "%s", path);
}

int main(int argc, char **argv)
{
  pid_t parent = getpid();
  int fd = listen_here(), i;

  if (argc < 3)
    errx(64, "usage: raw-service READY-FILE LOG [CALL:NTH=WORD]...");
  rules = argv + 3;
  for (i = 0; rules[i] != NULL; i++)
    if (strstr(rules[i], "=trickle") != NULL ||
        strstr(rules[i], "=hasty") != NULL)
      make_small(fd);
  shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  log_fd = open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (shared == MAP_FAILED || log_fd < 0)
    err(1, "start");
  (void)signal(SIGPIPE, SIG_IGN);
  (void)signal(SIGCHLD, SIG_IGN);
  announce(argv[1]);
  for (;;) {
    r.fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    if (r.fd >= 0 && fork() == 0) {
      (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() == parent)
        serve();
      _exit(0);
    }
    (void)close(r.fd);
  }
}
