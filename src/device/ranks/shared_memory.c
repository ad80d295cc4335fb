#include "device/ranks/shared_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"

enum status shared_memory_name(char *out, size_t size, struct error *err)
{
	unsigned long long random[2];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return error_errno(err, "getrandom");
	memset(out, 0, size);
	snprintf(out, size, "/gpuproof-%016llx%016llx", random[0], random[1]);
	return STATUS_OK;
}

enum status shared_memory_map(const char *name, size_t bytes, const char *use, void **out,
			      struct error *err)
{
	char size[32];
	void *memory;
	int failure, fd = shm_open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);

	*out = NULL;
	if (fd < 0)
		return error_errno(err, "shm_open of %s", name);
	failure = posix_fallocate(fd, 0, (off_t)bytes);
	if (failure) {
		close(fd);
		return error_set(err, STATUS_NO_MEMORY, "/dev/shm: %s for %s: %s",
				 units_size(bytes, size, sizeof(size)), use, strerror(failure));
	}
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	failure = errno;
	close(fd);
	if (memory == MAP_FAILED)
		return error_set(err, STATUS_NO_MEMORY, "mmap of %s: %s", name, strerror(failure));
	*out = memory;
	return STATUS_OK;
}

void shared_memory_unmap(void *memory, size_t bytes)
{
	if (memory)
		munmap(memory, bytes);
}

void shared_memory_unlink(const char *name)
{
	shm_unlink(name);
}
