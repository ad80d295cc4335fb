#include "cli/result_list.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"

static char *file_of(const char *path)
{
	struct stat about;
	size_t length = strlen(path);

	if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode))
		return xstrdup(path);
	return xasprintf("%s%sresult.json", path, length && path[length - 1] == '/' ? "" : "/");
}

enum status result_list_add(struct result_list *list, const char *path, struct error *err)
{
	char *file = file_of(path);

	if (list->count == list->capacity) {
		list->capacity = list->capacity ? 2 * list->capacity : 8;
		list->items = xrealloc(list->items, list->capacity, sizeof(*list->items));
		list->paths = xrealloc(list->paths, list->capacity, sizeof(*list->paths));
	}
	if (result_read(&list->items[list->count], file, err) != STATUS_OK) {
		free(file);
		return err->status;
	}
	list->paths[list->count++] = file;
	return STATUS_OK;
}

void result_list_release(struct result_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		result_release(&list->items[i]);
		free(list->paths[i]);
	}
	free(list->items);
	free(list->paths);
	memset(list, 0, sizeof(*list));
}
