/*
 * Finds partials that are not there, and those that include themselves: mstch follows them until
 * its stack ends.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/template/template.h"
#include "report/template/template_tags.h"

enum state { UNSEEN, OPEN, SOUND };

struct partial_walk {
	const struct template_text *items;
	size_t count;
	enum state *states;
	size_t *chain; /* of items that are open, the page first */
	size_t depth;
	struct error *err;
};

static size_t partial_find(const struct partial_walk *walk, const char *name, size_t length)
{
	for (size_t i = 0; i < walk->count; i++)
		if (strlen(walk->items[i].name) == length &&
		    memcmp(walk->items[i].name, name, length) == 0)
			return i;
	return walk->count;
}

static enum status partial_not_found(const struct partial_walk *walk, size_t from,
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
static enum status is_cycle(const struct partial_walk *walk, size_t from,
			    const struct template_tag *tag, size_t again)
{
	struct text chain = TEXT_EMPTY;

	for (size_t i = 0; i < walk->depth; i++)
		text_addf(&chain, "%s -> ", walk->items[walk->chain[i]].name);
	text_add(&chain, walk->items[again].name);
	error_set(walk->err, STATUS_USAGE,
		  "template %s.mustache:%zu: templates include each other without an end: %.600s",
		  walk->items[from].name, tag->line, chain.data);
	text_release(&chain);
	return walk->err->status;
}

static enum status partials_visit(struct partial_walk *walk, size_t at)
{
	const struct template_text *item = &walk->items[at];
	struct template_tags tags;
	struct template_tag tag;

	walk->states[at] = OPEN;
	walk->chain[walk->depth++] = at;
	template_tags_begin(&tags, item->name, item->text);
	while (template_tags_next(&tags, &tag, walk->err)) {
		size_t partial = tag.kind == '>' ? partial_find(walk, tag.name, tag.length) : at;

		if (tag.kind != '>')
			continue;
		if (partial == walk->count)
			return partial_not_found(walk, at, &tag);
		if (walk->states[partial] == OPEN)
			return is_cycle(walk, at, &tag, partial);
		if (walk->states[partial] == UNSEEN && partials_visit(walk, partial) != STATUS_OK)
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
	enum status status = partials_visit(&walk, (size_t)(page - items));

	free(walk.states);
	free(walk.chain);
	return status;
}
