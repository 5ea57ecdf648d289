/*
 * Puts the clock of a program, and of all that it starts, elsewhere: by HOUR_OFFSET seconds.
 *
 * Loaded before the C library (LD_PRELOAD). Only the time of day differs, and with it the times of files; what is waited for,
 * by whatever clock, takes as long as ever.
 * libfaketime changes that as well, and browsers then wait in circles that leave no processor time to others.
 *
 *   cc -shared -fPIC -O2 -Wall -o other_hour.so other_hour.c
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>

static int (*get_time)(clockid_t, struct timespec *);
static int (*get_status)(int, const char *, int, unsigned int, struct statx *);
static int (*set_times)(int, const char *, const struct timespec[2], int);
static long long offset;

__attribute__((constructor)) static void begin(void) {
  const char *seconds = getenv("HOUR_OFFSET");
  offset = seconds == NULL ? 0 : atoll(seconds);
  get_status = dlsym(RTLD_NEXT, "statx");
  set_times = dlsym(RTLD_NEXT, "utimensat");
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

int statx(int from, const char *restrict path, int flags, unsigned int mask, struct statx *restrict status) {
  int failed = get_status(from, path, flags, mask, status);
  if (failed == 0) {
    status->stx_atime.tv_sec += offset;
    status->stx_btime.tv_sec += offset;
    status->stx_ctime.tv_sec += offset;
    status->stx_mtime.tv_sec += offset;
  }
  return failed;
}

int utimensat(int from, const char *path, const struct timespec given[2], int flags) {
  if (given == NULL) return set_times(from, path, NULL, flags);
  struct timespec real[2];
  for (int at = 0; at < 2; at++) {
    real[at] = given[at];
    if (given[at].tv_nsec != UTIME_NOW && given[at].tv_nsec != UTIME_OMIT) real[at].tv_sec -= offset;
  }
  return set_times(from, path, real, flags);
}
