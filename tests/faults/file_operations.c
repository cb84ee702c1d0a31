/* Counts a process's operations on files below a folder, and disturbs one.

   Preloaded before the C library, so that what Python, HDF5 and any other
   library do is seen alike. Linux only; see file_operations.py. */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* Kinds of operations, bits of a mask; as in file_operations.py. */
enum { OPEN = 1, WRITE = 2, SYNC = 4, RENAME = 8, UNLINK = 16, MKDIR = 32,
       TRUNCATE = 64, READ = 128, STAT = 256, RMDIR = 512, MARK = 1024,
       CLOSE = 2048, LIST = 4096, CHMOD = 8192, LINK = 16384 };
/* What is done at the chosen operation. AFTER it was done an error is told, as
   of a network disk whose answer was lost. */
enum { NOTHING, KILL, TORN, TERM, FAIL, SHORT, AFTER };

static char root[4096];
static size_t root_length;
static int mask, action, code, record = -1;
static long first, last, count;
/* 1: a file or folder below the root, 2: one that was written to. */
static unsigned char ours[1 << 16];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int inside;

#define REAL(name) \
    static __typeof__(name) *real; \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

void faults_arm(const char *folder, int kinds, int what, long from, long to,
                int number, int file) {
    root_length = strlen(folder);
    memcpy(root, folder, root_length + 1);
    mask = kinds, action = what, first = from, last = to, code = number;
    record = file, count = 0;
    memset(ours, 0, sizeof ours);
}

long faults_count(void) { return count; }

static int below(const char *path) {
    return root_length && path && !strncmp(path, root, root_length)
        && (path[root_length] == '/' || !path[root_length]);
}

/* The full path of one that may be relative to a folder. */
static const char *full(int folder, const char *path, char *room) {
    char link[64];
    ssize_t size;
    if (!root_length || !path || path[0] == '/' || folder == AT_FDCWD)
        return path;
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    size = readlink(link, room, 2048);
    if (size < 0) return path;
    snprintf(room + size, 4096 - size, "/%s", path);
    return room;
}

static int tracked(int fd) {
    if (!root_length || fd < 0 || fd >= (int)sizeof ours) return 0;
    return ours[fd];
}

/* The action for an operation that is about to be done. */
static int begin(int kind) {
    long now;
    if (!(mask & kind) || inside) return NOTHING;
    now = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
    if (now < first || now > last) return NOTHING;
    if (action == KILL || (action == TORN && kind != WRITE)) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
    if (action == TERM) {
        kill(getpid(), SIGTERM);
        return NOTHING;
    }
    return action;
}

#define FAILING(kind) \
    int chosen = begin(kind); \
    if (chosen == FAIL) { errno = code; return -1; }

#define ANSWER(done) \
    if (chosen == AFTER) { errno = code; return -1; } \
    return done;

static void put(const void *data, size_t size) {
    const char *from = data;
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = dlsym(RTLD_NEXT, "write");
    while (size) {
        ssize_t done = real(record, from, size);
        if (done <= 0) abort();
        from += done, size -= done;
    }
}

static void keep(int kind, int64_t number, const char *path,
                 const char *other, const void *data, int64_t size) {
    int saved = errno;
    int64_t head[5];
    if (record < 0) return;
    path = path ? path : "", other = other ? other : "";
    head[0] = kind, head[1] = number;
    head[2] = strlen(path), head[3] = strlen(other);
    head[4] = data ? size : 0;
    put(head, sizeof head);
    put(path, head[2]), put(other, head[3]);
    if (data) put(data, head[4]);
    errno = saved;
}

/* The name that an open file has now. */
static const char *name_of(int fd) {
    static __thread char path[4096];
    char link[64];
    ssize_t size;
    if (record < 0) return "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    size = readlink(link, path, sizeof path - 1);
    path[size < 0 ? 0 : size] = 0;
    return path;
}

void faults_mark(long number) { keep(MARK, number, 0, 0, 0, 0); }

static void enter(void) { if (record >= 0) pthread_mutex_lock(&lock); }
static void leave(void) { if (record >= 0) pthread_mutex_unlock(&lock); }

static int opened(int fd, const char *path, int flags) {
    if (fd >= 0 && fd < (int)sizeof ours) {
        ours[fd] = below(path);
        if (ours[fd] && (flags & (O_CREAT | O_TRUNC)))
            keep(OPEN, !!(flags & O_TRUNC), name_of(fd), 0, 0, 0);
    }
    return fd;
}

#define OPENING(name) \
int name(const char *path, int flags, ...) { \
    va_list rest; \
    int mode, fd; \
    REAL(name); \
    va_start(rest, flags), mode = va_arg(rest, int), va_end(rest); \
    if (!below(path)) return opened(real(path, flags, mode), path, 0); \
    FAILING(OPEN); \
    enter(), fd = opened(real(path, flags, mode), path, flags), leave(); \
    if (chosen == AFTER && fd >= 0) inside++, close(fd), inside--; \
    ANSWER(fd) \
}
OPENING(open)
OPENING(open64)

#define OPENING_AT(name) \
int name(int folder, const char *part, int flags, ...) { \
    va_list rest; \
    char room[4096]; \
    const char *path = full(folder, part, room); \
    int mode, fd; \
    REAL(name); \
    va_start(rest, flags), mode = va_arg(rest, int), va_end(rest); \
    if (!below(path)) return opened(real(folder, part, flags, mode), path, 0); \
    FAILING(OPEN); \
    enter(); \
    fd = opened(real(folder, part, flags, mode), path, flags); \
    leave(); \
    if (chosen == AFTER && fd >= 0) inside++, close(fd), inside--; \
    ANSWER(fd) \
}
OPENING_AT(openat)
OPENING_AT(openat64)

int close(int fd) {
    /* Errors of writing may come as late as this. */
    int chosen = tracked(fd) == 2 ? begin(CLOSE) : NOTHING, done;
    REAL(close);
    if (fd >= 0 && fd < (int)sizeof ours) ours[fd] = 0;
    done = real(fd);
    /* It is closed even then. */
    if (chosen == FAIL || chosen == AFTER) { errno = code; return -1; }
    return done;
}

#define COPYING(name, ...) { REAL(name); int fd = real(__VA_ARGS__); \
    if (fd >= 0 && fd < (int)sizeof ours) ours[fd] = tracked(from); \
    return fd; }
int dup(int from) COPYING(dup, from)
int dup2(int from, int to) COPYING(dup2, from, to)

static ssize_t written(int fd, const void *data, ssize_t done, off64_t at) {
    if (done > 0) {
        ours[fd] = 2;
        if (at < 0) at = lseek64(fd, 0, SEEK_CUR) - done;
        keep(WRITE, at, name_of(fd), 0, data, done);
    }
    return done;
}

/* A write that may be cut, or the last thing that the process does. */
#define WRITING(call, at) \
    int what = begin(WRITE); \
    ssize_t done; \
    if (what == FAIL) { errno = code; return -1; } \
    if ((what == SHORT || what == TORN) && size > 1) size /= 2; \
    enter(), done = written(fd, data, call, at), leave(); \
    if (what == TORN) { kill(getpid(), SIGKILL); for (;;) pause(); } \
    if (what == AFTER) { errno = code; return -1; } \
    return done;

ssize_t write(int fd, const void *data, size_t size) {
    REAL(write);
    if (!tracked(fd)) return real(fd, data, size);
    WRITING(real(fd, data, size), -1)
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    REAL(pwrite);
    if (!tracked(fd)) return real(fd, data, size, at);
    WRITING(real(fd, data, size, at), at)
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    REAL(pwrite64);
    if (!tracked(fd)) return real(fd, data, size, at);
    WRITING(real(fd, data, size, at), at)
}

/* A short read is none: readers may get less at any time. */
#define READING(name, call) { REAL(name); int what; \
    if (!tracked(fd)) return call; \
    what = begin(READ); \
    if (what == FAIL) { errno = code; return -1; } \
    if (what == SHORT && size > 1) size /= 2; \
    return call; }
ssize_t read(int fd, void *data, size_t size)
    READING(read, real(fd, data, size))
ssize_t pread(int fd, void *data, size_t size, off_t at)
    READING(pread, real(fd, data, size, at))
ssize_t pread64(int fd, void *data, size_t size, off64_t at)
    READING(pread64, real(fd, data, size, at))

/* Python copies by write() then. */
ssize_t sendfile(int out, int in, off_t *at, size_t size) {
    ssize_t (*real)(int, int, off_t *, size_t) = dlsym(RTLD_NEXT, "sendfile");
    if (tracked(out)) { errno = EINVAL; return -1; }
    return real(out, in, at, size);
}
ssize_t sendfile64(int out, int in, off64_t *at, size_t size) {
    ssize_t (*real)(int, int, off64_t *, size_t) =
        dlsym(RTLD_NEXT, "sendfile64");
    if (tracked(out)) { errno = EINVAL; return -1; }
    return real(out, in, at, size);
}

#define SYNCING(name) \
int name(int fd) { \
    int done; \
    REAL(name); \
    if (!tracked(fd)) return real(fd); \
    FAILING(SYNC); \
    enter(), done = real(fd); \
    if (!done) keep(SYNC, 0, name_of(fd), 0, 0, 0); \
    leave(); \
    ANSWER(done) \
}
SYNCING(fsync)
SYNCING(fdatasync)

#define CUTTING(name, type) \
int name(int fd, type size) { \
    int done; \
    REAL(name); \
    if (!tracked(fd)) return real(fd, size); \
    FAILING(TRUNCATE); \
    enter(), done = real(fd, size); \
    if (!done) keep(TRUNCATE, size, name_of(fd), 0, 0, 0); \
    leave(); \
    ANSWER(done) \
}
CUTTING(ftruncate, off_t)
CUTTING(ftruncate64, off64_t)

/* Returns the error, as POSIX has it. It makes a file no shorter. */
#define TAKING(name, type) \
int name(int fd, type at, type size) { \
    int done; \
    REAL(name); \
    if (!tracked(fd)) return real(fd, at, size); \
    if (begin(TRUNCATE) == FAIL) return code; \
    enter(), done = real(fd, at, size); \
    if (!done) keep(TRUNCATE, -(int64_t)(at + size), name_of(fd), 0, 0, 0); \
    leave(); \
    return done; \
}
TAKING(posix_fallocate, off_t)
TAKING(posix_fallocate64, off64_t)

#define NAMING(kind, path, other, call) \
    int done; \
    if (!below(path)) return call; \
    FAILING(kind); \
    enter(), inside++, done = call, inside--; \
    if (!done) keep(kind, 0, path, other, 0, 0); \
    leave(); \
    ANSWER(done)

int rename(const char *from, const char *to)
    { REAL(rename); NAMING(RENAME, from, to, real(from, to)) }
int renameat(int a, const char *from, int b, const char *to) {
    char one[4096], two[4096];
    const char *f = full(a, from, one), *t = full(b, to, two);
    REAL(renameat);
    NAMING(RENAME, f, t, real(a, from, b, to))
}
int link(const char *from, const char *to)
    { REAL(link); NAMING(LINK, from, to, real(from, to)) }
int linkat(int a, const char *from, int b, const char *to, int flags) {
    char one[4096], two[4096];
    const char *f = full(a, from, one), *t = full(b, to, two);
    REAL(linkat);
    NAMING(LINK, f, t, real(a, from, b, to, flags))
}
int unlink(const char *path)
    { REAL(unlink); NAMING(UNLINK, path, 0, real(path)) }
int unlinkat(int folder, const char *part, int flags) {
    char room[4096];
    const char *path = full(folder, part, room);
    int kind = flags & AT_REMOVEDIR ? RMDIR : UNLINK;
    REAL(unlinkat);
    NAMING(kind, path, 0, real(folder, part, flags))
}
int rmdir(const char *path)
    { REAL(rmdir); NAMING(RMDIR, path, 0, real(path)) }
int mkdir(const char *path, mode_t mode)
    { REAL(mkdir); NAMING(MKDIR, path, 0, real(path, mode)) }

#define LOOKING(name, type) \
int name(const char *path, type *found) { \
    REAL(name); \
    if (!below(path)) return real(path, found); \
    FAILING(STAT) \
    return real(path, found); \
}
LOOKING(stat, struct stat)
LOOKING(stat64, struct stat64)
LOOKING(lstat, struct stat)
LOOKING(lstat64, struct stat64)

DIR *opendir(const char *path) {
    REAL(opendir);
    if (below(path) && begin(LIST) == FAIL) { errno = code; return NULL; }
    return real(path);
}
int chmod(const char *path, mode_t mode) {
    REAL(chmod);
    if (!below(path)) return real(path, mode);
    FAILING(CHMOD)
    ANSWER(real(path, mode))
}
