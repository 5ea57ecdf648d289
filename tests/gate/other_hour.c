/*
 * Puts the clock of a program, and of all that it starts, elsewhere: by HOUR_OFFSET seconds.
 *
 * Loaded before the C library (LD_PRELOAD). Only the time of day differs; what is waited for, by whatever clock, takes as long as ever.
 * libfaketime changes that as well, and browsers then wait in circles that leave no processor time to others.
 *
 *   cc -shared -fPIC -O2 -Wall -o other_hour.so other_hour.c
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static int (*get_time)(clockid_t, struct timespec *);
static long long offset;

__attribute__((constructor)) static void begin(void) {
  const char *seconds = getenv("HOUR_OFFSET");
  offset = seconds == NULL ? 0 : atoll(seconds);
  get_time = dlsym(RTLD_NEXT, "clock_gettime");
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  if (get_time == NULL) begin();
  int failed = get_time(clock, now);
  if (failed == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += offset;
  return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec precise;
  if (clock_gettime(CLOCK_REALTIME, &precise) != 0) return -1;
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *now) {
  struct timespec precise;
  if (clock_gettime(CLOCK_REALTIME, &precise) != 0) return -1;
  if (now != NULL) *now = precise.tv_sec;
  return precise.tv_sec;
}
