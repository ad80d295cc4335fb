/*
 * LD_PRELOAD for tests: a disk that fails and a clock that jumps.
 *
 *      BAD_DISK="enospc 3 run.jsonl"   the third write to a file whose path holds `run.jsonl` and
 *                                      all later ones fail with ENOSPC; eio: EIO; fsync, close,
 *                                      rename: those calls with EIO; short: the third write does
 *                                      half of what it was asked for; readonly: from the third time
 *                                      on files and folders of such a path cannot be made or opened
 *                                      for writing (EROFS: root may else); nolock: from the third
 *                                      time on a lock is refused with ENOLCK
 *      BAD_DISK_MARK=FILE              is made when the first call was made to fail
 *      CLOCK_JUMP="5 -86400"           from the fifth reading on, the wall clock (not the monotonic
 *                                      one) is off by that many seconds
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static char mode[16], part[256];
static long turn, calls;

__attribute__((constructor)) static void read_environment(void)
{
	const char *text = getenv("BAD_DISK");

	if (text && sscanf(text, "%15s %ld %255s", mode, &turn, part) != 3)
		abort();
}

static void mark(void)
{
	const char *path = getenv("BAD_DISK_MARK");
	int fd = path ? open(path, O_CREAT | O_WRONLY, 0666) : -1;

	if (fd >= 0)
		close(fd);
}

static bool path_matches(const char *path)
{
	return part[0] && strstr(path, part);
}

static bool file_matches(int fd)
{
	char name[64], path[PATH_MAX];
	ssize_t length;

	if (!part[0])
		return false;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	length = readlink(name, path, sizeof(path) - 1);
	path[length < 0 ? 0 : length] = '\0';
	return path_matches(path);
}

/* True if this call of the kind `kind` is to fail; `once`: only at its turn. */
static bool turn_has_come(const char *kind, bool matches, bool once)
{
	if (strcmp(mode, kind) != 0 || !matches)
		return false;
	calls++;
	if (once ? calls != turn : calls < turn)
		return false;
	mark();
	return true;
}

/* The bytes that a write may do: all, half, or -1 with errno. */
static ssize_t allowed(int fd, size_t count)
{
	bool matches = file_matches(fd);

	if (turn_has_come("enospc", matches, false)) {
		errno = ENOSPC;
		return -1;
	}
	if (turn_has_come("eio", matches, false)) {
		errno = EIO;
		return -1;
	}
	if (count > 1 && turn_has_come("short", matches, true))
		return (ssize_t)count / 2;
	return (ssize_t)count;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t count)
{
	ssize_t may = allowed(fd, count);

	return may < 0 ? may : NEXT(write)(fd, data, (size_t)may);
}

ssize_t pwrite(int fd, const void *data, size_t count, off_t at)
{
	ssize_t may = allowed(fd, count);

	return may < 0 ? may : NEXT(pwrite)(fd, data, (size_t)may, at);
}

ssize_t pwrite64(int fd, const void *data, size_t count, off64_t at)
{
	ssize_t may = allowed(fd, count);

	return may < 0 ? may : NEXT(pwrite64)(fd, data, (size_t)may, at);
}

static int failed(void)
{
	errno = EIO;
	return -1;
}

int fsync(int fd)
{
	return turn_has_come("fsync", file_matches(fd), false) ? failed() : NEXT(fsync)(fd);
}

int fdatasync(int fd)
{
	return turn_has_come("fsync", file_matches(fd), false) ? failed() : NEXT(fdatasync)(fd);
}

int close(int fd)
{
	bool fails = turn_has_come("close", file_matches(fd), true);
	int result = NEXT(close)(fd);

	return fails ? failed() : result;
}

int rename(const char *from, const char *to)
{
	return turn_has_come("rename", path_matches(to), false) ? failed() : NEXT(rename)(from, to);
}

static bool is_readonly(const char *path)
{
	char all[PATH_MAX];

	if (strcmp(mode, "readonly") != 0)
		return false;
	if (path[0] == '/' || !getcwd(all, sizeof(all)))
		all[0] = '\0';
	snprintf(all + strlen(all), sizeof(all) - strlen(all), "/%s", path);
	if (!turn_has_come("readonly", path_matches(all), false))
		return false;
	errno = EROFS;
	return true;
}

#define FCNTL(name)                                                                           \
	int name(int fd, int command, ...)                                                    \
	{                                                                                     \
		bool locks = command == F_SETLK || command == F_SETLKW || command == F_GETLK; \
		va_list rest;                                                                 \
		void *argument;                                                               \
                                                                                              \
		va_start(rest, command);                                                      \
		argument = va_arg(rest, void *);                                              \
		va_end(rest);                                                                 \
		if (locks && turn_has_come("nolock", file_matches(fd), false)) {              \
			errno = ENOLCK;                                                       \
			return -1;                                                            \
		}                                                                             \
		return NEXT(name)(fd, command, argument);                                     \
	}
FCNTL(fcntl)
FCNTL(fcntl64)

#define OPEN(name)                                                        \
	int name(const char *path, int flags, ...)                        \
	{                                                                 \
		va_list rest;                                             \
		mode_t rights;                                            \
                                                                          \
		va_start(rest, flags);                                    \
		rights = flags & O_CREAT ? va_arg(rest, mode_t) : 0;      \
		va_end(rest);                                             \
		if ((flags & O_ACCMODE) != O_RDONLY && is_readonly(path)) \
			return -1;                                        \
		return NEXT(name)(path, flags, rights);                   \
	}
OPEN(open)
OPEN(open64)

int mkostemp(char *name, int flags)
{
	return is_readonly(name) ? -1 : NEXT(mkostemp)(name, flags);
}

int mkostemp64(char *name, int flags)
{
	return is_readonly(name) ? -1 : NEXT(mkostemp64)(name, flags);
}

int mkdir(const char *path, mode_t rights)
{
	return is_readonly(path) ? -1 : NEXT(mkdir)(path, rights);
}

static time_t jump(void)
{
	static long readings;
	const char *text = getenv("CLOCK_JUMP");
	long first, seconds;

	if (!text || sscanf(text, "%ld %ld", &first, &seconds) != 2 || ++readings < first)
		return 0;
	return seconds;
}

time_t time(time_t *out)
{
	time_t now = NEXT(time)(NULL) + jump();

	if (out)
		*out = now;
	return now;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
	int result = NEXT(clock_gettime)(clock, out);

	if (clock == CLOCK_REALTIME)
		out->tv_sec += jump();
	return result;
}
