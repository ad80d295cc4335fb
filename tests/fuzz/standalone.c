/* Gives each file of the folders or files named as arguments to a fuzz target, once. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

static size_t files;

static void try_file(const char *path)
{
	struct text content = TEXT_EMPTY;
	FILE *file = fopen(path, "rb");
	char block[4096], *copy;
	size_t n;

	if (!file) {
		perror(path);
		exit(1);
	}
	while ((n = fread(block, 1, sizeof(block), file)) > 0)
		text_add_bytes(&content, block, n);
	fclose(file);
	fprintf(stderr, "%s\n", path); /* the last one is the cause */
	copy = malloc(content.length + !content.length);
	if (content.length)
		memcpy(copy, content.data, content.length);
	LLVMFuzzerTestOneInput((const uint8_t *)copy, content.length);
	free(copy);
	text_release(&content);
	files++;
}

static void try_path(const char *path)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;

	if (!folder) {
		try_file(path);
		return;
	}
	while ((entry = readdir(folder))) {
		char *name = xasprintf("%s/%s", path, entry->d_name);

		if (entry->d_name[0] != '.')
			try_path(name);
		free(name);
	}
	closedir(folder);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		try_path(argv[i]);
	printf("%zu inputs\n", files);
	return files > 0 ? 0 : 1;
}
