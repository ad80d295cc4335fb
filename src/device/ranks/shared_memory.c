#include "device/ranks/shared_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/units.h"

/* Linux 6.3: not executable, which a system may demand (vm.memfd_noexec). */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif
/* Objects of this process that ranks have not attached to yet: of some ids none is ever made. */
#define PENDING_MOST 16
#define NAME_SIZE 128
#define LINK_SIZE 96

/* Names. The program and each backend have a list of their own. */
static struct {
	pthread_mutex_t lock;
	char names[PENDING_MOST][NAME_SIZE];
	size_t turn;
} pending = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* True if the descriptor at `path` is of that object, not of what took its number since. */
static bool shared_memory_is_object(const char *path, const char *object)
{
	char link[LINK_SIZE] = "", wanted[LINK_SIZE];

	snprintf(wanted, sizeof(wanted), "/memfd:%.60s (deleted)", object);
	if (readlink(path, link, sizeof(link) - 1) < 0)
		return false;
	errno = ENOENT;
	return strcmp(link, wanted) == 0;
}

/* Closes the descriptor that this process has of the object, if it still is there. */
static void shared_memory_object_close(const char *name)
{
	const char *number = strstr(name, "/fd/"), *object = strchr(name, ':');
	int fd = number ? (int)strtol(number + 4, NULL, 10) : -1;
	char own[64];

	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	if (object && shared_memory_is_object(own, object + 1))
		close(fd);
}

enum status shared_memory_create(char *out, size_t size, struct error *err)
{
	unsigned long long random[2];
	char object[64];
	int fd;
	char *place;

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return error_errno(err, "getrandom");
	snprintf(object, sizeof(object), "gpuproof-%016llx%016llx", random[0], random[1]);
	fd = memfd_create(object, MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(object, MFD_CLOEXEC);
	if (fd < 0)
		return error_errno(err, "memfd_create");
	memset(out, 0, size);
	snprintf(out, size, "/proc/%ld/fd/%d:%s", (long)getpid(), fd, object);
	pthread_mutex_lock(&pending.lock);
	place = pending.names[pending.turn++ % PENDING_MOST];
	shared_memory_object_close(place);
	snprintf(place, NAME_SIZE, "%s", out);
	pthread_mutex_unlock(&pending.lock);
	return STATUS_OK;
}

static int shared_memory_object_open(const char *name, struct error *err)
{
	const char *object = strchr(name, ':');
	char *path = xstrndup(name, object ? (size_t)(object - name) : 0), own[64];
	int fd = object && shared_memory_is_object(path, object + 1)
			 ? open(path, O_RDWR | O_CLOEXEC)
			 : -1;

	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	if (fd >= 0 && !shared_memory_is_object(own, object + 1)) {
		close(fd);
		fd = -1;
	}
	if (fd < 0)
		error_errno(err, "cannot open the shared memory of another rank (%.60s)", path);
	free(path);
	return fd;
}

enum status shared_memory_map(const char *name, size_t bytes, const char *use, void **out,
			      struct error *err)
{
	char size[32];
	void *memory;
	int failure, fd = shared_memory_object_open(name, err);

	*out = NULL;
	if (fd < 0)
		return err->status;
	failure = posix_fallocate(fd, 0, (off_t)bytes);
	if (failure) {
		close(fd);
		return error_set(err, STATUS_NO_MEMORY, "shared memory: %s for %s: %s",
				 units_size(bytes, size, sizeof(size)), use, strerror(failure));
	}
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	failure = errno;
	close(fd);
	if (memory == MAP_FAILED)
		return error_set(err, STATUS_NO_MEMORY, "mmap of shared memory: %s",
				 strerror(failure));
	*out = memory;
	return STATUS_OK;
}

void shared_memory_unmap(void *memory, size_t bytes)
{
	if (memory)
		munmap(memory, bytes);
}

void shared_memory_attached(const char *name)
{
	pthread_mutex_lock(&pending.lock);
	shared_memory_object_close(name);
	pthread_mutex_unlock(&pending.lock);
}
