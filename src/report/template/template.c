#include "report/template/template.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/embedded.h"
#include "base/file.h"
#include "base/input.h"
#include "base/memory.h"

#define SUFFIX ".mustache"
#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/*
 * Bytes of the well-formed UTF-8 character at `p` that HTML allows in text; 0 when there is none.
 */
static size_t template_html_character_length(const unsigned char *p, size_t count)
{
	size_t n = *p < 0x80 ? 1 : *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : 2;

	if (n == 1)
		return (*p >= 0x20 && *p != 0x7f) || *p == '\n' || *p == '\t';
	if (n > count || !text_is_utf8((const char *)p, n))
		return 0;
	if (n == 2 && p[0] == 0xc2 && p[1] < 0xa0)
		return 0; /* C1 control characters */
	if (n >= 3 && p[n - 1] >= 0xbe && p[n - 2] == 0xbf &&
	    (n == 4 ? (p[1] & 0x0f) == 0x0f : p[0] == 0xef))
		return 0; /* U+xFFFE and U+xFFFF */
	if (n == 3 && p[0] == 0xef && p[1] == 0xb7 && p[2] >= 0x90 && p[2] <= 0xaf)
		return 0; /* U+FDD0..U+FDEF */
	/*
	 * These characters change the text direction: a name could alter how other text of the page
	 * reads.
	 */
	if (n == 3 && p[0] == 0xe2 && p[1] == 0x80 && p[2] >= 0xaa && p[2] <= 0xae)
		return 0; /* U+202A..U+202E */
	if (n == 3 && p[0] == 0xe2 && p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9)
		return 0; /* U+2066..U+2069 */
	return n;
}

static const char *template_html_entity(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

void template_escape(struct text *out, const char *bytes, size_t count)
{
	size_t plain = 0; /* start of the text that needs no escaping */

	for (size_t i = 0; i < count;) {
		size_t n =
			template_html_character_length((const unsigned char *)bytes + i, count - i);
		const char *instead = n ? template_html_entity(bytes[i]) : REPLACEMENT;

		if (instead) {
			text_add_bytes(out, bytes + plain, i - plain);
			text_add(out, instead);
			plain = i + 1;
		}
		i += n ? n : 1;
	}
	text_add_bytes(out, bytes + plain, count - plain);
}

enum status template_file(const char *name, const char *directory, char **out, size_t *length,
			  struct error *err)
{
	const struct embedded_file *file = embedded_find(embedded_templates, name);
	char *path = directory ? xasprintf("%s/%s", directory, name) : NULL;
	struct text own = TEXT_EMPTY;
	struct stat about;

	/* A dangling link exists but cannot be read. */
	if (path && lstat(path, &about) == 0) {
		if (input_read_file(path, "template", TEMPLATE_MOST_BYTES, &own, err) !=
		    STATUS_OK) {
			text_release(&own);
			free(path);
			return err->status;
		}
		free(path);
		*length = own.length;
		*out = text_detach(&own);
		return STATUS_OK;
	}
	free(path);
	if (!file)
		return error_set(err, STATUS_INTERNAL, "there is no template '%s'", name);
	*length = file->size;
	*out = xstrndup((const char *)file->data, file->size);
	return STATUS_OK;
}

struct templates {
	struct template_text *items;
	size_t count, capacity;
};

static void templates_release(struct templates *templates)
{
	for (size_t i = 0; i < templates->count; i++) {
		free((char *)templates->items[i].name);
		free((char *)templates->items[i].text);
	}
	free(templates->items);
}

static struct template_text *templates_find(const struct templates *templates, const char *name)
{
	for (size_t i = 0; i < templates->count; i++)
		if (strcmp(templates->items[i].name, name) == 0)
			return &templates->items[i];
	return NULL;
}

/*
 * Adds, or replaces by, the file `file` ("run.mustache") of `directory` or else the embedded one.
 */
static enum status templates_add(struct templates *templates, const char *file,
				 const char *directory, struct error *err)
{
	struct template_text *old;
	struct template_text new = { 0 };
	char *text, *name;
	enum status status = template_file(file, directory, &text, &new.length, err);

	if (status != STATUS_OK)
		return status;
	if (template_check(file, text, new.length, err) != STATUS_OK) {
		free(text);
		return STATUS_USAGE;
	}
	name = xstrndup(file, strlen(file) - strlen(SUFFIX));
	new.name = name;
	new.text = text;
	old = templates_find(templates, name);
	if (old) {
		free((char *)old->name);
		free((char *)old->text);
		*old = new;
		return STATUS_OK;
	}
	ARRAY_GROW(templates->items, templates->count, templates->capacity);
	templates->items[templates->count++] = new;
	return STATUS_OK;
}

/* Lists the files of a directory and of its folders, one level deep, without hidden folders. */
typedef enum status file_fn(void *context, const char *directory, const char *name,
			    struct error *err);

static enum status templates_each_file(const char *directory, bool descends, file_fn *fn,
				       void *context, struct error *err)
{
	DIR *dir = opendir(directory);
	const struct dirent *entry;
	enum status status = STATUS_OK;
	struct stat about;

	if (!dir)
		return error_errno(err, "%s", directory);
	while (status == STATUS_OK && (entry = readdir(dir))) {
		char *path = xasprintf("%s/%s", directory, entry->d_name);

		if (text_ends_with(path, SUFFIX) || stat(path, &about) != 0 ||
		    !S_ISDIR(about.st_mode))
			status = fn(context, directory, entry->d_name, err);
		else if (descends && entry->d_name[0] != '.')
			status = templates_each_file(path, false, fn, context, err);
		free(path);
	}
	closedir(dir);
	return status;
}

/* Templates of a directory, in place of built-in ones. */
struct own_templates {
	struct templates *all;
	struct templates seen; /* names only */
	bool has_style;
};

static enum status templates_take_file(void *context, const char *directory, const char *name,
				       struct error *err)
{
	struct own_templates *own = context;

	own->has_style |= strcmp(name, REPORT_STYLE_FILE) == 0;
	if (!text_ends_with(name, SUFFIX))
		return STATUS_OK;
	if (templates_find(&own->seen, name))
		return error_set(err, STATUS_USAGE,
				 "%s/%s: another folder contains a template of the same name",
				 directory, name);
	ARRAY_GROW(own->seen.items, own->seen.count, own->seen.capacity);
	own->seen.items[own->seen.count++] = (struct template_text){ .name = xstrdup(name) };
	return templates_add(own->all, name, directory, err);
}

static enum status templates_from_directory(struct templates *templates, const char *directory,
					    struct error *err)
{
	struct own_templates own = { .all = templates };
	enum status status = templates_each_file(directory, true, templates_take_file, &own, err);

	if (status == STATUS_OK && !own.seen.count && !own.has_style)
		status = error_set(err, STATUS_USAGE, "%s: the folder has no *%s and no %s",
				   directory, SUFFIX, REPORT_STYLE_FILE);
	templates_release(&own.seen);
	return status;
}

static enum status templates_load(struct templates *templates, const char *directory,
				  struct error *err)
{
	enum status status = STATUS_OK;

	for (const struct embedded_file *f = embedded_templates; status == STATUS_OK && f->name;
	     f++)
		if (text_ends_with(f->name, SUFFIX))
			status = templates_add(templates, f->name, NULL, err);
	if (status == STATUS_OK && directory)
		status = templates_from_directory(templates, directory, err);
	return status;
}

enum status template_render(const char *name, const char *directory, const struct tree *root,
			    struct text *out, struct error *err)
{
	struct templates templates = { 0 };
	const struct template_text *page = NULL;
	size_t length;
	char *html = NULL;
	enum status status = templates_load(&templates, directory, err);

	if (status != STATUS_OK)
		goto out;
	page = templates_find(&templates, name);
	if (!page) {
		status = error_set(err, STATUS_INTERNAL, "there is no template '%s'", name);
		goto out;
	}
	status = template_check_partials(page, templates.items, templates.count, err);
	if (status != STATUS_OK)
		goto out;
	html = template_mstch_render_text(page->text, page->length, root, templates.items,
					  templates.count, &length, err);
	if (!html) {
		status = err ? err->status : STATUS_USAGE;
		goto out;
	}
	text_add_bytes(out, html, length);
out:
	free(html);
	templates_release(&templates);
	return status;
}
