#include "device/modules.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"

void backend_module_name(const char *path, char *name, size_t size)
{
	const char *slash = strrchr(path, '/');
	const char *file = slash ? slash + 1 : path;
	size_t length = strlen(file);

	snprintf(name, size, "%.*s", (int)(length > 3 ? length - 3 : 0), file);
}

static int modules_newest_first(const void *a, const void *b)
{
	return -strverscmp(*(char *const *)a, *(char *const *)b);
}

/* True if the folder can be read. */
static bool find_modules(struct backend_modules *modules, const char *folder)
{
	size_t first = modules->count;
	struct dirent *entry;
	DIR *dir = opendir(folder);

	if (!dir)
		return false;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || !text_ends_with(entry->d_name, ".so"))
			continue;
		ARRAY_GROW(modules->paths, modules->count, modules->capacity);
		modules->paths[modules->count++] = xasprintf("%s/%s", folder, entry->d_name);
	}
	closedir(dir);
	if (modules->count > first)
		qsort(modules->paths + first, modules->count - first, sizeof(*modules->paths),
		      modules_newest_first);
	return true;
}

/*
 * backends/ next to the program, or where `cmake --install` puts them: the first folder that
 * exists.
 */
static void modules_find_installed(struct backend_modules *modules)
{
	static const char *const folders[] = { "backends", "../lib/gpuproof/backends",
					       "../lib64/gpuproof/backends" };
	char program[4096];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	struct dirent *entry;
	char *slash, *lib;
	bool found = false;
	DIR *dir;

	if (length < 0)
		return;
	program[length] = '\0';
	slash = strrchr(program, '/');
	if (!slash)
		return;
	*slash = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(folders) && !found; i++) {
		char *folder = xasprintf("%s/%s", program, folders[i]);

		found = find_modules(modules, folder);
		free(folder);
	}
	/* Debian's ../lib/<architecture>/gpuproof/backends. */
	lib = xasprintf("%s/../lib", program);
	dir = found ? NULL : opendir(lib);
	while (dir && !found && (entry = readdir(dir))) {
		char *folder = xasprintf("%s/%s/gpuproof/backends", lib, entry->d_name);

		found = entry->d_name[0] != '.' && find_modules(modules, folder);
		free(folder);
	}
	if (dir)
		closedir(dir);
	free(lib);
}

bool backend_modules_find(struct backend_modules *modules)
{
	const char *extra = getenv("GPUPROOF_BACKENDS");
	bool readable;
	int reason;

	*modules = (struct backend_modules){ 0 };
	readable = !extra || !*extra || find_modules(modules, extra);
	reason = errno;
	modules_find_installed(modules);
	errno = reason;
	return readable;
}

void backend_modules_release(struct backend_modules *modules)
{
	for (size_t i = 0; i < modules->count; i++)
		free(modules->paths[i]);
	free(modules->paths);
	*modules = (struct backend_modules){ 0 };
}
