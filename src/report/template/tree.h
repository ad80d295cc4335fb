/*
 * The data of a template: maps, lists, texts and flags. There are no numbers: view and chart format
 * them first. A map or list owns everything below it.
 *
 *	struct tree *row = tree_item(tree_list(page, "rows"));
 *	tree_text(row, "value", "55.45");
 *
 * Mustache looks a missing name up in the maps around it, so a builder sets every name its template
 * asks for, "" where there is nothing (an empty text, an empty list and a false flag all count as
 * false). A list `rows` comes with a flag `has_rows`: true where it has any.
 */
#ifndef GPUPROOF_REPORT_TEMPLATE_TREE_H
#define GPUPROOF_REPORT_TEMPLATE_TREE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tree_kind { TREE_TEXT, TREE_FLAG, TREE_LIST, TREE_MAP };

struct tree {
	enum tree_kind kind;
	char *name;             /* within a map, else NULL */
	char *text;             /* TREE_TEXT */
	bool flag;              /* TREE_FLAG */
	struct tree **children; /* TREE_LIST, TREE_MAP */
	size_t count, capacity;
	char *attached; /* for the program, no template sees it; owned; NULL: none */
};

struct tree *tree_new(enum tree_kind kind);
void tree_free(struct tree *tree);

/*
 * Members of a map. The caller sets each name once. tree_map() and tree_list() return the new,
 * empty child.
 */
void tree_text(struct tree *map, const char *name, const char *text);
void tree_textf(struct tree *map, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Takes over `text`. */
void tree_text_owned(struct tree *map, const char *name, char *text);
void tree_flag(struct tree *map, const char *name, bool flag);
struct tree *tree_map(struct tree *map, const char *name);
struct tree *tree_list(struct tree *map, const char *name);
/* Hangs `child` (taken over) under `name`, which the map has not yet. */
void tree_set(struct tree *map, const char *name, struct tree *child);

/* The member of a map; NULL: none. */
struct tree *tree_member(const struct tree *map, const char *name);
/* Its text; "" where there is no such text, or `map` is NULL. */
const char *tree_member_text(const struct tree *map, const char *name);

/* Appends to a list: an empty map, a text, any tree (taken over). */
struct tree *tree_item(struct tree *list);
void tree_item_text(struct tree *list, const char *text);
void tree_append(struct tree *list, struct tree *child);

#ifdef __cplusplus
}
#endif

#endif
