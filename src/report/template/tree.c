#include "report/template/tree.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct tree *tree_new(enum tree_kind kind)
{
	struct tree *tree = xcalloc(1, sizeof(*tree));

	tree->kind = kind;
	return tree;
}

void tree_free(struct tree *tree)
{
	if (!tree)
		return;
	for (size_t i = 0; i < tree->count; i++)
		tree_free(tree->children[i]);
	free(tree->children);
	free(tree->name);
	free(tree->text);
	free(tree->attached);
	free(tree);
}

void tree_append(struct tree *list, struct tree *child)
{
	ARRAY_GROW(list->children, list->count, list->capacity);
	list->children[list->count++] = child;
}

/* A template would take the first and the other would never be seen. */
static bool tree_has_member(const struct tree *map, const char *name)
{
	for (size_t i = 0; i < map->count; i++)
		if (strcmp(map->children[i]->name, name) == 0)
			return true;
	return false;
}

void tree_set(struct tree *map, const char *name, struct tree *child)
{
	assert(!tree_has_member(map, name));
	(void)tree_has_member;
	free(child->name);
	child->name = xstrdup(name);
	tree_append(map, child);
}

void tree_text_owned(struct tree *map, const char *name, char *text)
{
	struct tree *child = tree_new(TREE_TEXT);

	child->text = text;
	tree_set(map, name, child);
}

void tree_text(struct tree *map, const char *name, const char *text)
{
	tree_text_owned(map, name, xstrdup(text ? text : ""));
}

void tree_textf(struct tree *map, const char *name, const char *format, ...)
{
	va_list ap;
	char *text = NULL;
	int length;

	va_start(ap, format);
	length = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	text = xmalloc((size_t)length + 1);
	va_start(ap, format);
	vsnprintf(text, (size_t)length + 1, format, ap);
	va_end(ap);
	tree_text_owned(map, name, text);
}

void tree_flag(struct tree *map, const char *name, bool flag)
{
	struct tree *child = tree_new(TREE_FLAG);

	child->flag = flag;
	tree_set(map, name, child);
}

struct tree *tree_map(struct tree *map, const char *name)
{
	struct tree *child = tree_new(TREE_MAP);

	tree_set(map, name, child);
	return child;
}

struct tree *tree_list(struct tree *map, const char *name)
{
	struct tree *child = tree_new(TREE_LIST);

	tree_set(map, name, child);
	return child;
}

struct tree *tree_member(const struct tree *map, const char *name)
{
	for (size_t i = 0; i < map->count; i++)
		if (map->children[i]->name && strcmp(map->children[i]->name, name) == 0)
			return map->children[i];
	return NULL;
}

const char *tree_member_text(const struct tree *map, const char *name)
{
	const struct tree *member = map ? tree_member(map, name) : NULL;

	return member && member->kind == TREE_TEXT && member->text ? member->text : "";
}

struct tree *tree_item(struct tree *list)
{
	struct tree *child = tree_new(TREE_MAP);

	tree_append(list, child);
	return child;
}

void tree_item_text(struct tree *list, const char *text)
{
	struct tree *child = tree_new(TREE_TEXT);

	child->text = xstrdup(text);
	tree_append(list, child);
}
