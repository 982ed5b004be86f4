/*
 * main.c - docextract-sim, a simulator of the Document Extraction Service.
 *
 * Starts both ports, prints their URLs, waits for SIGTERM or SIGINT, and stops.
 */
#include "sim/sim.h"

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/crypto.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#define CONNECTIONS_MAX 1500u
#define IDLE_S 300u
#define THREAD_STACK_BYTES ((size_t)512 << 10)
#define OPEN_FILES 8192u

struct listener {
  struct MHD_Daemon *daemon;
  char url[64];
};

struct sim_service sim_service = {.log_fd = -1, .stop_fd = -1};
static struct listener api;
static struct listener storage;

/* Creates the directory for uploaded files. Returns its absolute path. */
static char *open_data_dir(const char *dir)
{
  const char *top = getenv("TMPDIR");
  char *path = NULL;

  if (dir == NULL)
    path = mkdtemp(sim_text("%s/docextract-sim.XXXXXX",
                            top != NULL && *top == '/' ? top : "/tmp"));
  else if (mkdir(dir, 0700) == 0 || errno == EEXIST)
    path = realpath(dir, NULL);
  if (path == NULL)
    err(EX_UNAVAILABLE, "cannot create '%s'",
        dir == NULL ? "a temporary directory" : dir);
  return path;
}

/* cls: not NULL for the object storage. */
static void listen_on(struct listener *l, void *cls, int64_t number, char *cert,
                      char *key)
{
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)number),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
  unsigned flags = MHD_USE_THREAD_PER_CONNECTION |
                   MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
                   MHD_USE_SUPPRESS_DATE_NO_CLOCK |
                   (cert == NULL ? 0 : MHD_USE_TLS);
  struct MHD_OptionItem tls[] = {
      {MHD_OPTION_HTTPS_MEM_CERT, 0, cert},
      {MHD_OPTION_HTTPS_MEM_KEY, 0, key},
      {MHD_OPTION_END, 0, NULL},
  };

  l->daemon = MHD_start_daemon(
      flags, 0, sim_fault_accept, cls, sim_request_handle, cls,
      MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_NOTIFY_COMPLETED,
      sim_request_completed, NULL, MHD_OPTION_URI_LOG_CALLBACK,
      sim_request_begin, cls, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
      MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_THREAD_STACK_SIZE,
      THREAD_STACK_BYTES, MHD_OPTION_ARRAY, cert == NULL ? tls + 2 : tls,
      MHD_OPTION_END);
  if (l->daemon == NULL)
    errx(EX_UNAVAILABLE, "cannot listen on port %lld; choose a free port%s",
         (long long)number,
         cert == NULL ? "" : ", and check --tls-cert and --tls-key");
  (void)snprintf(
      l->url, sizeof(l->url), "%s://127.0.0.1:%u",
      cert == NULL ? "http" : "https",
      MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
}

/* The paths are NULL without TLS. */
static void start_port(struct listener *l, void *cls, int64_t number,
                       const char *cert_path, const char *key_path)
{
  char *cert = NULL, *key = NULL;
  size_t len;

  if (cert_path != NULL) {
    cert = sim_read_file(cert_path, &len);
    key = sim_read_file(key_path, &len);
  }
  listen_on(l, cls, number, cert, key);
  free(cert);
  free(key);
}

static void start_ports(void)
{
  const struct sim_options *o = &sim_service.options;
  bool has_own = o->storage_tls != NULL;

  start_port(&storage, &storage, o->storage_port,
             has_own ? o->storage_tls : o->tls_cert,
             has_own ? o->storage_tls : o->tls_key);
  sim_service.storage_url = storage.url;
  start_port(&api, NULL, o->api_port, o->tls_cert, o->tls_key);
}

/* Prints the URLs. The ready file is renamed into place when it is complete. */
static void report_ready(const char *path)
{
  char *tmp = path == NULL ? NULL : sim_text("%s.new", path);
  FILE *file = path == NULL ? stdout : fopen(tmp, "we");

  if (file == NULL ||
      fprintf(file, "api %s\nstorage %s\npid %ld\n", api.url, storage.url,
              (long)getpid()) < 0 ||
      (path == NULL ? fflush(file) : fclose(file)) != 0 ||
      (path != NULL && rename(tmp, path) != 0))
    err(EX_UNAVAILABLE, "cannot write '%s'",
        path == NULL ? "standard output" : path);
  free(tmp);
}

/* When the program exits. */
static void stop_ports(void)
{
  const struct sim_options *o = &sim_service.options;
  const struct dirent *entry;
  DIR *dir;

  if (o->ready_file != NULL && api.daemon != NULL)
    (void)unlink(o->ready_file);
  if (sim_service.stop_fd >= 0)
    (void)eventfd_write(sim_service.stop_fd, 1); /* ends all waits */
  if (api.daemon != NULL)
    MHD_stop_daemon(api.daemon);
  if (storage.daemon != NULL)
    MHD_stop_daemon(storage.daemon);
  if (sim_service.data_dir == NULL || o->data_dir != NULL)
    return;
  dir = opendir(sim_service.data_dir);
  while (dir != NULL && (entry = readdir(dir)) != NULL)
    (void)unlinkat(dirfd(dir), entry->d_name, 0);
  if (dir != NULL)
    (void)closedir(dir);
  (void)rmdir(sim_service.data_dir);
}

int main(int argc, char **argv)
{
  const struct sim_options *o = &sim_service.options;
  struct rlimit files;
  sigset_t signals;
  int unused;

  sim_options_parse(argc, argv, &sim_service.options);
  /* Only main() handles signals; threads inherit the mask. */
  (void)signal(SIGPIPE, SIG_IGN);
  (void)sigemptyset(&signals);
  (void)sigaddset(&signals, SIGTERM);
  (void)sigaddset(&signals, SIGINT);
  (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
  /* Each connection needs two descriptors; the usual 1024 are not enough. */
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < OPEN_FILES) {
    files.rlim_cur = files.rlim_max < OPEN_FILES ? files.rlim_max : OPEN_FILES;
    (void)setrlimit(RLIMIT_NOFILE, &files);
  }
  /* Requests use OpenSSL until stop_ports() has ended them. */
  (void)OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
  sim_service.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (o->log_file != NULL &&
      (sim_service.log_fd = open(
           o->log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) < 0)
    err(EX_UNAVAILABLE, "cannot open '%s'", o->log_file);
  if (sim_service.stop_fd < 0)
    err(EX_UNAVAILABLE, "cannot start");
  sim_script_check();
  sim_token_load();
  sim_service.data_dir = open_data_dir(o->data_dir);
  (void)atexit(stop_ports);
  start_ports();
  report_ready(o->ready_file);
  (void)sigwait(&signals, &unused);
  return EX_OK;
}
