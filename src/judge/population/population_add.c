#include "judge/population/population_add.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "judge/estimate/observation.h"
#include "judge/judge.h"
#include "judge/population/population_key.h"

#define STEADY_HALF 0.02 /* wider intervals are too uncertain for a reference */
#define STEADY_LAUNCHES 3

/*
 * Judges by the limits of the model only. Comparison with reference GPUs would keep a population
 * from growing.
 */
static enum status add_refuse_bad_cards(const struct result *results, size_t count,
					struct error *err)
{
	static const struct population empty;
	struct text errors = TEXT_EMPTY;
	struct verdicts verdicts = { 0 };
	const struct verdict_check *bad = NULL;
	struct limits limits;

	if (judge_limits_of_model(&limits, results[0].devices[0].name, &errors) == STATUS_OK) {
		judge_machine_results(&(struct judge_input){ .results = results,
							     .count = count,
							     .limits = &limits,
							     .population = &empty },
				      &verdicts);
		for (size_t i = 0; i < verdicts.count && !bad; i++)
			if (verdicts.checks[i].wrong || verdicts.checks[i].verdict == VERDICT_FAIL)
				bad = &verdicts.checks[i];
		if (bad)
			error_set(err, STATUS_USAGE,
				  "these GPUs cannot be reference GPUs, because [limit %s] fails: "
				  "%s %s; details: gpuproof check",
				  bad->limit, *bad->case_id ? bad->case_id : bad->metric,
				  bad->reason);
		judge_limits_release(&limits);
	} else {
		error_set(err, STATUS_INTERNAL, "%s", errors.data ? errors.data : "");
	}
	verdicts_release(&verdicts);
	text_release(&errors);
	return err->status;
}

static enum status add_refuse_results(const struct result *results, size_t count, struct error *err)
{
	const char *driver = result_fact(&results[0], "driver");
	size_t known = 0;

	if (driver && *driver && !population_text_fits(driver))
		return error_set(err, STATUS_USAGE, "driver '%.60s' is not a version", driver);
	for (size_t i = 0; i < count; i++)
		if (strcmp(results[i].state, "complete") != 0)
			return error_set(err, STATUS_USAGE,
					 "the run is %s; only a complete run can be added",
					 results[i].state);
	for (size_t i = 0; i < results[0].device_count; i++) {
		const struct device_info *d = &results[0].devices[i];

		known += *population_key_id(d) != '\0';
		if (*population_key_id(d) &&
		    (!population_id_fits(population_key_id(d)) || !population_text_fits(d->name)))
			return error_set(err, STATUS_USAGE,
					 "%s: invalid UUID '%.60s' or name '%.60s'", d->id,
					 population_key_id(d), d->name);
	}
	if (!known)
		return error_set(err, STATUS_USAGE,
				 "no device has a UUID or a serial number; gpuproof needs one of "
				 "them to count each GPU once");
	return add_refuse_bad_cards(results, count, err);
}

static void add_take_card(struct population *p, const struct result *result, size_t launches,
			  const struct device_info *device, struct population_added *added)
{
	bool there = population_card(p, population_key_id(device)) != NULL;
	struct population_card *card = population_enter_card(p, population_key_id(device));
	const char *driver = result_fact(result, "driver");

	free(card->model);
	free(card->measured);
	free(card->driver);
	card->model = xstrdup(device->name);
	card->measured = xstrndup(result->started, 10);
	card->driver = xstrdup(driver ? driver : "");
	card->launches = launches;
	added->cards += !there;
	added->again += there;
}

static void add_take_metric(struct population *p, const struct result *result,
			    const struct subject *s, const struct metric_value *m,
			    struct population_added *added)
{
	struct population_key key;
	struct observation o;
	bool verified = true;

	if (!m->headline || (strcmp(m->unit, "B/s") != 0 && strcmp(m->unit, "FLOP/s") != 0) ||
	    !population_key_of(result, s->first, &key))
		return;
	if (!population_text_fits(key.point) ||
	    (*key.preheat && !population_text_fits(key.preheat))) {
		population_key_release(&key);
		return;
	}
	for (size_t i = 0; i < s->count; i++)
		verified = verified && s->cases[i]->verification.done;
	o = observation_make(s, m->name, m->unit, 0);
	/* A NaN half-width (no interval) fails the comparison. */
	if (o.verdict == VERDICT_PASS && verified &&
	    (o.count >= STEADY_LAUNCHES ||
	     fmax(m->value - m->low, m->high - m->value) / m->value <= STEADY_HALF)) {
		/* A pair of devices counts once, not once per direction. */
		if (!key.turned)
			population_set_value(population_enter_figure(p, key.point, key.preheat,
								     m->name, m->unit),
					     key.cards, o.estimate.value);
		added->values += !key.turned;
	} else if (o.verdict != VERDICT_SKIP) {
		added->unsteady++;
	}
	observation_release(&o);
	population_key_release(&key);
}

enum status population_add(struct population *p, const struct result *results, size_t count,
			   struct population_added *added, struct error *err)
{
	struct subjects all;

	if (add_refuse_results(results, count, err) != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < results[0].device_count; i++)
		if (*population_key_id(&results[0].devices[i]))
			add_take_card(p, &results[0], count, &results[0].devices[i], added);
	observation_subjects_collect(&all, results, count);
	for (size_t i = 0; i < all.count; i++)
		for (size_t k = 0; k < all.items[i].first->metric_count; k++)
			add_take_metric(p, &results[0], &all.items[i],
					&all.items[i].first->metrics[k], added);
	observation_subjects_release(&all);
	return STATUS_OK;
}
