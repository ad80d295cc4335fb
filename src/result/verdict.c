#include "result/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "result/result.h"
#include "result/result_fields.h"

struct verdict_check *verdicts_add(struct verdicts *v)
{
	struct verdict_check *check;

	ARRAY_GROW(v->checks, v->count, v->capacity);
	check = &v->checks[v->count++];
	memset(check, 0, sizeof(*check));
	json_fields_absent(check_fields, check);
	check->comparison = NO_COMPARISON;
	return check;
}

void verdicts_release(struct verdicts *v)
{
	json_fields_release(judgement_fields, v);
	memset(v, 0, sizeof(*v));
}

void verdict_check_set_case(struct verdict_check *check, const struct case_result *c)
{
	free(check->case_id);
	free(check->suite);
	free(check->point);
	free(check->failed_device);
	check->failed_device = xstrdup(c->failed_device ? c->failed_device : "");
	check->case_id = xstrdup(c->id);
	check->suite = xstrdup(c->suite);
	check->point = case_point(c);
}

const char *verdict_check_faulty_devices(const struct verdict_check *check)
{
	return *check->failed_device ? check->failed_device : check->devices;
}

bool verdict_check_is_of_node(const struct verdict_check *check)
{
	return *check->case_id && strcmp(check->case_id, check->point) == 0;
}

void verdicts_drop_reasons(struct verdicts *v)
{
	json_fields_clear(judgement_fields, "reasons", v);
}

struct device_judgement *verdicts_add_device(struct verdicts *v)
{
	struct device_judgement *device;

	ARRAY_GROW(v->devices, v->device_count, v->device_capacity);
	device = &v->devices[v->device_count++];
	memset(device, 0, sizeof(*device));
	json_fields_absent(device_judgement_fields, device);
	return device;
}

void verdicts_move(struct verdicts *into, struct verdicts *from)
{
	for (size_t i = 0; i < from->count; i++) {
		ARRAY_GROW(into->checks, into->count, into->capacity);
		into->checks[into->count++] = from->checks[i];
	}
	for (size_t i = 0; i < from->device_count; i++) {
		ARRAY_GROW(into->devices, into->device_count, into->device_capacity);
		into->devices[into->device_count++] = from->devices[i];
	}
	from->count = 0;
	from->device_count = 0;
}

void verdict_device_judgement_drop_aspects(struct device_judgement *device)
{
	json_fields_clear(device_judgement_fields, "aspects", device);
}

void verdicts_drop_last_device(struct verdicts *v)
{
	json_fields_release(device_judgement_fields, &v->devices[--v->device_count]);
}

struct aspect_judgement *verdict_device_judgement_add(struct device_judgement *device,
						      enum aspect aspect)
{
	struct aspect_judgement *added;

	device->aspects =
		xrealloc(device->aspects, device->aspect_count + 1, sizeof(*device->aspects));
	added = &device->aspects[device->aspect_count++];
	*added = (struct aspect_judgement){ .aspect = aspect,
					    .verdict = VERDICT_SKIP,
					    .margin = (double)NAN,
					    .reason = xstrdup("") };
	return added;
}

const struct aspect_judgement *verdict_device_aspect(const struct device_judgement *device,
						     enum aspect aspect)
{
	for (size_t i = 0; i < device->aspect_count; i++)
		if (device->aspects[i].aspect == aspect)
			return &device->aspects[i];
	return NULL;
}

bool verdict_aspect_is_missing(const struct aspect_judgement *aspect)
{
	return aspect->promised && !aspect->judged;
}

bool verdict_check_is_judged(const struct verdict_check *c)
{
	return c->verdict == VERDICT_PASS || c->verdict == VERDICT_WARN ||
	       c->verdict == VERDICT_FAIL;
}

void verdicts_count(struct verdicts *v)
{
	memset(v->counts, 0, sizeof(v->counts));
	v->wrong = false;
	for (size_t i = 0; i < v->count; i++) {
		v->counts[v->checks[i].verdict]++;
		v->wrong = v->wrong || v->checks[i].wrong;
	}
}

size_t verdicts_judged(const struct verdicts *v)
{
	size_t judged = 0;

	for (size_t i = 0; i < v->count; i++) {
		const struct verdict_check *c = &v->checks[i];

		judged += c->comparison != NO_COMPARISON && c->verdict != VERDICT_SKIP &&
			  c->verdict != VERDICT_ERROR;
	}
	return judged;
}

bool verdicts_accepted(const struct verdicts *v)
{
	return verdicts_exit_code(v) == 0 && verdicts_judged(v) > 0;
}

const char *verdicts_word(const struct verdicts *v)
{
	if (verdicts_accepted(v))
		return "ACCEPTED";
	if (verdicts_exit_code(v) == 0)
		return "NOT JUDGED";
	return v->wrong || v->overall == VERDICT_FAIL ? "REJECTED" : "INCONCLUSIVE";
}

bool verdict_check_is_data_fault(const struct verdict_check *c)
{
	return c->wrong || (c->verdict == VERDICT_FAIL && c->cause == CAUSE_GPU_UNCORRECTED_ERROR);
}

int verdicts_exit_code(const struct verdicts *v)
{
	if (v->wrong)
		return 5;
	for (size_t i = 0; i < v->count; i++)
		if (verdict_check_is_data_fault(&v->checks[i]))
			return 5;
	if (v->overall == VERDICT_FAIL)
		return 1;
	return v->overall == VERDICT_INCONCLUSIVE ? 4 : 0;
}

bool verdict_device_id_is_cpu(const char *id)
{
	const char *slash = strchr(id, '/');

	return text_starts_with(slash ? slash + 1 : id, "host:");
}

bool verdict_check_is_worse(const struct verdict_check *a, const struct verdict_check *b)
{
	static const int rank[VERDICT_COUNT] = { [VERDICT_FAIL] = 5,
						 [VERDICT_ERROR] = 4,
						 [VERDICT_INCONCLUSIVE] = 3,
						 [VERDICT_SKIP] = 2,
						 [VERDICT_WARN] = 1 };

	if (a->wrong != b->wrong)
		return a->wrong;
	if (verdict_check_is_data_fault(a) != verdict_check_is_data_fault(b))
		return verdict_check_is_data_fault(a);
	if (a->accepted != b->accepted)
		return b->accepted;
	if (rank[a->verdict] != rank[b->verdict])
		return rank[a->verdict] > rank[b->verdict];
	return isfinite(a->margin) && (!isfinite(b->margin) || a->margin < b->margin);
}

bool verdict_check_counts(const struct verdict_check *c)
{
	return strcmp(c->unit, "1") == 0 && c->value == floor(c->value) &&
	       c->bound == floor(c->bound);
}

static char *verdict_check_shown_value(const struct verdict_check *c, double value, char *out,
				       size_t size)
{
	if (!verdict_check_counts(c))
		return units_format(value, c->unit, out, size);
	snprintf(out, size, "%.0f", value);
	return out;
}

char *verdict_check_numbers(const struct verdict_check *c)
{
	static const char *const words[] = { [AT_LEAST] = "at least",
					     [AT_MOST] = "at most",
					     [LIKE_IDENTICAL] = "identical devices allow",
					     [LIKE_POPULATION] = "reference GPUs allow",
					     [LIKE_FLEET] = "the fleet allows" };
	char value[48], low[48], high[48], bound[48];
	bool own = isnan(c->deciding_low);
	double from = own ? c->low : c->deciding_low, to = own ? c->high : c->deciding_high;
	struct text out = TEXT_EMPTY;

	if (isnan(c->value))
		return xstrdup("");
	text_add(&out, verdict_check_shown_value(c, c->value, value, sizeof(value)));
	if (!isnan(from) && from != to)
		text_addf(&out, " [%s, %s]", units_format(from, c->unit, low, sizeof(low)),
			  units_format(to, c->unit, high, sizeof(high)));
	if (c->comparison == NO_COMPARISON || isnan(c->bound))
		return text_detach(&out);
	text_addf(&out, ", %s %s", words[c->comparison],
		  verdict_check_shown_value(c, c->bound, bound, sizeof(bound)));
	if (isfinite(c->margin))
		text_addf(&out, ": %.3g %% %s", fabs(100 * c->margin),
			  c->margin >= 0        ? "to spare"
			  : c->value < c->bound ? "below it"
						: "above it");
	return text_detach(&out);
}
