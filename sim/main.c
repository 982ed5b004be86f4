/*
 * main.c - docextract-sim: a stand-in for the Document Extraction Service.
 *
 * Starts everything, says where it listens, waits for SIGTERM or SIGINT, and
 * ends everything in the reverse order.
 */
#include "sim/api.h"
#include "sim/file.h"
#include "sim/net.h"
#include "sim/storage.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <unistd.h>

#define PEM_BYTES_MAX (1u << 20)
#define CONNECTIONS_MAX 1500u
#define IDLE_S 300u
#define THREAD_STACK_BYTES ((size_t)512 << 10)
#define OPEN_FILES 8192u

struct program {
  struct sim_options options;
  struct sim_service service;
  struct sim_socket api_socket;
  struct sim_socket storage_socket;
  struct sim_listener api;
  struct sim_listener storage;
  struct MHD_Daemon *api_daemon;
  struct MHD_Daemon *storage_daemon;
  char *data_dir;
  char *cert;
  char *key;
  bool ready;
};

/* Signals are taken in main() alone; threads inherit the mask. */
static void set_signals(sigset_t *ret)
{
  (void)signal(SIGPIPE, SIG_IGN);
  (void)sigemptyset(ret);
  (void)sigaddset(ret, SIGTERM);
  (void)sigaddset(ret, SIGINT);
  (void)pthread_sigmask(SIG_BLOCK, ret, NULL);
}

/* Two descriptors a connection; the usual 1024 are not enough. */
static void raise_file_limit(void)
{
  struct rlimit r;

  if (getrlimit(RLIMIT_NOFILE, &r) != 0 || r.rlim_cur >= OPEN_FILES)
    return;
  r.rlim_cur = r.rlim_max < OPEN_FILES ? r.rlim_max : OPEN_FILES;
  (void)setrlimit(RLIMIT_NOFILE, &r);
}

static bool load_tls(struct program *p)
{
  size_t len;

  if (p->options.tls_cert == NULL)
    return true;
  p->cert = sim_file_read(p->options.tls_cert, PEM_BYTES_MAX, &len);
  p->key = sim_file_read(p->options.tls_key, PEM_BYTES_MAX, &len);
  return p->cert != NULL && p->key != NULL;
}

static bool listen_both(struct program *p)
{
  const struct sim_options *o = &p->options;
  bool tls = o->tls_cert != NULL;

  return sim_net_listen(o->bind_address, (uint16_t)o->api_port, tls,
                        &p->api_socket) &&
         sim_net_listen(o->bind_address, (uint16_t)o->storage_port, tls,
                        &p->storage_socket);
}

static bool make_service(struct program *p)
{
  struct sim_service *s = &p->service;

  s->options = &p->options;
  s->storage_url = p->storage_socket.url;
  s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  p->data_dir = sim_dir_open(p->options.data_dir);
  s->data_dir = p->data_dir;
  if (s->stop_fd < 0 || s->data_dir == NULL || !sim_sign_init(&s->signer))
    return false;
  s->rate = sim_rate_new(p->options.rate);
  s->log = sim_log_new(p->options.log_file);
  s->faults = sim_faults_new(p->options.faults_file);
  s->token = sim_token_new(&p->options);
  if (s->rate == NULL || s->log == NULL || s->faults == NULL ||
      s->token == NULL)
    return false;
  s->store = sim_store_new(&p->options, s->data_dir, s->stop_fd);
  return s->store != NULL;
}

static struct MHD_Daemon *start_port(struct program *p, struct sim_socket *at,
                                     struct sim_listener *listener)
{
  unsigned flags = MHD_USE_THREAD_PER_CONNECTION |
                   MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
                   MHD_USE_SUPPRESS_DATE_NO_CLOCK |
                   (p->cert == NULL ? 0 : MHD_USE_TLS);
  struct MHD_OptionItem tls[] = {
      {MHD_OPTION_HTTPS_MEM_CERT, 0, p->cert},
      {MHD_OPTION_HTTPS_MEM_KEY, 0, p->key},
      {MHD_OPTION_END, 0, NULL},
  };
  struct MHD_Daemon *daemon;

  listener->service = &p->service;
  daemon = MHD_start_daemon(
      flags, 0, NULL, NULL, sim_http_handle, listener, MHD_OPTION_LISTEN_SOCKET,
      at->fd, MHD_OPTION_NOTIFY_COMPLETED, sim_http_completed, NULL,
      MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
      MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_THREAD_STACK_SIZE,
      THREAD_STACK_BYTES, MHD_OPTION_ARRAY, p->cert == NULL ? tls + 2 : tls,
      MHD_OPTION_END);
  if (daemon != NULL)
    at->fd = -1; /* the daemon closes it */
  return daemon;
}

static bool start_ports(struct program *p)
{
  p->api.port = &sim_api_port;
  p->storage.port = &sim_storage_port;
  p->storage_daemon = start_port(p, &p->storage_socket, &p->storage);
  if (p->storage_daemon != NULL)
    p->api_daemon = start_port(p, &p->api_socket, &p->api);
  if (p->api_daemon != NULL)
    return true;
  (void)fprintf(stderr, "docextract-sim: cannot start the server%s\n",
                p->cert == NULL ? "" : "; is the certificate good?");
  return false;
}

static bool tell_ready(struct program *p)
{
  char *text = NULL;
  bool told = true;

  if (p->options.ready_file == NULL)
    return printf("api %s\nstorage %s\n", p->api_socket.url,
                  p->storage_socket.url) > 0 &&
           fflush(stdout) == 0;
  if (asprintf(&text, "api %s\nstorage %s\npid %ld\n", p->api_socket.url,
               p->storage_socket.url, (long)getpid()) < 0)
    return false;
  told = sim_file_replace(p->options.ready_file, text);
  free(text);
  p->ready = told;
  return told;
}

static void stop(struct program *p)
{
  struct sim_service *s = &p->service;

  if (p->ready)
    (void)unlink(p->options.ready_file);
  if (s->stop_fd >= 0)
    (void)eventfd_write(s->stop_fd, 1); /* ends whatever waits */
  if (p->api_daemon != NULL)
    MHD_stop_daemon(p->api_daemon);
  if (p->storage_daemon != NULL)
    MHD_stop_daemon(p->storage_daemon);
  sim_store_free(s->store);
  sim_token_free(s->token);
  sim_faults_free(s->faults);
  sim_log_free(s->log);
  sim_rate_free(s->rate);
  sim_net_close(&p->api_socket);
  sim_net_close(&p->storage_socket);
  if (s->stop_fd >= 0)
    (void)close(s->stop_fd);
  if (p->data_dir != NULL && p->options.data_dir == NULL)
    sim_dir_remove(p->data_dir);
  free(p->data_dir);
  free(p->cert);
  free(p->key);
}

int main(int argc, char **argv)
{
  struct program p = {.api_socket = {-1, NULL},
                      .storage_socket = {-1, NULL},
                      .service = {.stop_fd = -1}};
  int status = EX_UNAVAILABLE;
  sigset_t signals;
  int got;

  switch (sim_options_parse(argc, argv, &p.options)) {
  case SIM_PARSE_RUN:
    break;
  case SIM_PARSE_DONE:
    return EXIT_SUCCESS;
  case SIM_PARSE_WRONG:
    return EX_USAGE;
  }
  set_signals(&signals);
  raise_file_limit();
  if (load_tls(&p) && listen_both(&p) && make_service(&p) && start_ports(&p) &&
      tell_ready(&p)) {
    (void)sigwait(&signals, &got);
    status = EXIT_SUCCESS;
  }
  stop(&p);
  return status;
}
