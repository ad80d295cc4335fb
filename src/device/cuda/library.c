#include "device/cuda/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

static bool library_open_file(struct library *library, const char *file)
{
	library->handle = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
	if (!library->handle)
		snprintf(library->reason, sizeof(library->reason), "%s", dlerror());
	return library->handle != NULL;
}

/* A file that exists but cannot be opened explains more than missing ones. */
static bool library_open_in(struct library *library, const char *folder, size_t length)
{
	char file[PATH_MAX];

	if (length == 0)
		return false;
	snprintf(file, sizeof(file), "%.*s/%s", (int)length, folder, library->soname);
	return access(file, R_OK) == 0 && library_open_file(library, file);
}

/* In the search order of library.h. */
static bool library_find(struct library *library)
{
	static const char *const patterns[] = { "/usr/local/cuda/lib64", "/usr/local/cuda*/lib64",
						"/usr/local/cuda*/targets/*/lib" };
	const char *list = getenv("GPUPROOF_LIBRARY_PATH"), *home = getenv("CUDA_HOME");
	char folder[PATH_MAX];
	bool opened = false;
	glob_t found;

	while (list && *list) {
		size_t length = strcspn(list, ":");

		if (library_open_in(library, list, length))
			return true;
		list += length + (list[length] == ':');
	}
	if (library_open_file(library, library->soname))
		return true;
	if (home && *home) {
		snprintf(folder, sizeof(folder), "%s/lib64", home);
		opened = library_open_in(library, folder, strlen(folder));
	}
	for (size_t i = 0; i < ARRAY_SIZE(patterns) && !opened; i++) {
		if (glob(patterns[i], 0, NULL, &found) != 0)
			continue;
		for (size_t k = 0; k < found.gl_pathc && !opened; k++)
			opened = library_open_in(library, found.gl_pathv[k],
						 strlen(found.gl_pathv[k]));
		globfree(&found);
	}
	return opened;
}

/* Sets the path of the opened file, and the function pointers. */
static void library_read(struct library *library)
{
	struct link_map *map = NULL;
	char real[PATH_MAX];

	if (dlinfo(library->handle, RTLD_DI_LINKMAP, &map) == 0 && map)
		snprintf(library->path, sizeof(library->path), "%.255s",
			 realpath(map->l_name, real) ? real : map->l_name);
	for (size_t i = 0; i < library->symbol_count; i++) {
		const struct library_symbol *symbol = &library->symbols[i];
		void *address = dlsym(library->handle, symbol->name);

		if (!address && symbol->required) {
			library_refuse(library, "%.200s has no symbol %s", library->path,
				       symbol->name);
			return;
		}
		memcpy((char *)library->functions + symbol->offset, &address, sizeof(address));
	}
}

enum status library_open(struct library *library, struct error *err)
{
	if (!library->tried) {
		library->tried = true;
		if (library_find(library))
			library_read(library);
	}
	if (library->handle)
		return STATUS_OK;
	return error_set(err, STATUS_UNSUPPORTED,
			 "%s is missing: %s (searched for %s in $GPUPROOF_LIBRARY_PATH, the "
			 "loader's folders, $CUDA_HOME and /usr/local/cuda*)",
			 library->name, library->reason, library->soname);
}

/* The library stays mapped: closing one that started threads is not safe. */
void library_refuse(struct library *library, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(library->reason, sizeof(library->reason), format, ap);
	va_end(ap);
	library->handle = NULL;
}
