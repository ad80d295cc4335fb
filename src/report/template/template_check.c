/* Finds tags and sections of a template that are not closed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/template/template.h"

struct template_tag {
	/*
	 * '#', '^', '/', '>', '!', '{', '&', or 0: a variable; a change of delimiters is taken in
	 * itself
	 */
	char kind;
	const char *name; /* within the template, without blanks around it */
	size_t length, line;
};

struct template_tags {
	const char *template_name; /* for messages */
	const char *at;
	size_t line;
	char open[16], close[16]; /* the delimiters from here on */
};

/* `text` ends with a zero and outlives the tags. */
static void template_check_tags_begin(struct template_tags *tags, const char *template_name,
				      const char *text)
{
	*tags = (struct template_tags){ template_name, text, 1, "{{", "}}" };
}

/* Everything up to `to` is read. */
static void template_check_move_to(struct template_tags *tags, const char *to)
{
	for (; tags->at < to; tags->at++)
		tags->line += *tags->at == '\n';
}

/* `text` of `length` bytes is the text between the delimiters: "=<% %>=". */
static bool template_check_change_delimiters(struct template_tags *tags, const char *text,
					     size_t length, struct error *err)
{
	char inner[40], open[16], close[16], rest;

	if (length > 2 && length < sizeof(inner) && text[length - 1] == '=') {
		memcpy(inner, text + 1, length - 2);
		inner[length - 2] = '\0';
		if (sscanf(inner, " %15s %15s %c", open, close, &rest) == 2 && !strchr(open, '=') &&
		    !strchr(close, '=')) {
			strcpy(tags->open, open);
			strcpy(tags->close, close);
			return true;
		}
	}
	error_set(err, STATUS_USAGE,
		  "template %s:%zu: %s%.*s%s does not change delimiters; write {{=<%% %%>=}}",
		  tags->template_name, tags->line, tags->open, length > 40 ? 40 : (int)length, text,
		  tags->close);
	return false;
}

static struct template_tag template_check_tag_of(const char *text, size_t length, size_t line)
{
	struct template_tag tag = { 0, text, length, line };

	if (length && strchr("#^/>!{&", *text)) {
		tag.kind = *text;
		tag.name++;
		tag.length--;
	}
	while (tag.length && strchr(" \t\r\n", *tag.name)) {
		tag.name++;
		tag.length--;
	}
	while (tag.length && strchr(" \t\r\n", tag.name[tag.length - 1]))
		tag.length--;
	return tag;
}

/*
 * Reads the next tag. False at the end, or with `err` set if a tag is unterminated or sets empty
 * delimiters.
 */
static bool template_check_tags_next(struct template_tags *tags, struct template_tag *tag,
				     struct error *err)
{
	for (;;) {
		const char *start = strstr(tags->at, tags->open), *text, *end;
		size_t line;

		if (!start)
			return false;
		template_check_move_to(tags, start);
		text = start + strlen(tags->open);
		end = strstr(text, tags->close);
		if (!end) {
			error_set(err, STATUS_USAGE, "template %s:%zu: a tag is not closed",
				  tags->template_name, tags->line);
			return false;
		}
		line = tags->line;
		*tag = template_check_tag_of(text, (size_t)(end - text), line);
		template_check_move_to(tags, end + strlen(tags->close));
		if (*text != '=')
			return true;
		tags->line = line;
		if (!template_check_change_delimiters(tags, text, (size_t)(end - text), err))
			return false;
	}
}

/*
 * Finds partials that are not there, and those that include themselves: mstch follows them until
 * its stack ends.
 */

enum state { UNSEEN, OPEN, SOUND };

struct partial_walk {
	const struct template_text *items;
	size_t count;
	enum state *states;
	size_t *chain; /* of items that are open, the page first */
	size_t depth;
	struct error *err;
};

static size_t template_check_partial_find(const struct partial_walk *walk, const char *name,
					  size_t length)
{
	for (size_t i = 0; i < walk->count; i++)
		if (strlen(walk->items[i].name) == length &&
		    memcmp(walk->items[i].name, name, length) == 0)
			return i;
	return walk->count;
}

static enum status template_check_partial_not_found(const struct partial_walk *walk, size_t from,
						    const struct template_tag *tag)
{
	const char **names = xcalloc(walk->count + 1, sizeof(*names));
	char *name = xstrndup(tag->name, tag->length);
	const char *near;

	for (size_t i = 0; i < walk->count; i++)
		names[i] = walk->items[i].name;
	near = text_nearest(name, names);
	error_set(walk->err, STATUS_USAGE,
		  "template %s.mustache:%zu: there is no template '%.100s'%s%s%s",
		  walk->items[from].name, tag->line, name, near ? "; did you mean '" : "",
		  near ? near : "", near ? "'?" : "");
	free(name);
	free(names);
	return walk->err->status;
}

/* "run -> section_a -> run" */
static enum status template_check_is_cycle(const struct partial_walk *walk, size_t from,
					   const struct template_tag *tag, size_t again)
{
	struct text chain = TEXT_EMPTY;

	for (size_t i = 0; i < walk->depth; i++)
		text_addf(&chain, "%s -> ", walk->items[walk->chain[i]].name);
	text_add(&chain, walk->items[again].name);
	error_set(walk->err, STATUS_USAGE,
		  "template %s.mustache:%zu: templates include each other in a cycle: %.600s",
		  walk->items[from].name, tag->line, chain.data);
	text_release(&chain);
	return walk->err->status;
}

static enum status template_check_partials_visit(struct partial_walk *walk, size_t at)
{
	const struct template_text *item = &walk->items[at];
	struct template_tags tags;
	struct template_tag tag;

	walk->states[at] = OPEN;
	walk->chain[walk->depth++] = at;
	template_check_tags_begin(&tags, item->name, item->text);
	while (template_check_tags_next(&tags, &tag, walk->err)) {
		size_t partial = tag.kind == '>'
					 ? template_check_partial_find(walk, tag.name, tag.length)
					 : at;

		if (tag.kind != '>')
			continue;
		if (partial == walk->count)
			return template_check_partial_not_found(walk, at, &tag);
		if (walk->states[partial] == OPEN)
			return template_check_is_cycle(walk, at, &tag, partial);
		if (walk->states[partial] == UNSEEN &&
		    template_check_partials_visit(walk, partial) != STATUS_OK)
			return walk->err->status;
	}
	walk->depth--;
	walk->states[at] = SOUND;
	return walk->err->status;
}

enum status template_check_partials(const struct template_text *page,
				    const struct template_text *items, size_t count,
				    struct error *err)
{
	struct partial_walk walk = { .items = items,
				     .count = count,
				     .states = xcalloc(count, sizeof(*walk.states)),
				     .chain = xcalloc(count, sizeof(*walk.chain)),
				     .err = err };
	enum status status = template_check_partials_visit(&walk, (size_t)(page - items));

	free(walk.states);
	free(walk.chain);
	return status;
}

struct template_checking {
	const char *name;
	struct error *err;
	struct template_tag *open; /* sections, innermost last */
	size_t count, capacity;
};

static enum status template_check_close_section(struct template_checking *check,
						const struct template_tag *tag)
{
	const struct template_tag *last = check->count ? &check->open[check->count - 1] : NULL;

	if (!last)
		return error_set(check->err, STATUS_USAGE,
				 "template %s:%zu: {{/%.*s}} closes no open section", check->name,
				 tag->line, (int)tag->length, tag->name);
	if (last->length != tag->length || memcmp(last->name, tag->name, tag->length) != 0)
		return error_set(check->err, STATUS_USAGE,
				 "template %s:%zu: found {{/%.*s}}, expected {{/%.*s}} to close "
				 "the section opened on line %zu",
				 check->name, tag->line, (int)tag->length, tag->name,
				 (int)last->length, last->name, last->line);
	check->count--;
	return STATUS_OK;
}

static enum status template_check_tag(struct template_checking *check,
				      const struct template_tag *tag)
{
	if (tag->kind == '/')
		return template_check_close_section(check, tag);
	if (tag->kind != '#' && tag->kind != '^')
		return STATUS_OK;
	ARRAY_GROW(check->open, check->count, check->capacity);
	check->open[check->count++] = *tag;
	return STATUS_OK;
}

static enum status template_check_tags(struct template_checking *check, const char *text)
{
	const struct template_tag *last;
	struct template_tags tags;
	struct template_tag tag;

	template_check_tags_begin(&tags, check->name, text);
	while (template_check_tags_next(&tags, &tag, check->err))
		if (template_check_tag(check, &tag) != STATUS_OK)
			return check->err->status;
	if (check->err->status != STATUS_OK || !check->count)
		return check->err->status;
	last = &check->open[check->count - 1];
	return error_set(check->err, STATUS_USAGE, "template %s:%zu: {{%.*s}} is never closed",
			 check->name, last->line, (int)last->length, last->name);
}

enum status template_check(const char *name, const char *text, size_t length, struct error *err)
{
	struct error own = ERROR_NONE;
	struct template_checking check = { .name = name, .err = err ? err : &own };
	enum status status;

	if (strlen(text) != length)
		return error_set(err, STATUS_USAGE, "template %s has a NUL byte", name);
	status = template_check_tags(&check, text);
	free(check.open);
	return status;
}
