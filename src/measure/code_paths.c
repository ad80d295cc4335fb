#include "measure/code_paths.h"

#include "base/memory.h"

#define MOST_PATHS 64

/* Devices of one module share its record. */
static bool first_of_module(const struct run *run, size_t which)
{
	for (size_t i = 0; i < which; i++)
		if (run->devices[i]->backend == run->devices[which]->backend)
			return false;
	return run->devices[which]->backend->paths != NULL;
}

void code_paths_forget(const struct run *run)
{
	struct code_path old[MOST_PATHS];

	for (size_t i = 0; i < run->device_count; i++)
		if (first_of_module(run, i))
			run->devices[i]->backend->paths(old, MOST_PATHS);
}

void code_paths_add(struct case_result *result, char *path)
{
	result->paths = xrealloc(result->paths, result->path_count + 1, sizeof(*result->paths));
	result->paths[result->path_count++] = path;
}

/* Kernels with one code path need no note. */
void code_paths_record(const struct run *run)
{
	struct code_path paths[MOST_PATHS];

	for (size_t i = 0; i < run->device_count; i++) {
		const struct backend *backend = run->devices[i]->backend;
		size_t count = first_of_module(run, i) ? backend->paths(paths, MOST_PATHS) : 0;

		for (size_t k = 0; k < count; k++)
			if (paths[k].path[0])
				code_paths_add(run->result,
					       xasprintf("%s: %s", paths[k].kernel, paths[k].path));
	}
}

void code_paths_copy(const struct case_result *from, struct case_result *to)
{
	for (size_t i = 0; i < from->path_count; i++)
		code_paths_add(to, xstrdup(from->paths[i]));
}
