/*
 * Skipped cases that no limit covers; judge.c handles the others. A device that skips a case that
 * an identical one measures is at fault. A suite that no device measured makes the verdict
 * INCONCLUSIVE.
 */
#include <string.h>

#include "base/memory.h"
#include "judge/judging.h"
#include "result/result.h"

static bool has_check(const struct verdicts *verdicts, const char *case_id)
{
	for (size_t i = 0; i < verdicts->count; i++)
		if (strcmp(verdicts->checks[i].case_id, case_id) == 0)
			return true;
	return false;
}

static size_t devices_of_backend(const struct result *result, const char *backend)
{
	size_t count = 0;

	for (size_t i = 0; i < result->device_count; i++)
		count += strcmp(result->devices[i].backend, backend) == 0;
	return count;
}

/* True if the device caused the skip, not a missing second device. */
static bool is_skipped_by_device(const struct result *result, const struct subject *s)
{
	const struct suite *suite = suite_find(s->first->suite);
	const struct case_parameter *needed = case_parameter(s->first, PARAMETER_DEVICES);

	return s->first->status == CASE_SKIPPED && s->first->end != CASE_END_INTERRUPTED &&
	       s->device && suite && suite->groups != SUITE_OF_PAIRS &&
	       !(needed && needed->number > (double)devices_of_backend(result, s->device->backend));
}

/*
 * The same case, measured on an identical device of the node; NULL: none. Cases are sorted by node.
 */
static const struct subject *done_elsewhere(const struct subjects *all, size_t i)
{
	const struct subject *s = &all->items[i];
	size_t from = i, to = i + 1;

	while (from > 0 && subjects_on_one_node(s, &all->items[from - 1]))
		from--;
	while (to < all->count && subjects_on_one_node(s, &all->items[to]))
		to++;
	for (size_t k = from; k < to; k++)
		if (all->items[k].first->status == CASE_OK && subjects_alike(s, &all->items[k]))
			return &all->items[k];
	return NULL;
}

static bool is_measured(const struct subjects *all, const struct case_result *like)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->items[i].first->status != CASE_SKIPPED &&
		    strcmp(all->items[i].first->suite, like->suite) == 0)
			return true;
	return false;
}

/* Reports the suite of subject `i` once, at its first skipped case. */
static void judge_skipped_suite(const struct subjects *all, const struct result *result, size_t i,
				struct verdicts *verdicts)
{
	const struct case_result *c = all->items[i].first;

	for (size_t k = 0; k < i; k++)
		if (strcmp(all->items[k].first->suite, c->suite) == 0 &&
		    is_skipped_by_device(result, &all->items[k]))
			return;
	if (is_measured(all, c))
		return;
	judging_finding(verdicts, result, c, NULL, ASPECT_NONE, VERDICT_SKIP, CAUSE_NONE,
			"no case of suite %s was measured; the first: %s", c->suite, c->reason)
		->final = true;
}

void judge_skips(const struct subjects *all, const struct judge_input *input,
		 struct verdicts *verdicts)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct subject *s = &all->items[i], *other;

		if (!is_skipped_by_device(&input->results[0], s) ||
		    has_check(verdicts, s->first->id))
			continue;
		other = done_elsewhere(all, i);
		if (other)
			judging_finding(verdicts, &input->results[0], s->first, NULL, ASPECT_NONE,
					VERDICT_FAIL, CAUSE_NONE,
					"skipped here but measured on %s: %s", other->first->device,
					s->first->reason);
		else
			judge_skipped_suite(all, &input->results[0], i, verdicts);
	}
}
