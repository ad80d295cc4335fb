/*
 * Reads the text of all formats line by line: removes colours and launchers' prefixes, and matches
 * lines against patterns. Lines of other programs in between are ignored. Tables have columns named
 * by a heading.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "import/reading.h"

#define CAPTURES 12
#define PREFIX 160

struct line_reader {
	const char *at, *end;
	const char *feed, *back; /* next '\n' and '\r' after `at`, or `end`; NULL: not searched */
	size_t number;
	char *line, *captured; /* `capacity` bytes and a few more */
	size_t capacity;
	char prefix[PREFIX]; /* launcher's prefix; "": none */
};

/* Removes terminal controls such as "\033[1;31m", and trailing blanks. */
static void clean_line(char *line)
{
	char *to = line;

	for (char *p = line; *p; p++) {
		if (*p == '\033' && p[1] == '[') {
			p += 2 + strspn(p + 2, "0123456789;?");
			if (!*p)
				break;
		} else {
			*to++ = *p;
		}
	}
	while (to > line && isspace((unsigned char)to[-1]))
		to--;
	*to = '\0';
}

/* The next `c` after `at`. Caches it, because many lines may end in the other character. */
static const char *next_line_end(const struct line_reader *r, const char *known, char c)
{
	const char *found;

	if (known && known >= r->at)
		return known;
	found = memchr(r->at, c, (size_t)(r->end - r->at));
	return found ? found : r->end;
}

/*
 * Reads the next line. A lone '\r' also ends a line, because progress output overwrites itself.
 * Line numbers are those that editors show.
 */
static bool import_read_line(struct line_reader *r)
{
	const char *stop;
	size_t length;

	if (r->at == r->end)
		return false;
	if (r->at[-(r->number > 0)] == '\n' || !r->number)
		r->number++;
	r->feed = next_line_end(r, r->feed, '\n');
	r->back = next_line_end(r, r->back, '\r');
	stop = r->feed < r->back ? r->feed : r->back;
	length = (size_t)(stop - r->at);
	if (r->capacity <= length) {
		r->capacity = 2 * length + 256;
		r->line = xrealloc(r->line, r->capacity, 1);
		r->captured = xrealloc(r->captured, r->capacity + CAPTURES, 1);
	}
	memcpy(r->line, r->at, length);
	r->line[length] = '\0';
	r->at = stop < r->end ? stop + 1 : r->end;
	/* "\r\n" ends one line, not two. */
	if (stop < r->end && *stop == '\r' && r->at < r->end && *r->at == '\n')
		r->at++;
	clean_line(r->line);
	return true;
}

/*
 * Skips a prefix of the same shape, whose numbers (times, ranks) may differ. NULL: no such prefix.
 */
static char *lines_after_prefix(char *line, const char *prefix)
{
	static const char digits[] = "0123456789";

	line += strspn(line, " \t");
	prefix += strspn(prefix, " \t");
	for (; *prefix; prefix++, line++) {
		if (isdigit((unsigned char)*prefix) && isdigit((unsigned char)*line)) {
			prefix += strspn(prefix, digits) - 1;
			line += strspn(line, digits) - 1;
		} else if (*prefix != *line) {
			/* On an empty line, the blanks after "0: " were removed. */
			return !*line && !prefix[strspn(prefix, " \t")] ? line : NULL;
		}
	}
	return line;
}

/* Marks that begin with '~' or '"' may be anywhere in a line or in JSON. */
static bool begins_line(const char *mark)
{
	return *mark != '~' && *mark != '"';
}

/* True if `line`, after blanks, begins with a mark of the format. */
static bool lines_begins_with_mark(const struct import_format *format, const char *line)
{
	line += strspn(line, " \t");
	for (size_t i = 0; format->marks[i]; i++)
		if (begins_line(format->marks[i]) && text_starts_with(line, format->marks[i]))
			return true;
	return false;
}

/* The line without its prefix. The prefix is the text before the first mark within a line. */
static char *lines_strip_prefix(struct line_reader *r, const struct import_format *format)
{
	char *rest = *r->prefix ? lines_after_prefix(r->line, r->prefix) : r->line;

	if (rest && lines_begins_with_mark(format, rest))
		return rest;
	if (lines_begins_with_mark(format, r->line)) {
		r->prefix[0] = '\0';
		return r->line;
	}
	for (size_t i = 0; format->marks[i]; i++) {
		const char *wanted = format->marks[i];
		char *first = begins_line(wanted) ? strchr(r->line, *wanted) : NULL;
		char *mark = first ? strstr(first, wanted) : NULL;

		if (!mark || (size_t)(mark - r->line) >= sizeof(r->prefix))
			continue;
		memcpy(r->prefix, r->line, (size_t)(mark - r->line));
		r->prefix[mark - r->line] = '\0';
		return mark;
	}
	return rest ? rest : r->line;
}

/* End of the text before the pattern's next literal, or of the line; NULL if it is missing. */
static const char *lines_text_before(const char *line, const char *pattern)
{
	char wanted[64];
	size_t length;

	pattern += strspn(pattern, " ");
	length = strcspn(pattern, " %*");
	if (!length || length >= sizeof(wanted))
		return line + strlen(line);
	memcpy(wanted, pattern, length);
	wanted[length] = '\0';
	return strstr(line, wanted);
}

/* Length of the text that `kind` captures at `line`; -1 if it matches nothing. */
static ptrdiff_t lines_capture_length(char kind, const char *line, const char *pattern)
{
	const char *end;
	size_t length;

	switch (kind) {
	case 'd':
		length = strspn(line, "0123456789");
		return length ? (ptrdiff_t)length : -1;
	case 'n':
		length = strspn(line, "+-.0123456789eEnaif");
		return length ? (ptrdiff_t)length : -1;
	case 'w':
		length = strcspn(line, " \t");
		if (*pattern && !strchr(" %*", *pattern)) {
			end = memchr(line, *pattern, length);
			length = end ? (size_t)(end - line) : length;
		}
		return length ? (ptrdiff_t)length : -1;
	case 't':
		end = lines_text_before(line, pattern);
		return end ? end - line : -1;
	default:
		return (ptrdiff_t)strlen(line);
	}
}

/* Matches a line. Captures point from `out` to copies in `room`. */
static bool line_fits(const char *line, const char *pattern, char *room, char **out)
{
	size_t count = 0;

	while (*pattern) {
		char c = *pattern++;

		if (c == ' ') {
			line += strspn(line, " \t");
		} else if (c == '*') {
			line = lines_text_before(line, pattern);
			if (!line)
				return false;
		} else if (c == '%' && *pattern != '%') {
			char kind = *pattern++;
			ptrdiff_t length = lines_capture_length(kind, line, pattern);
			size_t kept;

			if (length < 0 || count == CAPTURES - 1)
				return false;
			kept = (size_t)length;
			while (kept && isspace((unsigned char)line[kept - 1]))
				kept--;
			memcpy(room, line, kept);
			room[kept] = '\0';
			out[count++] = room;
			room += kept + 1;
			line += length;
		} else {
			pattern += c == '%';
			if (*line++ != c)
				return false;
		}
	}
	out[count] = NULL;
	return true;
}

size_t import_lines_between(const char *from, const char *to)
{
	size_t lines = 0;

	for (; from < to; from++)
		lines += *from == '\n';
	return lines;
}

const char *lines_find_word(const char *text, const char *const *words)
{
	const char *found = NULL;

	for (; *words && !found; words++)
		found = strstr(text, *words);
	return found;
}

bool lines_is_failure(const char *line)
{
	return lines_find_any(line, "mpirun noticed that process", "BAD TERMINATION OF ONE OF YOUR",
			      "exited on signal", "Segmentation fault", "slurmstepd: error: ***",
			      "DUE TO TIME LIMIT", "Primary job  terminated normally, but",
			      "MPI_ABORT was invoked", "*** An error occurred in",
			      "terminate called after throwing", "(core dumped)",
			      "RuntimeError: ", "OutOfMemoryError: ", "Cuda failure ", "CUDA error",
			      "GPU is lost", "Unable to determine the device handle");
}

void lines_take_gpu(struct import *import)
{
	size_t number = strtoul(import->v[0], NULL, 10);

	if (number >= IMPORT_GPUS)
		return;
	snprintf(import->gpus[number].name, sizeof(import->gpus[0].name), "%s", import->v[1]);
	snprintf(import->gpus[number].uuid, sizeof(import->gpus[0].uuid), "%s", import->v[2]);
}

void import_lines(struct import *import, const struct import_rule *rules)
{
	struct line_reader r = { .at = import->text, .end = import->text + import->length };
	char *captured[CAPTURES];

	import->v = captured;
	while (!building_stopped(import) && import_read_line(&r)) {
		const char *line = lines_strip_prefix(&r, import->format);

		import->line = r.number;
		line += strspn(line, " \t");
		/* Remember the first failure. Rows begin with digits, headings with '#'. */
		if (!import->failure && *line != '#' && !isdigit((unsigned char)*line) &&
		    lines_is_failure(line))
			import->failure = xasprintf("line %zu: %.200s", r.number, line);
		for (const struct import_rule *rule = rules; *line && rule->pattern; rule++) {
			if (!line_fits(line, rule->pattern, r.captured, captured))
				continue;
			if (rule->fact)
				building_fact(import, rule->fact, captured[0]);
			if (rule->bytes == sizeof(bool))
				*((bool *)import->state + rule->offset) = true;
			else if (rule->bytes)
				snprintf((char *)import->state + rule->offset, rule->bytes, "%s",
					 captured[0]);
			if (rule->take)
				rule->take(import);
			break;
		}
	}
	import->line = 0;
	import->v = NULL;
	free(r.line);
	free(r.captured);
}

/* Finds the text before the first '{' that the next line also begins with; "" if none. */
static void lines_json_prefix(const struct import *import, char *prefix, size_t size)
{
	const char *brace = memchr(import->text, '{', import->length), *start = brace, *next;
	char line[PREFIX];

	*prefix = '\0';
	while (brace && start > import->text && start[-1] != '\n')
		start--;
	next = brace ? memchr(brace, '\n', import->length - (size_t)(brace - import->text)) : NULL;
	if (!next || start == brace || (size_t)(brace - start) >= size)
		return;
	memcpy(prefix, start, (size_t)(brace - start));
	prefix[brace - start] = '\0';
	snprintf(line, sizeof(line), "%.*s", (int)(import->text + import->length - next - 1),
		 next + 1);
	if (!prefix[strspn(prefix, " \t")] || !lines_after_prefix(line, prefix))
		*prefix = '\0';
}

void lines_unprefixed(const struct import *import, struct text *out)
{
	char prefix[PREFIX];
	struct line_reader r = { .at = import->text, .end = import->text + import->length };

	lines_json_prefix(import, prefix, sizeof(prefix));
	if (!*prefix) {
		text_add_bytes(out, import->text, import->length);
		text_add(out, "");
		return;
	}
	while (import_read_line(&r)) {
		char *rest = lines_after_prefix(r.line, prefix);

		text_add(out, rest ? rest : r.line);
		text_add_char(out, '\n');
	}
	free(r.line);
	free(r.captured);
}

/*
 * Reads one field (RFC 4180) at *at and unquotes it in place. Sets *at to the text after the
 * separator, or to NULL at the end.
 */
static char *lines_quoted_field(char **at, char separator)
{
	char *start = *at, *to = *at, *p = *at;
	bool quoted = *p == '"';

	if (quoted)
		p++;
	for (; *p && (quoted || *p != separator); p++) {
		if (quoted && *p == '"' && p[1] == '"')
			*to++ = *p++;
		else if (quoted && *p == '"')
			quoted = false;
		else
			*to++ = *p;
	}
	*at = *p ? p + 1 : NULL;
	while (to > start && to[-1] == ' ')
		to--;
	*to = '\0';
	return start + strspn(start, " ");
}

/*
 * Splits `line` at separators: ',' with quoted fields, or ' ' for any white space. Keeps the first
 * `most` fields and returns the number of all.
 */
static size_t lines_split(char *line, char separator, char **fields, size_t most)
{
	char *at = line, *field;
	size_t count = 0;

	while (at && (field = separator == ' ' ? strtok_r(NULL, " \t", &at)
					       : lines_quoted_field(&at, separator))) {
		if (count < most)
			fields[count] = field;
		count++;
	}
	return count;
}

void lines_heading(struct import *import, const char *line, char separator)
{
	free(import->heading);
	import->heading = xstrdup(line);
	import->column_count =
		lines_split(import->heading, separator, import->columns, IMPORT_FIELDS);
	if (import->column_count < IMPORT_FIELDS)
		return;
	building_error(import, "%zu columns; import reads at most %d", import->column_count,
		       IMPORT_FIELDS - 1);
	import->column_count = 0;
}

size_t lines_row(struct import *import, char *line, char separator, size_t most)
{
	size_t count;

	most = most < IMPORT_FIELDS ? most : IMPORT_FIELDS;
	count = lines_split(line, separator, import->fields, most);
	return import->field_count = count < most ? count : most;
}

int lines_column(const struct import *import, const char *name, int nth)
{
	for (size_t i = 0; i < import->column_count; i++)
		if (strcmp(import->columns[i], name) == 0 && nth-- == 0)
			return (int)i;
	return -1;
}

char *lines_cell(const struct import *import, const char *name, int nth)
{
	static char nothing[] = "";
	int column = lines_column(import, name, nth);

	return column >= 0 ? import->fields[column] : nothing;
}

bool lines_real(const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return end != text && !*end && isfinite(*value);
}

double lines_number(struct import *import, const char *text, const char *what)
{
	double value = (double)NAN;

	if (!lines_real(text, &value))
		building_error(import, "expected %s, not '%.40s'", what, text);
	return value;
}

double lines_half_digit(const char *text)
{
	const char *exponent = strpbrk(text, "eE"), *point = strchr(text, '.');
	double half = 0.5;

	if (point)
		half *= pow(10, -(double)strspn(point + 1, "0123456789"));
	return exponent ? half * pow(10, atoi(exponent + 1)) : half;
}
