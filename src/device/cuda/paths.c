/*
 * Records code paths at each launch; the worker reads them after each case, and so does
 * gpuproof-gpu-check.
 */
#include "device/cuda/cuda_backend.h"

#include <string.h>

#include "base/memory.h"

static struct code_path taken[64];
static size_t taken_count;

/* Texts are literals, so the pointers are usually equal. */
static bool code_path_is_known(const char *kernel, const char *path)
{
	for (size_t i = 0; i < taken_count; i++)
		if (taken[i].kernel == kernel && taken[i].path == path)
			return true;
	for (size_t i = 0; i < taken_count; i++)
		if (strcmp(taken[i].kernel, kernel) == 0 && strcmp(taken[i].path, path) == 0)
			return true;
	return false;
}

void cuda_path(const char *kernel, const char *path)
{
	if (taken_count < ARRAY_SIZE(taken) && !code_path_is_known(kernel, path))
		taken[taken_count++] = (struct code_path){ kernel, path };
}

size_t cuda_paths(struct code_path *out, size_t capacity)
{
	size_t count = taken_count < capacity ? taken_count : capacity;

	memcpy(out, taken, count * sizeof(*out));
	taken_count = 0;
	return count;
}
