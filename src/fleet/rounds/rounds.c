#include "fleet/rounds/rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "fleet/rounds/rounds_internal.h"
#include "run/group.h"

static bool rounds_is_of(const struct section *section, enum suite_groups kind)
{
	return section->suite && section->suite->groups == kind;
}

struct finding *rounds_note(struct rounds *r, enum severity severity, const char *topic,
			    const char *subject, const char *text)
{
	struct finding *f;

	ARRAY_GROW(r->notes, r->note_count, r->note_capacity);
	f = &r->notes[r->note_count++];
	*f = (struct finding){ .severity = severity };
	snprintf(f->topic, sizeof(f->topic), "%s", topic);
	snprintf(f->subject, sizeof(f->subject), "%s", subject);
	snprintf(f->text, sizeof(f->text), "%s", text);
	return f;
}

/* Suspects that the suites name, by the cases so far; malloc'ed. */
static size_t rounds_suspects(const struct rounds *r, struct suspect **out)
{
	size_t count = 0;

	*out = NULL;
	for (size_t i = 0; i < r->config->count; i++) {
		const struct section *s = &r->config->sections[i];
		struct suspect *some = NULL;
		size_t more = s->suite && s->suite->find_suspects
				      ? s->suite->find_suspects(&r->found, s, &some)
				      : 0;

		*out = xrealloc(*out, count + more + 1, sizeof(**out));
		if (more)
			memcpy(*out + count, some, more * sizeof(*some));
		count += more;
		free(some);
	}
	return count;
}

/* Members that are there; how many they are. */
static size_t rounds_list_members(const struct rounds *r, size_t *out)
{
	size_t count = 0;

	for (size_t i = 0; i < r->count; i++)
		if (!r->members[i].lost)
			out[count++] = i;
	return count;
}

/*
 * Groups of `size` tile the nodes; where some are left over, the last group is of the last ones,
 * with some that are in another group already, in a round of its own. A round of all in which nodes
 * were lost is made again without them. True: there may be more.
 */
static bool rounds_stages_make_sizes(struct rounds *r)
{
	size_t *all = xcalloc(r->count + 1, sizeof(*all)), count = rounds_list_members(r, all);
	int64_t sizes[PLAN_SIZES_MOST];
	size_t size_count = plan_group_sizes(r->config, sizes);
	int64_t asked = r->step / 2 < size_count ? sizes[r->step / 2] : -1;
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
		snprintf(text, sizeof(text), "not measured, because only %zu node%s %s left", count,
			 text_plural(count), count == 1 ? "is" : "are");
		rounds_note(r, SEVERITY_WARNING, FINDING_NODES, subject, text);
	}
	free(all);
	return asked >= 0;
}

static void rounds_stages_add_pairs(struct rounds *r, const size_t (*pairs)[2], size_t count,
				    int round)
{
	const struct plan_group what = { .nodes = 2, .kind = SUITE_OF_PAIRS, .round = round };

	for (size_t i = 0; i < count; i++)
		rounds_add_group(r, what, pairs[i]);
}

/* Random pairs, or in turn every pair of nodes once. */
static bool rounds_stages_make_pairs(struct rounds *r)
{
	size_t *all = xcalloc(r->count + 1, sizeof(*all)), count = rounds_list_members(r, all),
	       found;
	size_t(*pairs)[2] = xcalloc(r->count + 1, sizeof(*pairs));
	int64_t asked = plan_pair_setting(r->config, "rounds");
	/* 0 means as many rounds as each two need to meet once. */
	size_t rounds = asked ? (size_t)asked : (count + 1) / 2 * 2 - 1;
	bool more = asked >= 0 && count >= 2 && r->step < rounds;

	if (asked >= 0 && r->step == 0 && count < 2)
		rounds_note(r, SEVERITY_WARNING, "pairs of nodes", "pairs of nodes",
			    "not measured, because fewer than two nodes are left");
	if (more) {
		r->step++;
		found = asked ? pairing_random(&r->pairing, all, count, pairs)
			      : pairing_turn(all, count, r->step, pairs);
		rounds_stages_add_pairs(r, (const size_t(*)[2])pairs, found, (int)r->step);
	}
	free(pairs);
	free(all);
	return more;
}

enum doubt { DOUBT_NONE, DOUBT_CANDIDATE, DOUBT_SUSPECT };

/* Nodes that are there, by doubt. */
struct doubts {
	size_t *nodes[DOUBT_SUSPECT + 1], counts[DOUBT_SUSPECT + 1];
};

static struct doubts rounds_doubts_of(const struct rounds *r)
{
	struct suspect *suspects;
	size_t count = rounds_suspects(r, &suspects);
	struct doubts d = { .counts = { 0 } };

	for (int doubt = DOUBT_NONE; doubt <= DOUBT_SUSPECT; doubt++)
		d.nodes[doubt] = xcalloc(r->count + 1, sizeof(**d.nodes));
	for (size_t i = 0; i < r->count; i++) {
		const char *name = r->members[i].name;
		enum doubt doubt = DOUBT_NONE;

		for (size_t k = 0; k < count && doubt != DOUBT_SUSPECT; k++)
			if (strcmp(suspects[k].node, name) == 0 ||
			    strcmp(suspects[k].other, name) == 0)
				doubt = suspects[k].candidate ? DOUBT_CANDIDATE : DOUBT_SUSPECT;
		if (!r->members[i].lost)
			d.nodes[doubt][d.counts[doubt]++] = i;
	}
	free(suspects);
	return d;
}

/*
 * Suspects meet nodes that are proven; who is at fault is slow with them as well. Without a proven
 * node the suspects meet those that are only near it, or else all meet each other: a best pair of
 * more pairs says more of a node.
 */
static size_t rounds_pair_suspects(struct rounds *r, const struct doubts *d, size_t (*pairs)[2])
{
	size_t near = d->counts[DOUBT_CANDIDATE], named = d->counts[DOUBT_SUSPECT];
	enum doubt with = d->counts[DOUBT_NONE] || !named ? DOUBT_NONE : DOUBT_CANDIDATE;
	size_t count = d->counts[with], suspect_count = 0, found;
	size_t *suspects = xcalloc(r->count + 1, sizeof(*suspects));

	/* Too few partners: other suspects than in the round before have them. */
	for (size_t i = 0; i < named; i++)
		suspects[suspect_count++] =
			d->nodes[DOUBT_SUSPECT][(i + (r->step - 1) * count) % named];
	/* Each needs a partner, and those that are only near stay away first. */
	for (size_t i = 0; with == DOUBT_NONE && i < near && suspect_count < count; i++)
		suspects[suspect_count++] = d->nodes[DOUBT_CANDIDATE][i];
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

static bool rounds_make_confirmation(struct rounds *r)
{
	struct doubts d = rounds_doubts_of(r);
	size_t suspects = d.counts[DOUBT_CANDIDATE] + d.counts[DOUBT_SUSPECT], found = 0;
	size_t(*pairs)[2] = xcalloc(r->count + 1, sizeof(*pairs));
	int64_t confirm = plan_pair_setting(r->config, "confirm"),
		rounds = plan_pair_setting(r->config, "rounds");
	char text[200];

	if (r->step == 0 && confirm > 0 && suspects && !d.counts[DOUBT_NONE]) {
		snprintf(text, sizeof(text),
			 "all %zu nodes are suspects, so suspects are paired with each other. A "
			 "node found at fault is then slower than the others, which may also be "
			 "slow",
			 suspects);
		rounds_note(r, SEVERITY_WARNING, "pairs of nodes", "pairs of nodes", text);
	}
	if ((int64_t)r->step < confirm && suspects) {
		r->step++;
		found = rounds_pair_suspects(r, &d, pairs);
		rounds_stages_add_pairs(r, (const size_t(*)[2])pairs, found,
					(int)(rounds > 0 ? rounds : (int64_t)r->count) +
						(int)r->step);
	}
	free(pairs);
	for (int doubt = DOUBT_NONE; doubt <= DOUBT_SUSPECT; doubt++)
		free(d.nodes[doubt]);
	return found > 0;
}

/* The next round with a group that has something to do. */
bool rounds_make(struct rounds *r)
{
	static bool (*const make[])(struct rounds *) = { rounds_stages_make_sizes,
							 rounds_stages_make_pairs,
							 rounds_make_confirmation };
	char text[128];

	while (r->stage != STAGE_OVER && !r->group_count) {
		if (make[r->stage](r))
			continue;
		r->stage++;
		r->step = 0;
	}
	if (r->group_count) {
		snprintf(text, sizeof(text), "%zu group%s of %d nodes%s", r->group_count,
			 text_plural(r->group_count), r->groups[0].what.nodes,
			 r->stage == STAGE_CONFIRM ? " (repetition for suspects)" : "");
		r->callbacks.say(r->callbacks.context, text);
	}
	return r->group_count > 0;
}

/* Moves the cases of the round's groups to what was found. */
static void end_round(struct rounds *r)
{
	for (size_t i = 0; i < r->group_count; i++) {
		struct group *g = &r->groups[i];

		for (size_t k = 0; k < g->plan.case_count; k++)
			if (g->done[k])
				*result_add_case(&r->found) = g->cases[k];
		plan_release(&g->plan);
		free(g->cases);
		free(g->done);
		free(g->members);
		free(g->ended);
	}
	r->group_count = 0;
}

void rounds_each_found(const struct rounds *r, size_t *from,
		       void (*visit)(void *context, const struct case_result *c), void *context)
{
	for (; *from < r->found.case_count; ++*from)
		visit(context, &r->found.cases[*from]);
}

bool rounds_step(struct rounds *r)
{
	bool busy = false;

	for (size_t i = 0; i < r->group_count; i++)
		busy = rounds_step_group(r, &r->groups[i]) || busy;
	if (busy)
		return true;
	end_round(r);
	return !r->stopped && rounds_make(r);
}

enum status rounds_open(struct rounds **out, const struct config *config, const char *directory,
			const char *const *names, const size_t *nodes, size_t count, uint64_t seed,
			const struct rounds_callbacks *callbacks, struct error *err)
{
	struct rounds *r = xcalloc(1, sizeof(*r));

	*out = r;
	r->config = config;
	r->directory = directory;
	r->callbacks = *callbacks;
	r->members = xcalloc(count + 1, sizeof(*r->members));
	for (size_t i = 0; i < count; i++) {
		struct member *m = &r->members[r->count++];

		m->name = xstrdup(names[i]);
		m->node = nodes[i];
		m->path = xasprintf("%s/nodes/%s/" GROUP_JOURNAL_NAME, directory, names[i]);
		run_group_read(m->path, &m->offset, false, &r->earlier);
		if (run_group_devices(directory, &names[i], 1, &m->devices, &m->device_count,
				      err) != STATUS_OK)
			return err->status;
	}
	pairing_open(&r->pairing, count, seed);
	return STATUS_OK;
}

/* Findings about nodes and links at fault. */
static void rounds_note_suspects(struct rounds *r)
{
	struct suspect *suspects;
	size_t count = rounds_suspects(r, &suspects);

	for (size_t i = 0; i < count; i++) {
		const char *node = suspects[i].node, *other = suspects[i].other;
		char *subject = xasprintf(*other ? "link of %s and %s" : "node %s%s", node, other);
		struct finding *f;

		if (!suspects[i].candidate) {
			f = rounds_note(r, SEVERITY_ERROR, *other ? FINDING_LINK : FINDING_NODE,
					subject, suspects[i].text);
			snprintf(f->node, sizeof(f->node), "%s", node);
			snprintf(f->other_node, sizeof(f->other_node), "%s", other);
		}
		free(subject);
	}
	free(suspects);
}

void rounds_collect(struct rounds *r, struct result *result)
{
	end_round(r);
	rounds_note_suspects(r);
	result->planned += r->planned;
	for (size_t i = 0; i < r->config->count; i++)
		if (rounds_is_of(&r->config->sections[i], SUITE_OF_NODES) ||
		    rounds_is_of(&r->config->sections[i], SUITE_OF_PAIRS)) {
			struct presentation p = suite_presentation(r->config->sections[i].suite);

			result_present(result, &p);
		}
	result->postflight =
		xrealloc(result->postflight, result->postflight_count + r->note_count + 1,
			 sizeof(*result->postflight));
	for (size_t i = 0; i < r->note_count; i++) {
		result->postflight[result->postflight_count++] = r->notes[i];
		fprintf(stderr, "gpuproof: %s: %s\n", r->notes[i].subject, r->notes[i].text);
	}
	for (size_t i = 0; i < r->found.case_count; i++)
		*result_add_case(result) = r->found.cases[i];
	free(r->found.cases);
	memset(&r->found, 0, sizeof(r->found));
}

void rounds_close(struct rounds *r)
{
	if (!r)
		return;
	end_round(r);
	for (size_t i = 0; i < r->found.case_count; i++)
		case_result_release(&r->found.cases[i]);
	for (size_t i = 0; i < r->earlier.case_count; i++)
		case_result_release(&r->earlier.cases[i]);
	for (size_t i = 0; i < r->count; i++) {
		free(r->members[i].name);
		free(r->members[i].lost);
		free(r->members[i].devices);
		free(r->members[i].path);
	}
	pairing_close(&r->pairing);
	free(r->found.cases);
	free(r->earlier.cases);
	free(r->members);
	free(r->groups);
	free(r->notes);
	free(r);
}
