/* Finds installed loadable backends without opening them. */
#ifndef GPUPROOF_DEVICE_MODULES_H
#define GPUPROOF_DEVICE_MODULES_H

#include <stdbool.h>
#include <stddef.h>

/* In each folder the newest toolkit first: cuda13 before cuda11. */
struct backend_modules {
	char **paths;
	size_t count, capacity;
};

/*
 * Finds the modules of $GPUPROOF_BACKENDS, then those of backends/ next to the program or of
 * lib/gpuproof/backends where `cmake --install` puts them: the first of these folders that exists.
 * Returns false with errno if $GPUPROOF_BACKENDS cannot be read; the others are still listed. The
 * caller releases `modules`.
 */
bool backend_modules_find(struct backend_modules *modules);
void backend_modules_release(struct backend_modules *modules);

/* "cuda13" from ".../backends/cuda13.so". */
void backend_module_name(const char *path, char *name, size_t size);

#endif
