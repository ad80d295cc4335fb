#include "result/result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "result/result_fields.h"
#include "result/verdict.h"

void metric_value_release(struct metric_value *metric)
{
	memory_shared_text_free(metric->name);
	json_fields_release(metric_fields, metric);
}

void time_quantity_release(struct time_quantity *q)
{
	free(q->name);
	json_fields_release(time_quantity_fields, q);
}

void watch_release(struct watch *w)
{
	free(w->device);
	json_fields_release(watch_fields, w);
	memset(w, 0, sizeof(*w));
}

double watch_counter_growth(const struct watch *w, const char *name)
{
	double low = (double)NAN, high = (double)NAN;

	for (size_t q = 0; q < w->quantity_count; q++)
		for (size_t i = 0; i < w->quantities[q].highest_count; i++) {
			if (strcmp(w->quantities[q].name, name) != 0)
				break;
			low = fmin(low, w->quantities[q].highest[i]);
			high = fmax(high, w->quantities[q].highest[i]);
		}
	return high > low ? high - low : 0;
}

void case_result_release(struct case_result *c)
{
	json_fields_release(case_fields, c);
	memset(c, 0, sizeof(*c));
}

void case_drop_figures(struct case_result *c)
{
	json_fields_clear(case_fields, "metrics", c);
	json_fields_clear(case_fields, "samples", c);
	json_fields_clear(case_fields, "energy_windows", c);
	memory_shared_text_free(c->verification.method);
	c->verification = (struct verification){ .method = xstrdup(""),
						 .error = (double)NAN,
						 .tolerance = (double)NAN };
}

void result_leave_samples(struct result *result)
{
	result->samples_left_out = true;
	for (size_t i = 0; i < result->case_count; i++) {
		struct case_result *c = &result->cases[i];

		for (size_t s = 0; s < c->series_count; s++)
			json_fields_clear(series_fields, "values", &c->series[s]);
		json_fields_clear(case_fields, "timeline", c);
	}
}

void result_judge(struct result *result, struct verdicts *judgement)
{
	if (result->judgement)
		verdicts_release(result->judgement);
	free(result->judgement);
	result->judgement = xmalloc(sizeof(*judgement));
	*result->judgement = *judgement;
	memset(judgement, 0, sizeof(*judgement));
}

void result_release(struct result *result)
{
	json_fields_release(result_fields, result);
	memset(result, 0, sizeof(*result));
}

void telemetry_during_unknown(struct telemetry_during *during)
{
	memset(during, 0, sizeof(*during));
	json_fields_absent(telemetry_during_fields, during);
}

static double result_own_value(const struct case_result *c, const char *what)
{
	char *name = xasprintf("%s.%s", c->suite ? c->suite : "", what);
	const struct metric_value *m = case_metric(c, name);

	free(name);
	return m && isfinite(m->value) ? m->value : 0;
}

struct injected_faults case_injected_faults(const struct case_result *c)
{
	struct injected_faults faults = { .injected = result_own_value(c, "injected") };

	if (faults.injected > 0) {
		faults.found = faults.injected * result_own_value(c, "found");
		faults.wrong = result_own_value(c, "wrong");
	}
	return faults;
}

bool case_wrong_is_injected(const struct case_result *c)
{
	struct injected_faults faults = case_injected_faults(c);

	return faults.injected > 0 && faults.found >= faults.injected &&
	       faults.wrong <= faults.injected;
}

int64_t case_throttle_reasons(const struct case_result *c)
{
	int64_t during = c->during.throttle_reasons, after = c->after.throttle_reasons;

	return ((during > 0 ? during : 0) | (after > 0 ? after : 0)) & THROTTLE_SLOWS;
}

/* nvmlClocksThrottleReasons*: the bits of THROTTLE_SLOWS. */
static const struct {
	int64_t bit;
	const char *check, *page; /* text in a check, and on a page */
	bool fault;               /* fault of cooling or power supply: always deserves a warning */
} throttles[] = {
	{ THROTTLE_POWER_LIMIT, "software power cap", "power cap", false },
	{ 0x8, "hardware slowdown", "hardware slowdown", true },
	{ 0x20, "thermal (software)", "temperature limit (software)", true },
	{ 0x40, "thermal (hardware)", "temperature limit (hardware)", true },
	{ 0x80, "power brake", "power brake", true },
};

static char *result_join_throttles(int64_t reasons, bool page)
{
	struct text out = TEXT_EMPTY;

	for (size_t i = 0; reasons > 0 && i < ARRAY_SIZE(throttles); i++)
		if (reasons & throttles[i].bit)
			text_addf(&out, "%s%s", out.length ? ", " : "",
				  page ? throttles[i].page : throttles[i].check);
	return text_detach(&out);
}

char *result_throttle_words(int64_t reasons)
{
	return result_join_throttles(reasons, false);
}

char *result_throttle_page_words(int64_t reasons)
{
	return result_join_throttles(reasons, true);
}

bool result_throttle_is_fault(int64_t reasons)
{
	for (size_t i = 0; reasons > 0 && i < ARRAY_SIZE(throttles); i++)
		if (throttles[i].fault && reasons & throttles[i].bit)
			return true;
	return false;
}

void case_result_init(struct case_result *c)
{
	memset(c, 0, sizeof(*c));
	c->failed_rank = -1;
	c->verification.error = (double)NAN;
	c->verification.tolerance = (double)NAN;
	telemetry_unknown(&c->before);
	telemetry_unknown(&c->after);
	telemetry_during_unknown(&c->during);
}

bool case_end_is_fault(enum case_end end)
{
	return end == CASE_END_DEVICE || end == CASE_END_HUNG || end == CASE_END_CRASHED;
}

enum case_end case_end_of_status(enum status status)
{
	switch (status) {
	case STATUS_OK:
	case STATUS_MISMATCH:
		return CASE_END_DONE;
	case STATUS_UNSUPPORTED:
		return CASE_END_UNSUPPORTED;
	case STATUS_INTERRUPTED:
		return CASE_END_INTERRUPTED;
	case STATUS_TIMEOUT:
		return CASE_END_HUNG;
	case STATUS_DEVICE:
		return CASE_END_DEVICE;
	case STATUS_CRASHED:
		return CASE_END_CRASHED;
	case STATUS_LOST:
		return CASE_END_LOST;
	default:
		return CASE_END_FAILED;
	}
}

void case_result_copy_fault(struct case_result *c, const struct case_result *from)
{
	free(c->failed_device);
	free(c->failed_node);
	c->failed_rank = from->failed_rank;
	c->failed_device = xstrdup(from->failed_device ? from->failed_device : "");
	c->failed_node = xstrdup(from->failed_node ? from->failed_node : "");
}

void case_result_set_fault(struct case_result *c, int rank)
{
	bool single = c->device_count == 1;
	size_t at = single ? 0 : (size_t)rank;

	if (at >= c->device_count)
		return;
	free(c->failed_device);
	free(c->failed_node);
	c->failed_rank = single ? -1 : rank;
	c->failed_device = xstrdup(c->devices[at]);
	c->failed_node = xasprintf("%.*s", (int)device_node_length(c->devices[at]), c->devices[at]);
}

void case_result_note(struct case_result *c, const char *text)
{
	char *old = c->notes;

	c->notes = old && *old ? xasprintf("%s %s", old, text) : xstrdup(text);
	memory_shared_text_free(old);
}

void lost_worker_release(struct lost_worker *lost)
{
	json_fields_release(lost_worker_fields, lost);
	memset(lost, 0, sizeof(*lost));
}

static void result_add_lost(struct case_result *c, struct lost_worker *lost)
{
	ARRAY_GROW(c->lost, c->lost_count, c->lost_capacity);
	c->lost[c->lost_count++] = *lost;
	memset(lost, 0, sizeof(*lost));
}

void case_result_lose(struct case_result *c, struct lost_worker *lost)
{
	char *note = xasprintf("A worker process died, and no case was lost: %s.", lost->reason);

	case_result_note(c, note);
	free(note);
	result_add_lost(c, lost);
}

void case_result_lose_as(struct case_result *c, const struct case_result *from)
{
	for (size_t i = 0; i < from->lost_count; i++) {
		const struct lost_worker *f = &from->lost[i];
		struct lost_worker copy = { .reason = xstrdup(f->reason),
					    .device_count = f->device_count };

		copy.devices = xcalloc(f->device_count + 1, sizeof(*copy.devices));
		for (size_t d = 0; d < f->device_count; d++)
			copy.devices[d] = xstrdup(f->devices[d]);
		result_add_lost(c, &copy);
	}
}

struct case_result *result_add_case(struct result *result)
{
	ARRAY_GROW(result->cases, result->case_count, result->case_capacity);
	case_result_init(&result->cases[result->case_count]);
	return &result->cases[result->case_count++];
}

char *result_nodes_ended_alike(const struct result *result, size_t first, bool *told, size_t *count)
{
	const struct result_node *a = &result->nodes[first];
	struct text names = TEXT_EMPTY;

	*count = 0;
	for (size_t i = first; i < result->node_count; i++) {
		const struct result_node *b = &result->nodes[i];

		if (told[i] || a->status != b->status || a->finished != b->finished ||
		    a->planned != b->planned || strcmp(a->lost_at, b->lost_at) != 0 ||
		    strcmp(a->reason, b->reason) != 0)
			continue;
		told[i] = true;
		if (++*count <= NODES_NAMED)
			text_addf(&names, "%s%s", *count > 1 ? ", " : "", b->name);
	}
	if (*count > NODES_NAMED)
		text_addf(&names, " and %zu more", *count - NODES_NAMED);
	return text_detach(&names);
}

const struct device_info *result_device(const struct result *result, const char *id)
{
	static _Thread_local size_t last;

	for (size_t i = last; id && i < result->device_count && i <= last + 1; i++)
		if (strcmp(result->devices[i].id, id) == 0)
			return &result->devices[last = i];
	for (size_t i = 0; id && i < result->device_count; i++)
		if (strcmp(result->devices[i].id, id) == 0)
			return &result->devices[last = i];
	return NULL;
}

size_t result_launches(const struct result *result)
{
	size_t most = 1;

	for (size_t c = 0; c < result->case_count; c++)
		for (size_t m = 0; m < result->cases[c].metric_count; m++)
			if (result->cases[c].metrics[m].launch_count > most)
				most = result->cases[c].metrics[m].launch_count;
	return most;
}

void result_add_fact(struct result *result, const char *name, const char *value)
{
	result->environment = xrealloc(result->environment, result->environment_count + 1,
				       sizeof(*result->environment));
	result->environment[result->environment_count++] =
		(struct fact){ .name = xstrdup(name), .value = xstrdup(value) };
}

const struct result_setting *result_setting(const struct result *result, const char *section,
					    const char *key)
{
	for (size_t i = 0; i < result->setting_count; i++)
		if (strcmp(result->settings[i].section, section) == 0 &&
		    strcmp(result->settings[i].key, key) == 0)
			return &result->settings[i];
	return NULL;
}

const char *result_fact(const struct result *result, const char *name)
{
	for (size_t i = 0; i < result->environment_count; i++)
		if (strcmp(result->environment[i].name, name) == 0)
			return result->environment[i].value;
	return NULL;
}

const struct metric_value *result_yardstick(const struct result *result, const char *name)
{
	for (size_t i = 0; i < result->yardstick_count; i++)
		if (strcmp(result->yardstick[i].name, name) == 0)
			return &result->yardstick[i];
	return NULL;
}

const struct metric_value *case_metric(const struct case_result *c, const char *name)
{
	for (size_t i = 0; i < c->metric_count; i++)
		if (strcmp(c->metrics[i].name, name) == 0)
			return &c->metrics[i];
	return NULL;
}

const struct series *case_series(const struct case_result *c, const char *name)
{
	for (size_t i = 0; i < c->series_count; i++)
		if (strcmp(c->series[i].name, name) == 0)
			return &c->series[i];
	return NULL;
}

bool case_is_unsettled(const struct case_result *c, const struct metric_value *metric)
{
	const struct series *own =
		metric->series && *metric->series ? case_series(c, metric->series) : NULL;

	if (own || isnan(metric->low))
		return own && own->unsettled;
	for (size_t i = 0; i < c->series_count; i++)
		if (c->series[i].unsettled)
			return true;
	return false;
}

const struct case_parameter *case_parameter(const struct case_result *c, const char *name)
{
	for (size_t i = 0; i < c->parameter_count; i++)
		if (strcmp(c->parameters[i].name, name) == 0)
			return &c->parameters[i];
	return NULL;
}

bool case_asks_binary(const struct case_result *c)
{
	const struct case_parameter *size = case_parameter(c, PARAMETER_SIZE);
	size_t length = size && size->text ? strlen(size->text) : 0;

	return length > 2 && strcmp(size->text + length - 2, "iB") == 0;
}

const char *case_metric_unit(const struct case_result *c, const struct metric_value *m)
{
	bool rate = strcmp(m->unit, "FLOP/s") == 0;

	if (!rate && strcmp(m->unit, "FLOP/J") != 0)
		return m->unit;
	/* The case computes with integers, by whichever parameter names its precision. */
	for (size_t i = 0; i < c->parameter_count; i++)
		if (c->parameters[i].text && strcmp(c->parameters[i].text, "int8") == 0)
			return rate ? "ops/s" : "ops/J";
	return m->unit;
}

const char *case_unit(const struct case_result *c, const struct metric_value *m)
{
	return strcmp(m->unit, "B") == 0 && case_asks_binary(c) ? UNITS_BINARY
								: case_metric_unit(c, m);
}

enum metric_kind metric_kind_of(const struct metric *row, const struct case_result *c)
{
	for (const struct metric_kind_row *k = row ? row->kinds : NULL; k && k->parameter; k++) {
		const struct case_parameter *p = case_parameter(c, k->parameter);

		if (p && p->text && strcmp(p->text, k->value) == 0)
			return k->kind;
	}
	return row ? row->kind : METRIC_TIMED;
}

struct series *case_result_add_times(struct case_result *result, const char *name)
{
	struct series *series;

	ARRAY_GROW(result->series, result->series_count, result->series_capacity);
	series = &result->series[result->series_count++];
	memset(series, 0, sizeof(*series));
	series->name = xstrdup(name);
	strcpy(series->unit, "s");
	return series;
}

size_t result_lost_nodes(const struct result *result)
{
	size_t count = 0;

	for (size_t i = 0; i < result->node_count; i++)
		count += result->nodes[i].status != NODE_OK;
	return count;
}

void result_add_phase(struct result *result, const char *name, double seconds)
{
	size_t i = 0;

	while (i < result->phase_count && strcmp(result->phases[i].name, name) != 0)
		i++;
	if (i == result->phase_count) {
		ARRAY_GROW(result->phases, result->phase_count, result->phase_capacity);
		result->phases[result->phase_count++] =
			(struct case_phase){ .name = xstrdup(name) };
	}
	result->phases[i].seconds += seconds;
}

size_t result_lost_devices(const struct result *result)
{
	size_t lost = 0;

	for (size_t i = 0; i < result->preflight_count; i++)
		lost += result->preflight[i].severity == SEVERITY_ERROR &&
			strcmp(result->preflight[i].topic, FINDING_LOST) == 0;
	return lost;
}
