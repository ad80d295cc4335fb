/* Selects the cases of a suite for one chart, by metric, and finds how their parameters vary. */
#ifndef GPUPROOF_REPORT_VIEW_CASE_SELECTION_H
#define GPUPROOF_REPORT_VIEW_CASE_SELECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "report/view/view.h"

struct selected_case {
	const struct case_result *c;
	const struct metric_value *m;
	size_t source;
	size_t devices;         /* for which it stands as the middle one; 0: for its own alone */
	double lowest, highest; /* values of these devices */
};

/* How a parameter varies over the selected cases that have it. */
struct varying {
	const char *name;
	/* distinct values, counting the implicit default as one; at most VARYING_MOST */
	size_t values;
	bool number; /* every value is a number */
	/* some cases omit the parameter and differ from others only in that */
	bool default_is_implicit;
	const char *unit;
};
#define VARYING_MOST 64

struct case_selection {
	const struct view *view;
	struct selected_case *items;
	size_t count, capacity;
	struct varying *parameters; /* all of them, in order of appearance */
	size_t parameter_count, parameter_capacity;
	bool several_sources;
	bool several_device_sets; /* sets of two or more devices, as many but not the same */
};

/* Takes the cases of the first result. */
void case_selection_collect(struct case_selection *selection, const struct view *view,
			    const char *suite, const char *metric);
/* Items of a selection by their keys, in order of appearance. */
struct case_groups {
	char **keys;                  /* case_selection_key() of each group */
	struct case_selection *items; /* by group */
	size_t *of;                   /* the group of each item of the selection */
	size_t count;
};
void case_selection_group(struct case_groups *groups, const struct case_selection *from,
			  const char *const *names);
void case_selection_groups_release(struct case_groups *groups);
/* Selects the cases of `from` with number[item] == `wanted`. */
void case_selection_numbered(struct case_selection *selection, const struct case_selection *from,
			     const size_t *number, size_t wanted);
/*
 * Selects the cases of `from` whose parameter only[0] has one of the values after it; all cases if
 * there is no only[0].
 */
void case_selection_only(struct case_selection *selection, const struct case_selection *from,
			 const char *const *only);
/*
 * Selects the cases of `from` with it as their main figure: "memory" belongs to a step, not to a
 * search for a batch.
 */
void case_selection_main(struct case_selection *selection, const struct case_selection *from);
void case_selection_release(struct case_selection *selection);

/*
 * The parameter that makes an x axis: a size that varies, else a number with at least four values.
 * NULL: none.
 */
const char *case_selection_axis(const struct case_selection *selection);
bool case_selection_vary(const struct case_selection *selection, const char *name);
/* The values of the parameters `names` (NULL-terminated): "host to device, pinned". malloc'ed. */
char *case_selection_key(const struct case_selection *selection,
			 const struct selected_case *selected, const char *const *names);
/*
 * The words that distinguish a selected case from the others: its varying parameters that are not
 * in `without`, its devices and its source where they vary. malloc'ed.
 */
char *case_selection_label(const struct case_selection *selection,
			   const struct selected_case *selected, const char *const *without);

#endif
