#include "plan/ini/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/embedded.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/text.h"
#include "plan/ini/hint.h"

#define LIMITS "limits/"

static char *source_path_of(const char *name, const struct ini_source *includer)
{
	const char *slash = includer && !includer->embedded ? strrchr(includer->name, '/') : NULL;

	if (!slash || *name == '/')
		return xstrdup(name);
	return xasprintf("%.*s/%s", (int)(slash - includer->name), includer->name, name);
}

static enum status source_read_all(struct ini_source *source, int fd, struct error *err)
{
	struct text bytes = TEXT_EMPTY;
	enum status status = input_read(fd, "config", SOURCE_MAX_BYTES, &bytes, err);

	source->length = bytes.length;
	source->data = text_detach(&bytes);
	if (status == STATUS_OK && memchr(source->data, '\0', source->length))
		return error_set(err, STATUS_USAGE, "not a text file: it contains NUL bytes");
	return status;
}

static enum status source_open_file(struct ini_source *source, const char *name, struct error *err)
{
	struct stat about = { 0 };
	enum status status;
	int fd = input_open(source->name);

	if (fd < 0 && errno == ENOENT) {
		struct text hint = TEXT_EMPTY;

		/* The name is neither a file nor a shipped config. */
		if (strchr(name, '/') || text_ends_with(name, ".ini"))
			return error_set(err, STATUS_USAGE, "no such file");
		hint_files(&hint, name, embedded_configs);
		error_set(err, STATUS_USAGE, "no file and no shipped config of this name%s",
			  hint.data);
		text_release(&hint);
		return STATUS_USAGE;
	}
	if (fd < 0)
		return error_set(err, STATUS_USAGE, "cannot open: %s", strerror(errno));
	if (fstat(fd, &about) == 0) {
		source->device = about.st_dev;
		source->inode = about.st_ino;
	}
	status = source_read_all(source, fd, err);
	close(fd);
	return status;
}

enum status source_open(struct ini_source *source, const char *name,
			const struct ini_source *includer, struct error *err)
{
	const struct embedded_file *embedded;
	bool limits = includer && text_starts_with(name, LIMITS);
	char *with_suffix = xasprintf("%s.ini", limits ? name + strlen(LIMITS) : name);

	embedded = embedded_find(limits ? embedded_limits : embedded_configs, with_suffix);
	free(with_suffix);
	if (!embedded && includer && includer->embedded)
		embedded = embedded_find(embedded_configs, name);
	memset(source, 0, sizeof(*source));
	if (!includer && strcmp(name, "-") == 0) {
		source->name = xstrdup("standard input");
		return source_read_all(source, STDIN_FILENO, err);
	}
	if (!embedded) {
		source->name = source_path_of(name, includer);
		return source_open_file(source, name, err);
	}
	source->name = text_starts_with(name, LIMITS) ? xasprintf("%s.ini", name)
						      : xstrdup(embedded->name);
	source->embedded = true;
	source->length = embedded->size;
	source->data = xstrndup((const char *)embedded->data, embedded->size);
	return STATUS_OK;
}

void source_close(struct ini_source *source)
{
	free(source->name);
	free(source->data);
	memset(source, 0, sizeof(*source));
}
