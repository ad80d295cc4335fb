#include "device/host/blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct blas blas;
static char failure[512];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *symbol(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found && failure[0] == '\0')
		strncat(strcpy(failure, "libopenblas.so.0 lacks "), name, 64);
	return found;
}

static void load(void)
{
	void *library;

	/* Read by the library's constructor, which would otherwise start a thread for each core. */
	setenv("OPENBLAS_NUM_THREADS", "1", 1);
	library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		const char *why = dlerror();

		strncpy(failure, why ? why : "libopenblas.so.0 could not be opened",
			sizeof(failure) - 1);
		return;
	}
#define X(result, name, parameters) *(void **)&blas.name = symbol(library, #name);
	BLAS_SYMBOLS(X)
#undef X
	if (failure[0] == '\0')
		blas.openblas_set_num_threads(1);
}

const struct blas *blas_open(struct error *err)
{
	pthread_once(&once, load);
	if (failure[0] == '\0')
		return &blas;
	error_set(err, STATUS_UNSUPPORTED, "OpenBLAS is missing: %s", failure);
	return NULL;
}
