#include "suites/command/keep.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"

#define FOLDER "outputs"
/* Bytes kept from the start and from the end of a stream. */
#define PART_BYTES ((size_t)512 << 10)
#define LAST_WORDS 200

/* "outputs/command_1MiB_cuda_0.stdout", from a case's id. */
static char *command_keep_name_of(const char *id, const char *stream)
{
	char *name = xasprintf("%s/%.200s.%s", FOLDER, id, stream);

	for (char *p = name + strlen(FOLDER) + 1; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			*p = '_';
	return name;
}

static bool command_keep_write_whole(int fd, const char *bytes, size_t count)
{
	while (count > 0) {
		ssize_t put = write(fd, bytes, count);

		if (put < 0 && errno != EINTR)
			return false;
		bytes += put > 0 ? put : 0;
		count -= put > 0 ? (size_t)put : 0;
	}
	return true;
}

static bool command_keep_write_stream(int fd, const struct program_stream *stream)
{
	size_t kept = stream->kept.length, first = kept < 2 * PART_BYTES ? kept : PART_BYTES;
	const char *bytes = stream->kept.data;
	char *gap;
	bool written;

	if (!command_keep_write_whole(fd, bytes, first))
		return false;
	if (first == kept && kept == stream->bytes)
		return true;
	gap = xasprintf("\n[of %zu bytes the first %zu and the last %zu of %zu that were kept]\n",
			stream->bytes, first, kept - first < PART_BYTES ? kept - first : PART_BYTES,
			kept);
	written = command_keep_write_whole(fd, gap, strlen(gap)) &&
		  (first == kept ||
		   command_keep_write_whole(fd, bytes + kept - PART_BYTES, PART_BYTES));
	free(gap);
	return written;
}

/* False: the stream is empty, or cannot be stored. */
static bool keep_stream(const char *folder, const char *name, const struct program_stream *stream)
{
	char *path = xasprintf("%s/%s", folder, name);
	int fd = stream->kept.length
			 ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666)
			 : -1;
	bool kept = fd >= 0 && command_keep_write_stream(fd, stream);

	if (fd >= 0)
		close(fd);
	free(path);
	return kept;
}

/* The last non-empty line; the caller frees it. */
static char *command_keep_last_line(const struct text *text)
{
	size_t end = text->length, start;

	while (end && isspace((unsigned char)text->data[end - 1]))
		end--;
	for (start = end; start && text->data[start - 1] != '\n' && end - start < LAST_WORDS;)
		start--;
	return text_trimmed(text->data ? text->data + start : "", end - start);
}

void keep_output(const struct run *run, const struct program_end *end, struct error *err)
{
	char *output = command_keep_name_of(run->c->id, "stdout"),
	     *errors = command_keep_name_of(run->c->id, "stderr");
	char *folder = run->folder ? xasprintf("%s/%s", run->folder, FOLDER) : NULL;
	char *words = command_keep_last_line(end->errors.kept.length ? &end->errors.kept
								     : &end->output.kept);
	struct text more = TEXT_EMPTY;

	for (char *p = words; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
	if (*words)
		text_addf(&more, "; last output: %s", words);
	if (folder && (end->output.kept.length || end->errors.kept.length))
		mkdir(folder, 0777);
	if (folder && keep_stream(run->folder, output, &end->output))
		text_addf(&more, "; %s", output);
	if (folder && keep_stream(run->folder, errors, &end->errors))
		text_addf(&more, "; %s", errors);
	if (more.data) {
		struct error longer = ERROR_NONE;

		error_set(&longer, err->status, "%.700s%s", err->message, more.data);
		*err = longer;
	}
	text_release(&more);
	free(words);
	free(folder);
	free(output);
	free(errors);
}
