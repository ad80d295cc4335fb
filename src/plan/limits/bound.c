/* Parses bounds: "47 GB/s", "0.85 * spec.pcie_bandwidth", "97 % * baseline", "spec.memory". */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "plan/ini/hint.h"
#include "plan/limits/limit.h"
#include "plan/limits/spec_keys.h"

#define SPEC "spec."

static enum status bound_read_figure(struct bound *bound, const char *figure,
				     const struct metric *metric, struct error *err)
{
	const char *names[64];
	const struct spec_key *key;
	size_t n = 0;

	if (strcmp(figure, "baseline") == 0) {
		bound->kind = BOUND_BASELINE;
		return STATUS_OK;
	}
	if (!text_starts_with(figure, SPEC))
		return error_set(err, STATUS_USAGE,
				 "'%.60s' is neither baseline nor a data-sheet value (spec.NAME)",
				 figure);
	figure += strlen(SPEC);
	bound->kind = BOUND_SPEC;
	bound->spec = xstrdup(figure);
	if (strcmp(figure, SPEC_PEAK) == 0)
		return STATUS_OK;
	for (key = spec_keys; key->name && n + 2 < ARRAY_SIZE(names); key++)
		names[n++] = key->name;
	names[n++] = SPEC_PEAK;
	names[n] = NULL;
	key = spec_key_find(figure);
	if (!key) {
		struct text list = TEXT_EMPTY;

		for (size_t i = 0; names[i]; i++)
			text_addf(&list, "%s%s", i ? ", " : "", names[i]);
		error_set(err, STATUS_USAGE, "unknown data-sheet value '%.60s'%s; use one of %s",
			  figure, hint_for(figure, names).text, list.data);
		text_release(&list);
		return STATUS_USAGE;
	}
	if (strcmp(key->unit, metric->unit) != 0)
		return error_set(err, STATUS_USAGE, "spec.%s is in %s, %s in %s", key->name,
				 key->unit, metric->name, metric->unit);
	return STATUS_OK;
}

/* "0.85" or "85 %" */
static enum status read_factor(struct bound *bound, const char *text, struct error *err)
{
	enum status status = strchr(text, '%') ? units_parse_percent(text, &bound->factor, err)
					       : units_parse_real(text, &bound->factor, err);

	if (status == STATUS_OK && !(bound->factor > 0 && bound->factor <= 100))
		status = error_set(err, STATUS_USAGE,
				   "invalid factor '%.60s'; it must be above 0 and at most 100",
				   text);
	return status;
}

static enum status read_absolute(struct bound *bound, const char *text, const struct metric *metric,
				 struct error *err)
{
	const char *unit = metric->unit;
	uint64_t bytes = 0;
	enum status status;

	bound->kind = BOUND_ABSOLUTE;
	if (strcmp(unit, "1") == 0) {
		status = strchr(text, '%') ? units_parse_percent(text, &bound->factor, err)
					   : units_parse_real(text, &bound->factor, err);
	} else if (strcmp(unit, "B") == 0) {
		status = units_parse_size(text, &bytes, err);
		bound->factor = (double)bytes;
	} else if (strcmp(unit, "s") == 0) {
		status = units_parse_duration(text, &bound->factor, err);
	} else {
		status = units_parse_quantity(text, unit, &bound->factor, err);
	}
	if (status == STATUS_OK && bound->factor < 0)
		status = error_set(err, STATUS_USAGE, "'%.60s' is negative", text);
	return status;
}

enum status bound_read(struct bound *bound, const char *text, const struct metric *metric,
		       struct error *err)
{
	const char *star = strchr(text, '*');
	enum status status = STATUS_OK;
	char *left, *right;

	bound->text = xstrdup(text);
	if (!star && !text_starts_with(text, SPEC) && strcmp(text, "baseline") != 0)
		return read_absolute(bound, text, metric, err);
	left = star ? text_trimmed(text, (size_t)(star - text)) : xstrdup("1");
	right = star ? text_trimmed(star + 1, strlen(star + 1)) : xstrdup(text);
	status = read_factor(bound, left, err);
	if (status == STATUS_OK)
		status = bound_read_figure(bound, right, metric, err);
	free(left);
	free(right);
	return status;
}
