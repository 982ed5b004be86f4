/*
 * id.c - sortable identifiers: ULIDs, 26 characters of Crockford's base32.
 */
#include "sim/id.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last_ms;
static uint64_t high; /* the upper 16 of the 80 random bits */
static uint64_t low;  /* the lower 64 */

static uint64_t wall_ms(void)
{
  struct timespec ts;

  (void)clock_gettime(CLOCK_REALTIME, &ts);
  return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void draw_random(void)
{
  uint64_t r[2] = {0, 0};

  (void)!getrandom(r, sizeof(r), 0);
  high = r[0] & 0x7fff; /* the top bit stays free: adding cannot overflow */
  low = r[1];
}

static void step(void)
{
  uint64_t now = wall_ms();

  if (now > last_ms) {
    last_ms = now;
    draw_random();
  } else if (++low == 0) {
    high++;
  }
}

/* Writes the lowest 5 * n bits of `value`. */
static void write_bits(uint64_t value, size_t n, char *ret)
{
  while (n-- > 0) {
    ret[n] = alphabet[value & 31];
    value >>= 5;
  }
}

void sim_id_next(char ret_id[SIM_ID_BYTES])
{
  (void)pthread_mutex_lock(&lock);
  step();
  write_bits(last_ms, 10, ret_id);
  /* 80 bits are 16 characters: two halves of 40 bits */
  write_bits(high << 24 | low >> 40, 8, ret_id + 10);
  write_bits(low & 0xffffffffffu, 8, ret_id + 18);
  (void)pthread_mutex_unlock(&lock);
  ret_id[SIM_ID_LEN] = '\0';
}

bool sim_id_valid(const char *text)
{
  return strlen(text) == SIM_ID_LEN && strspn(text, alphabet) == SIM_ID_LEN;
}
