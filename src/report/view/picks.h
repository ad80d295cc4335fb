/*
 * Cases picked for one chart: those of a suite that have a metric, and how their parameters vary.
 */
#ifndef GPUPROOF_REPORT_VIEW_PICKS_H
#define GPUPROOF_REPORT_VIEW_PICKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "report/view/view.h"

struct pick {
	const struct case_result *c;
	const struct metric_value *m;
	size_t source;
};

/* How a parameter varies over the picks it applies to. */
struct varying {
	const char *name;
	size_t values; /* distinct ones, and not to name one where that is unsaid; counted up to VARYING_MOST */
	bool number;   /* every value is a number */
	bool unsaid;   /* cases that name no value differ by that alone from some that do */
	const char *unit;
};
#define VARYING_MOST 64

struct picks {
	const struct view *view;
	struct pick *items;
	size_t count, capacity;
	struct varying *parameters; /* all of them, in order of appearance */
	size_t parameter_count, parameter_capacity;
	bool several_sources;
	bool several_device_sets; /* sets of two or more devices, as many but not the same */
};

void picks_collect(struct picks *picks, const struct view *view, const char *suite,
		   const char *metric);
/* Those of `from` whose key (picks_key with `names`) equals `key`. */
void picks_filter(struct picks *picks, const struct picks *from, const char *const *names,
		  const char *key);
/* Those of `from` whose parameter only[0] is one of the values behind it; all when there is no only[0]. */
void picks_only(struct picks *picks, const struct picks *from, const char *const *only);
/* Those of `from` whose case has it for its main figure: "memory" is one of a step, not of a search for a batch. */
void picks_main(struct picks *picks, const struct picks *from);
void picks_release(struct picks *picks);

/*
 * The parameter that makes an x axis: a size that varies, else a number with at least four values.
 * NULL: none.
 */
const char *picks_axis(const struct picks *picks);
bool picks_vary(const struct picks *picks, const char *name);
/* The values of the parameters `names` (NULL-terminated): "host to device, pinned". malloc'ed. */
char *picks_key(const struct pick *pick, const char *const *names);
/*
 * What tells a pick from the others: its varying parameters that are not in `without`, its devices
 * and its source where they vary. malloc'ed.
 */
char *picks_label(const struct picks *picks, const struct pick *pick, const char *const *without);

#endif
