/*
 * Leaf switches (topology.h): rounds in which all nodes of one measure with those of another, so
 * that every uplink is loaded, and switches that are at fault in place of their nodes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "fleet/rounds/parts.h"

/* A switch is at fault, not its nodes, from two thirds of them on, two at least. */
#define AT_FAULT(accused, nodes) ((accused) >= 2 && 3 * (accused) >= 2 * (nodes))

/* A switch and its nodes that are there. */
struct leaf {
	const char *name;
	size_t *nodes, count;
};

static struct leaf *list_leaves(const struct rounds *r, size_t *count)
{
	struct leaf *leaves = xcalloc(r->count + 1, sizeof(*leaves));

	*count = 0;
	for (size_t i = 0; i < r->count; i++) {
		const struct member *m = &r->members[i];
		size_t at = 0;

		if (!m->leaf || m->lost)
			continue;
		while (at < *count && strcmp(leaves[at].name, m->leaf) != 0)
			at++;
		if (at == *count) {
			leaves[(*count)++].name = m->leaf;
			leaves[at].nodes = xcalloc(r->count, sizeof(*leaves[at].nodes));
		}
		leaves[at].nodes[leaves[at].count++] = i;
	}
	return leaves;
}

static void free_leaves(struct leaf *leaves, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(leaves[i].nodes);
	free(leaves);
}

size_t rounds_leaf_count(const struct rounds *r)
{
	size_t count;
	struct leaf *leaves = list_leaves(r, &count);

	free_leaves(leaves, count);
	return count;
}

/* Other partners in every turn; of the larger one, those that are left over have none. */
static size_t pair_nodes(const struct leaf *a, const struct leaf *b, size_t turn,
			 size_t (*pairs)[2])
{
	size_t count = a->count < b->count ? a->count : b->count;

	for (size_t i = 0; i < count; i++) {
		pairs[i][0] = a->nodes[(i + (a->count > b->count ? turn : 0)) % a->count];
		pairs[i][1] = b->nodes[(i + turn) % b->count];
	}
	return count;
}

size_t rounds_pair_leaves(const struct rounds *r, size_t turn, size_t (*pairs)[2])
{
	size_t count, found = 0, matches;
	struct leaf *leaves = list_leaves(r, &count);
	size_t *all = xcalloc(count + 1, sizeof(*all)), (*of)[2] = xcalloc(count + 1, sizeof(*of));

	for (size_t i = 0; i < count; i++)
		all[i] = i;
	matches = count >= 2 ? pairing_turn(all, count, turn, of) : 0;
	for (size_t i = 0; i < matches; i++)
		found += pair_nodes(&leaves[of[i][0]], &leaves[of[i][1]], turn, pairs + found);
	free(of);
	free(all);
	free_leaves(leaves, count);
	return found;
}

static struct accusation *find(struct accusation *accused, size_t count, const char *node)
{
	for (size_t i = 0; i < count; i++)
		if (!accused[i].suspected && !*accused[i].other &&
		    strcmp(accused[i].node, node) == 0)
			return &accused[i];
	return NULL;
}

static bool is_under(const struct rounds *r, const struct leaf *leaf, const char *node)
{
	for (size_t i = 0; i < leaf->count; i++)
		if (strcmp(r->members[leaf->nodes[i]].name, node) == 0)
			return true;
	return false;
}

/* Takes the accusation away, for the node's switch is at fault. */
static void excuse(struct rounds *r, const struct leaf *leaf, const struct accusation *a)
{
	char *subject = xasprintf("node %s", a->node);
	char *text =
		xasprintf("not told apart from its switch %s, which is held to be at fault: %s",
			  leaf->name, a->text);

	rounds_note(r, SEVERITY_WARNING, subject, text);
	free(subject);
	free(text);
}

static void tell_leaf(struct rounds *r, const struct leaf *leaf, struct accusation *accused,
		      size_t *count)
{
	const struct accusation *first = NULL;
	size_t found = 0, kept = 0;
	char *subject, *text;

	for (size_t i = 0; i < leaf->count; i++) {
		const struct accusation *a = find(accused, *count, r->members[leaf->nodes[i]].name);

		found += a != NULL;
		first = first ? first : a;
	}
	if (!AT_FAULT(found, leaf->count))
		return;
	subject = xasprintf("switch %s", leaf->name);
	text = xasprintf("%zu of its %zu nodes are slow with nodes of other switches, so it or its "
			 "uplinks are at fault rather than each of them; %s: %s",
			 found, leaf->count, first->node, first->text);
	rounds_note(r, SEVERITY_ERROR, subject, text);
	free(subject);
	free(text);
	for (size_t i = 0; i < *count; i++) {
		const struct accusation *a = &accused[i];

		if (a->suspected || *a->other || !is_under(r, leaf, a->node))
			accused[kept++] = *a;
		else
			excuse(r, leaf, a);
	}
	*count = kept;
}

void rounds_accuse_leaves(struct rounds *r, struct accusation *accused, size_t *count)
{
	size_t leaf_count;
	struct leaf *leaves = list_leaves(r, &leaf_count);

	for (size_t i = 0; i < leaf_count; i++)
		tell_leaf(r, &leaves[i], accused, count);
	free_leaves(leaves, leaf_count);
}
