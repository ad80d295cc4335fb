/* Rounds one after the other: sizes, bisection, pairs, pairs of suspects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "fleet/rounds/parts.h"

size_t rounds_list_members(const struct rounds *r, size_t *out)
{
	size_t count = 0;

	for (size_t i = 0; i < r->count; i++)
		if (!r->members[i].lost)
			out[count++] = i;
	return count;
}

/* The `step`th distinct number of nodes that suites ask for, 0 for all; -1: there is none. */
static int64_t asked_size(const struct rounds *r, size_t step)
{
	int64_t seen[256];
	size_t count = 0;

	for (size_t i = 0; i < r->config->count; i++) {
		const struct section *s = &r->config->sections[i];
		const struct setting *nodes =
			rounds_is_of(s, SUITE_OF_NODES) ? section_setting(s, "nodes") : NULL;

		for (size_t v = 0; nodes && v < nodes->count && count < ARRAY_SIZE(seen); v++) {
			bool known = nodes->values[v].integer == 1;

			for (size_t k = 0; k < count; k++)
				known = known || seen[k] == nodes->values[v].integer;
			if (!known)
				seen[count++] = nodes->values[v].integer;
		}
	}
	return step < count ? seen[step] : -1;
}

/*
 * Groups of `size` tile the nodes; where some are left over, the last group is of the last ones,
 * with some that are in another group already, in a round of its own. A round of all in which nodes
 * were lost is made again without them. True: there may be more.
 */
static bool make_sizes(struct rounds *r)
{
	size_t *all = xcalloc(r->count + 1, sizeof(*all)), count = rounds_list_members(r, all);
	int64_t asked = asked_size(r, r->step / 2);
	size_t size = asked == 0 ? count : (size_t)asked;
	bool rest = r->step++ % 2 == 1;
	char subject[64], text[160];

	if (size >= 2 && size <= count) {
		const struct plan_group what = { .nodes = (int)size,
						 .asked = (int)asked,
						 .kind = SUITE_OF_NODES };

		if (!rest)
			for (size_t i = 0; i + size <= count; i += size)
				rounds_add_group(r, what, all + i);
		else if (asked ? count % size > 0 : count < r->last_size)
			rounds_add_group(r, what, all + count - size);
		r->last_size = size;
	} else if (asked >= 0 && !rest) {
		snprintf(subject, sizeof(subject), "nodes = %s%.0lld", asked ? "" : "all",
			 (long long)asked);
		snprintf(text, sizeof(text),
			 "not measured: the run has %zu node%s that %s left for it", count,
			 count == 1 ? "" : "s", count == 1 ? "is" : "are");
		rounds_note(r, SEVERITY_WARNING, subject, text);
	}
	free(all);
	return asked >= 0;
}

/* Gives the most of a setting over all sections of pairs; -1: there are none. */
static int64_t pair_setting(const struct rounds *r, const char *key)
{
	int64_t most = -1;

	for (size_t i = 0; i < r->config->count; i++)
		if (rounds_is_of(&r->config->sections[i], SUITE_OF_PAIRS)) {
			int64_t value = section_integer(&r->config->sections[i], key);

			most = value > most ? value : most;
		}
	return most;
}

/* Gives the most that sections of pairs ask for. */
static enum pairs asked_pairs(const struct rounds *r)
{
	enum pairs asked = PAIRS_NONE;

	for (size_t i = 0; i < r->config->count; i++) {
		const struct section *s = &r->config->sections[i];
		int64_t rounds = rounds_is_of(s, SUITE_OF_PAIRS) ? section_integer(s, "rounds") : 0;
		enum pairs own = !rounds_is_of(s, SUITE_OF_PAIRS) ? PAIRS_NONE
				 : rounds == PAIRS_WORD_ALL       ? PAIRS_ALL
								  : PAIRS_RANDOM;

		asked = own > asked ? own : asked;
	}
	return asked;
}

/* Rounds in which each two of `count` meet once. */
static size_t rounds_of_all(size_t count)
{
	return count < 2 ? 0 : (count + 1) / 2 * 2 - 1;
}

static size_t count_rounds(const struct rounds *r, enum pairs asked, size_t nodes)
{
	switch (asked) {
	case PAIRS_RANDOM:
		return (size_t)pair_setting(r, "rounds");
	case PAIRS_ALL:
		return rounds_of_all(nodes);
	default:
		return 0;
	}
}

static void add_pairs(struct rounds *r, const size_t (*pairs)[2], size_t count, int round)
{
	const struct plan_group what = { .nodes = 2, .kind = SUITE_OF_PAIRS, .round = round };

	for (size_t i = 0; i < count; i++)
		rounds_add_group(r, what, pairs[i]);
}

/* Random pairs, or in turn every pair of nodes once. */
static bool make_pairs(struct rounds *r)
{
	size_t *all = xcalloc(r->count + 1, sizeof(*all)), count = rounds_list_members(r, all),
	       found;
	size_t(*pairs)[2] = xcalloc(r->count + 1, sizeof(*pairs));
	enum pairs asked = asked_pairs(r);
	bool more = count >= 2 && r->step < count_rounds(r, asked, count);

	if (asked != PAIRS_NONE && r->step == 0 && count < 2)
		rounds_note(r, SEVERITY_WARNING, "pairs of nodes",
			    "not measured: fewer than two nodes are left for it");
	if (more) {
		r->step++;
		found = asked == PAIRS_ALL ? pairing_turn(all, count, r->step, pairs)
					   : pairing_random(&r->pairing, all, count, pairs);
		add_pairs(r, (const size_t(*)[2])pairs, found, (int)r->step);
	}
	free(pairs);
	free(all);
	return more;
}

enum doubt { DOUBT_NONE, DOUBT_SUSPECTED, DOUBT_ACCUSED };

static enum doubt doubt_of(const char *name, const struct accusation *accused, size_t count)
{
	enum doubt doubt = DOUBT_NONE;

	for (size_t i = 0; i < count && doubt != DOUBT_ACCUSED; i++)
		if (strcmp(accused[i].node, name) == 0 || strcmp(accused[i].other, name) == 0)
			doubt = accused[i].suspected ? DOUBT_SUSPECTED : DOUBT_ACCUSED;
	return doubt;
}

/* Nodes that are there, by doubt. */
struct doubts {
	size_t *nodes[DOUBT_ACCUSED + 1], counts[DOUBT_ACCUSED + 1];
};

static struct doubts doubts_of(const struct rounds *r)
{
	struct accusation *accused;
	size_t count = rounds_accusations(r, &accused);
	struct doubts d = { .counts = { 0 } };

	for (int doubt = DOUBT_NONE; doubt <= DOUBT_ACCUSED; doubt++)
		d.nodes[doubt] = xcalloc(r->count + 1, sizeof(**d.nodes));
	for (size_t i = 0; i < r->count; i++) {
		enum doubt doubt = doubt_of(r->members[i].name, accused, count);

		if (!r->members[i].lost)
			d.nodes[doubt][d.counts[doubt]++] = i;
	}
	free(accused);
	return d;
}

/*
 * Suspects meet nodes that are proven; who is at fault is slow with them as well. Without a proven
 * node the accused meet those that are only near it, or else all meet each other: a best pair of
 * more pairs says more of a node.
 */
static size_t pair_suspects(struct rounds *r, const struct doubts *d, size_t (*pairs)[2])
{
	size_t near = d->counts[DOUBT_SUSPECTED], accused = d->counts[DOUBT_ACCUSED];
	enum doubt with = d->counts[DOUBT_NONE] || !accused ? DOUBT_NONE : DOUBT_SUSPECTED;
	size_t count = d->counts[with], suspect_count = 0, found;
	size_t *suspects = xcalloc(r->count + 1, sizeof(*suspects));

	/* Too few partners: other suspects than in the round before have them. */
	for (size_t i = 0; i < accused; i++)
		suspects[suspect_count++] =
			d->nodes[DOUBT_ACCUSED][(i + (r->step - 1) * count) % accused];
	/* Each needs a partner, and those that are only near stay away first. */
	for (size_t i = 0; with == DOUBT_NONE && i < near && suspect_count < count; i++)
		suspects[suspect_count++] = d->nodes[DOUBT_SUSPECTED][i];
	if (count) {
		found = pairing_with(&r->pairing, suspects, suspect_count, d->nodes[with], count,
				     pairs);
	} else {
		suspect_count = rounds_list_members(r, suspects);
		found = pairing_random(&r->pairing, suspects, suspect_count, pairs);
	}
	free(suspects);
	return found;
}

static bool make_confirmation(struct rounds *r)
{
	struct doubts d = doubts_of(r);
	size_t suspects = d.counts[DOUBT_SUSPECTED] + d.counts[DOUBT_ACCUSED], found = 0;
	size_t(*pairs)[2] = xcalloc(r->count + 1, sizeof(*pairs));
	int64_t confirm = pair_setting(r, "confirm"), rounds = pair_setting(r, "rounds");
	char text[200];

	if (r->step == 0 && confirm > 0 && suspects && !d.counts[DOUBT_NONE]) {
		snprintf(text, sizeof(text),
			 "none of %zu nodes is proven to be sound by its pairs, so suspects are "
			 "measured with each other: an accusation says that a node is slower than "
			 "the others, not that those are sound",
			 suspects);
		rounds_note(r, SEVERITY_WARNING, "pairs of nodes", text);
	}
	if ((int64_t)r->step < confirm && suspects) {
		r->step++;
		found = pair_suspects(r, &d, pairs);
		add_pairs(r, (const size_t(*)[2])pairs, found,
			  (int)(rounds > 0 ? rounds : (int64_t)r->count) + (int)r->step);
	}
	free(pairs);
	for (int doubt = DOUBT_NONE; doubt <= DOUBT_ACCUSED; doubt++)
		free(d.nodes[doubt]);
	return found > 0;
}

/* The next round with a group that has something to do. */
bool rounds_make(struct rounds *r)
{
	static bool (*const make[])(struct rounds *) = { make_sizes, rounds_make_bisection,
							 make_pairs, make_confirmation };
	char text[128];

	while (r->stage != STAGE_OVER && !r->group_count) {
		if (make[r->stage](r))
			continue;
		r->stage++;
		r->step = 0;
	}
	if (r->group_count) {
		snprintf(text, sizeof(text), "%zu group%s of %d nodes%s", r->group_count,
			 r->group_count == 1 ? "" : "s", r->groups[0].what.nodes,
			 r->stage == STAGE_CONFIRM     ? " (suspects again)"
			 : r->stage == STAGE_BISECTION ? " (which of them are at fault)"
						       : "");
		r->door.say(r->door.context, text);
	}
	return r->group_count > 0;
}
