/*
 * Makes calls on the database's files fail, at the caller's wish, without touching anything else of the process.
 *
 * Loaded before the C library (LD_PRELOAD). A descriptor is followed from the open of a path that ends in sluice.db,
 * sluice.db-wal, sluice.db-shm or an outbox beside them until it is closed. What fails, how and how often is read at each call from a page that is
 * shared with the driver: the file that FAULTY_CONTROL names. Without it, nothing ever fails.
 *
 * The calls are made as system calls, not through the C library's functions: allocators map memory before symbols can
 * be looked up.
 *
 *   cc -shared -fPIC -O2 -Wall -o faulty.so faulty.c
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* The same order as CALLS of control.ts. */
enum call { OPEN, READ, WRITE, SYNC, TRUNCATE, LOCK, UNLOCK, MAP, UNLINK, ALLOCATE, CALLS };

/* The same bits as KINDS of control.ts. */
enum kind {
  KIND_EIO = 1,
  KIND_ENOSPC = 2,
  KIND_SHORT = 4,
  KIND_TORN = 8,
  KIND_ENOMEM = 16,
  KIND_HANG = 32
};

/* The same bits as FILES of control.ts. */
enum file { FILE_DB = 1, FILE_WAL = 2, FILE_SHM = 4, FILE_OUTBOX = 8 };

/* One class of calls: 64 bytes, as control.ts writes and reads them. */
struct class {
  _Atomic uint32_t probability; /* parts per 65536 */
  _Atomic uint32_t kinds;       /* of which one is chosen */
  _Atomic uint32_t files;       /* on which calls may fail */
  uint32_t unused;
  _Atomic uint64_t calls;   /* made so far, on any of the files */
  _Atomic uint64_t faults;  /* of these, those that were made to fail */
  _Atomic uint64_t fail_at; /* the call of this number fails; 0: none */
  uint64_t rest[3];
};

struct control {
  _Atomic uint32_t enabled;
  uint32_t unused;
  _Atomic uint64_t seed;
  _Atomic uint64_t draws;
  uint64_t rest[5];
  struct class classes[CALLS];
};

static struct control *control;

#define MAX_DESCRIPTORS 65536
static _Atomic unsigned char followed[MAX_DESCRIPTORS];

__attribute__((constructor)) static void attach(void) {
  const char *path = getenv("FAULTY_CONTROL");
  if (path == NULL) return;
  long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
  if (fd < 0) return;
  void *page = (void *)syscall(SYS_mmap, NULL, sizeof(struct control), PROT_READ | PROT_WRITE,
                               MAP_SHARED, fd, 0);
  syscall(SYS_close, fd);
  if (page != MAP_FAILED) control = page;
}

static int ends_with(const char *path, size_t length, const char *end) {
  size_t more = strlen(end);
  return length >= more && memcmp(path + length - more, end, more) == 0;
}

static unsigned char file_of(const char *path) {
  if (control == NULL || path == NULL) return 0;
  size_t length = strlen(path);
  if (ends_with(path, length, "sluice.db")) return FILE_DB;
  if (ends_with(path, length, "sluice.db-wal")) return FILE_WAL;
  if (ends_with(path, length, "sluice.db-shm")) return FILE_SHM;
  if (strstr(path, "sluice.db-outbox-") != NULL) return FILE_OUTBOX;
  return 0;
}

static unsigned char file_at(int fd) {
  return fd < 0 || fd >= MAX_DESCRIPTORS ? 0 : followed[fd];
}

static void follow(long fd, unsigned char file) {
  if (fd >= 0 && fd < MAX_DESCRIPTORS) followed[fd] = file;
}

/* splitmix64: the same draws for the same seed, in the order in which calls are made. */
static uint64_t draw(void) {
  uint64_t mixed = control->seed + 0x9e3779b97f4a7c15u * (1 + atomic_fetch_add(&control->draws, 1));
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

/* One of the kinds that are set, by a number that was drawn. */
static int pick(uint32_t kinds, uint64_t number) {
  int count = __builtin_popcount(kinds);
  if (count == 0) return KIND_EIO;
  for (int skip = number % count; skip > 0; skip--) kinds &= kinds - 1;
  return kinds & -kinds;
}

/* Keeps a call from its disk until no call is to fail any more: then it is made as if nothing had been. */
static void hang(void) {
  struct timespec look = {0, 2000000};
  while (control->enabled) syscall(SYS_nanosleep, &look, NULL);
}

/* Counts a call; answers the kind of fault that it is to meet, or 0. */
static int fault_of(enum call call, unsigned char file) {
  if (file == 0 || control == NULL) return 0;
  struct class *class = &control->classes[call];
  uint64_t number = 1 + atomic_fetch_add(&class->calls, 1);
  if (!control->enabled) return 0;
  int is_wanted = class->fail_at == number;
  uint64_t drawn = 0;
  if (class->probability > 0 || is_wanted) drawn = draw();
  if (!is_wanted) {
    if ((class->files & file) == 0 || (drawn & 0xffff) >= class->probability) return 0;
  }
  atomic_fetch_add(&class->faults, 1);
  int kind = pick(class->kinds, drawn >> 16);
  if (kind != KIND_HANG) return kind;
  hang();
  return 0;
}

/* Fails with what the kind says. */
static int failed(int kind) {
  errno = kind == KIND_ENOMEM ? ENOMEM : kind == KIND_ENOSPC ? ENOSPC : EIO;
  return -1;
}

static int open_at(int directory, const char *path, int flags, mode_t mode) {
  unsigned char file = file_of(path);
  int kind = fault_of(OPEN, file);
  if (kind != 0) return failed(kind);
  long fd = syscall(SYS_openat, directory, path, flags, mode);
  follow(fd, file);
  return fd;
}

#define WITH_MODE(flags, mode)                              \
  mode_t mode = 0;                                          \
  if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) { \
    va_list more;                                           \
    va_start(more, flags);                                  \
    mode = va_arg(more, mode_t);                            \
    va_end(more);                                           \
  }

int open(const char *path, int flags, ...) {
  WITH_MODE(flags, mode)
  return open_at(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  WITH_MODE(flags, mode)
  return open_at(AT_FDCWD, path, flags, mode);
}
int openat(int directory, const char *path, int flags, ...) {
  WITH_MODE(flags, mode)
  return open_at(directory, path, flags, mode);
}
int openat64(int directory, const char *path, int flags, ...) {
  WITH_MODE(flags, mode)
  return open_at(directory, path, flags, mode);
}

int close(int fd) {
  follow(fd, 0);
  return syscall(SYS_close, fd);
}

/* How much of a read or write is done: less of one that is cut short, -1 for one that fails. */
static ssize_t room(int kind, size_t count) {
  if (kind == 0) return count;
  if (kind == KIND_SHORT) return count > 1 ? count / 2 : count; /* none ends early for good */
  failed(kind);
  return -1;
}

ssize_t read(int fd, void *to, size_t count) {
  ssize_t most = room(fault_of(READ, file_at(fd)), count);
  return most < 0 ? -1 : syscall(SYS_read, fd, to, most);
}
ssize_t pread64(int fd, void *to, size_t count, off64_t offset) {
  ssize_t most = room(fault_of(READ, file_at(fd)), count);
  return most < 0 ? -1 : syscall(SYS_pread64, fd, to, most, offset);
}
ssize_t pread(int fd, void *to, size_t count, off_t offset) {
  return pread64(fd, to, count, offset);
}
ssize_t readv(int fd, const struct iovec *to, int count) {
  int kind = fault_of(READ, file_at(fd));
  return kind != 0 && kind != KIND_SHORT ? failed(kind) : syscall(SYS_readv, fd, to, count);
}

/* A torn write leaves a part of itself behind and fails. */
ssize_t pwrite64(int fd, const void *from, size_t count, off64_t offset) {
  int kind = fault_of(WRITE, file_at(fd));
  if (kind == KIND_TORN && count > 1) syscall(SYS_pwrite64, fd, from, count / 2, offset);
  ssize_t most = room(kind, count);
  return most < 0 ? -1 : syscall(SYS_pwrite64, fd, from, most, offset);
}
ssize_t pwrite(int fd, const void *from, size_t count, off_t offset) {
  return pwrite64(fd, from, count, offset);
}
ssize_t write(int fd, const void *from, size_t count) {
  int kind = fault_of(WRITE, file_at(fd));
  if (kind == KIND_TORN && count > 1) syscall(SYS_write, fd, from, count / 2);
  ssize_t most = room(kind, count);
  return most < 0 ? -1 : syscall(SYS_write, fd, from, most);
}
ssize_t writev(int fd, const struct iovec *from, int count) {
  int kind = fault_of(WRITE, file_at(fd));
  return kind != 0 && kind != KIND_SHORT ? failed(kind) : syscall(SYS_writev, fd, from, count);
}

int fsync(int fd) {
  int kind = fault_of(SYNC, file_at(fd));
  return kind != 0 ? failed(kind) : syscall(SYS_fsync, fd);
}
int fdatasync(int fd) {
  int kind = fault_of(SYNC, file_at(fd));
  return kind != 0 ? failed(kind) : syscall(SYS_fdatasync, fd);
}

int ftruncate64(int fd, off64_t length) {
  int kind = fault_of(TRUNCATE, file_at(fd));
  return kind != 0 ? failed(kind) : syscall(SYS_ftruncate, fd, length);
}
int ftruncate(int fd, off_t length) {
  return ftruncate64(fd, length);
}

int fallocate64(int fd, int mode, off64_t offset, off64_t length) {
  int kind = fault_of(ALLOCATE, file_at(fd));
  return kind != 0 ? failed(kind) : syscall(SYS_fallocate, fd, mode, offset, length);
}
int fallocate(int fd, int mode, off_t offset, off_t length) {
  return fallocate64(fd, mode, offset, length);
}
int posix_fallocate64(int fd, off64_t offset, off64_t length) {
  return fallocate64(fd, 0, offset, length) == 0 ? 0 : errno;
}
int posix_fallocate(int fd, off_t offset, off_t length) {
  return posix_fallocate64(fd, offset, length);
}

static int is_lock(int command) {
  return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
         command == F_OFD_SETLKW;
}

static int control_file(int fd, int command, void *argument) {
  unsigned char file = file_at(fd);
  if (file != 0 && is_lock(command)) {
    int is_release = ((struct flock *)argument)->l_type == F_UNLCK;
    int kind = fault_of(is_release ? UNLOCK : LOCK, file);
    if (kind != 0) return failed(kind);
  }
  int got = syscall(SYS_fcntl, fd, command, argument);
  if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) follow(got, file);
  return got;
}
int fcntl(int fd, int command, ...) {
  va_list more;
  va_start(more, command);
  void *argument = va_arg(more, void *);
  va_end(more);
  return control_file(fd, command, argument);
}
int fcntl64(int fd, int command, ...) {
  va_list more;
  va_start(more, command);
  void *argument = va_arg(more, void *);
  va_end(more);
  return control_file(fd, command, argument);
}

void *mmap64(void *at, size_t length, int protection, int flags, int fd, off64_t offset) {
  int kind = flags & MAP_ANONYMOUS ? 0 : fault_of(MAP, file_at(fd));
  if (kind != 0) {
    failed(kind);
    return MAP_FAILED;
  }
  return (void *)syscall(SYS_mmap, at, length, protection, flags, fd, offset);
}
void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset) {
  return mmap64(at, length, protection, flags, fd, offset);
}

int unlink(const char *path) {
  int kind = fault_of(UNLINK, file_of(path));
  return kind != 0 ? failed(kind) : syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}
