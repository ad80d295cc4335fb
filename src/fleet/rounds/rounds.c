#include "fleet/rounds/rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
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

void rounds_note_suspect(struct rounds *r, const char *node, const char *other, const char *text)
{
	char *subject = xasprintf(*other ? "link of %s and %s" : "node %s%s", node, other);
	struct finding *f =
		rounds_note(r, SEVERITY_ERROR, *other ? FINDING_LINK : FINDING_NODE, subject, text);

	snprintf(f->node, sizeof(f->node), "%s", node);
	snprintf(f->other_node, sizeof(f->other_node), "%s", other);
	free(subject);
}

size_t rounds_suspects(const struct rounds *r, struct suspect **out)
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
		group_read(m->path, &m->offset, false, &r->earlier);
		if (group_devices(directory, &names[i], 1, &m->devices, &m->device_count, err) !=
		    STATUS_OK)
			return err->status;
	}
	pairing_open(&r->pairing, count, seed);
	return STATUS_OK;
}

void rounds_collect(struct rounds *r, struct result *result)
{
	struct suspect *suspects;
	size_t count;

	end_round(r);
	count = rounds_suspects(r, &suspects);
	result->planned += r->planned;
	for (size_t i = 0; i < r->config->count; i++)
		if (rounds_is_of(&r->config->sections[i], SUITE_OF_NODES) ||
		    rounds_is_of(&r->config->sections[i], SUITE_OF_PAIRS)) {
			struct presentation p = suite_presentation(r->config->sections[i].suite);

			result_present(result, &p);
		}
	for (size_t i = 0; i < count; i++) {
		if (!suspects[i].candidate)
			rounds_note_suspect(r, suspects[i].node, suspects[i].other,
					    suspects[i].text);
	}
	free(suspects);
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
	rounds_close_bisection(r);
	pairing_close(&r->pairing);
	free(r->found.cases);
	free(r->earlier.cases);
	free(r->members);
	free(r->groups);
	free(r->notes);
	free(r);
}
