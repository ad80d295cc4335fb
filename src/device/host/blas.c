#include "device/host/blas.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "device/limits.h"

/* 32 << 22 (its common.h, for every CPU with a gigabyte or more), plus malloc()'s overhead. */
#define BUFFER_BYTES (((size_t)32 << 22) + ((size_t)2 << 20))

static struct blas blas;
static char failure[512];
static pthread_once_t once = PTHREAD_ONCE_INIT;
/*
 * For hosts whose memory limits may deny OpenBLAS its buffers: running calls, and buffers already
 * allocated.
 */
static atomic_uint running, held;

static void *host_blas_symbol(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found && failure[0] == '\0')
		strncat(strcpy(failure, "libopenblas.so.0 lacks "), name, 64);
	return found;
}

static void host_blas_load(void)
{
	void *library;

	/* Read by the library's constructor, which would otherwise start a thread per core. */
	setenv("OPENBLAS_NUM_THREADS", "1", 1);
	library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		const char *why = dlerror();

		strncpy(failure, why ? why : "libopenblas.so.0 could not be opened",
			sizeof(failure) - 1);
		return;
	}
#define X(result, name, parameters) *(void **)&blas.name = host_blas_symbol(library, #name);
	BLAS_SYMBOLS(X)
#undef X
	if (failure[0] == '\0')
		blas.openblas_set_num_threads(1);
}

static bool host_blas_is_limited(int resource)
{
	struct rlimit limit;

	return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

static bool limited;
static pthread_once_t limit_once = PTHREAD_ONCE_INIT;

static void host_blas_look_for_limits(void)
{
	char mode[16];

	/*
	 * In mode 2 the kernel commits only what it has; in other modes it rejects only excessive
	 * requests.
	 */
	device_limits_read_line(mode, sizeof(mode), "/proc/sys/vm/overcommit_memory");
	limited = host_blas_is_limited(RLIMIT_AS) || host_blas_is_limited(RLIMIT_DATA) ||
		  strcmp(mode, "2") == 0;
}

/*
 * Running calls may already have their buffers: this reserves too much, which is better than a
 * hang.
 */
enum status blas_enter(unsigned calls, struct error *err)
{
	unsigned all;
	size_t bytes;
	void *room;

	pthread_once(&limit_once, host_blas_look_for_limits);
	if (!limited)
		return STATUS_OK;
	all = atomic_fetch_add(&running, calls) + calls;
	bytes = (all - atomic_load(&held)) * BUFFER_BYTES;
	if (bytes == 0)
		return STATUS_OK;
	room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room != MAP_FAILED) {
		munmap(room, bytes);
		return STATUS_OK;
	}
	error_set(err, STATUS_NO_MEMORY,
		  "gemm: cannot reserve %u work buffer%s of OpenBLAS, 128 MiB each: %s (check "
		  "ulimit -v, ulimit -d and overcommit_memory = 2)",
		  all, all == 1 ? "" : "s", strerror(errno));
	blas_leave(calls, false);
	return STATUS_NO_MEMORY;
}

void blas_leave(unsigned calls, bool large)
{
	if (!limited)
		return;
	if (large)
		atomic_store(&held, 1);
	atomic_fetch_sub(&running, calls);
}

const struct blas *blas_open(struct error *err)
{
	pthread_once(&once, host_blas_load);
	if (failure[0] == '\0')
		return &blas;
	error_set(err, STATUS_UNSUPPORTED, "OpenBLAS is missing: %s", failure);
	return NULL;
}
