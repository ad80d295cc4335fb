/*
 * A suite: one family of measurements.
 *
 * Adding a suite: one file suites/<name>.c ending in `const struct suite suite_<name>`, and one
 * line SUITE(<name>) in suites/suites.def. Nothing else changes: its keys, help, cases, metrics
 * and charts follow from the descriptor. CONTRIBUTING.md has the smallest one.
 *
 * A suite plans its cases (expand) and carries one out (run). In run() it allocates and fills
 * through the backend, verifies once against an independent reference, describes the timed
 * operation as a `struct workload`, lets run_sample() sample it, derives metrics with run_rate()
 * or run_duration(), and verifies again. It never times, stops or averages anything itself.
 *
 *	static enum status copy_launch(void *state, unsigned batch, struct error *err);
 *
 *	static enum status transfer_run(struct run *run, struct error *err)
 *	{
 *		...
 *		struct workload w = { .state = &copy, .launch = copy_launch, .clock = CLOCK_DEVICE,
 *				      .streams = &copy.stream, .stream_count = 1 };
 *		if (run_sample(run, &w, "transfer.time", &time, err) != STATUS_OK)
 *			goto out;
 *		run_rate(run, "transfer.bandwidth", bytes, time);
 *		...
 *	}
 */
#ifndef GPUPROOF_PLAN_SUITE_H
#define GPUPROOF_PLAN_SUITE_H

#include <stdbool.h>

#include "base/error.h"
#include "plan/key.h"
#include "result/aspect.h"
#include "result/metric.h"
#include "result/presentation.h"

struct adaption;
struct plan;
struct plan_case;
struct result;
struct run;
struct section;

enum suite_processes {
	/* One worker process runs all cases; a case may open several devices in it. */
	SUITE_ONE_PROCESS,
	/*
	 * One process (rank) per device of the case; run->world joins them, run->devices holds the
	 * rank's own.
	 */
	SUITE_PROCESS_PER_DEVICE
};

/* Cases of several nodes together, of all their devices: plan_build_group(). */
enum suite_groups {
	SUITE_WITHIN_NODE, /* none */
	SUITE_OF_NODES,    /* groups of as many nodes as its key `nodes` lists; and each alone */
	SUITE_OF_PAIRS     /* pairs in rounds, as its keys `rounds` and `confirm` say; none alone */
};

/* A node, or the link between two (`other` not ""), that a suite holds to be at fault. */
struct suspect {
	char node[64], other[64]; /* other: "", or it is the link between the two */
	char text[320];           /* what was measured, and against what */
	bool candidate; /* so near to being a suspect that further rounds must decide; no text */
};

struct suite {
	const char *name;
	const char *summary; /* one line for `list suites` and the report */
	/*
	 * Ends with { 0 }; NULL: none. The sampling keys (plan/sampling_rules.h) come on top; one
	 * that is here as well has this default.
	 */
	const struct key *keys;
	/* list keys that span the sweep, in id order; NULL-terminated; NULL: none */
	const char *const *axes;
	/* of the parameters that expand() adds, those that limits may name; ends with { 0 } */
	const struct key *parameters;
	const struct metric *metrics; /* ends with { 0 } */
	/*
	 * How pages show its cases (result/presentation.h). Each list ends with { 0 }; NULL: none.
	 */
	const struct figure_row *figures; /* NULL: headline metrics over size */
	const struct table_row *tables;
	const struct word_row *words;
	const struct role_row *roles;
	const struct sheet_row *sheet;
	const struct suite_page *page; /* report/view/suite_page.h; NULL: none */
	/* what acceptance looks at; ends with { 0 }; NULL: none of it */
	const struct aspect_row *aspects;
	enum suite_processes processes;
	enum suite_groups groups;
	/* known from a result alone, its library is not loaded: sections may have any key */
	bool absent;
	bool fresh_processes; /* run->fork_server starts processes that have not touched a device */

	/*
	 * Adds the axes and metrics that a section declares to the section's copy of the suite
	 * (plan/suites/adapt.h), and checks what involves several keys. NULL: all sections have the
	 * same.
	 */
	void (*adapt)(struct adaption *adaption);

	/*
	 * A line that says more than the case's id, for `run --dry-run`; malloc'ed. NULL: the id
	 * says it all.
	 */
	char *(*describe)(const struct plan *plan, const struct plan_case *c);

	/*
	 * Places one point of the sweep: plan_add() / plan_add_each() / plan_add_skipped(), or
	 * nothing for a combination that makes no sense. May change the copy `point` (memory, setup
	 * estimate).
	 * NULL: each point on each device.
	 */
	enum status (*expand)(struct plan *plan, struct plan_case *point, struct error *err);

	/*
	 * Carries out one case. STATUS_UNSUPPORTED and STATUS_INTERRUPTED become SKIPPED,
	 * STATUS_MISMATCH FAILED, any other failure ERROR, each with err->message as its reason;
	 * metrics recorded before are kept.
	 */
	enum status (*run)(struct run *run, struct error *err);

	/*
	 * Concurrent groups: consecutive cases of one section that run at the same time or share
	 * what they need. groups_with() returns true if `other` may join the `count` cases of
	 * `group` (both NULL: never), `state` being that of open_state();
	 * run_group() carries them out, errs[i] being what run() would have said of runs[i]. Every
	 * case keeps its own metrics, samples and verification. A group that ends with a broken
	 * device, a crash or a hang is carried out again case by case, so it costs none of them.
	 */
	bool (*groups_with)(const void *state, const struct plan_case *const *group, size_t count,
			    const struct plan_case *other);
	void (*run_group)(struct run *const *runs, size_t count, struct error *errs);

	/*
	 * Completes a finished case with metrics that need other cases: run_value() through `run`,
	 * which has no device. In the conductor, when all cases have run, for each that is OK;
	 * `all` has them. NULL: nothing.
	 */
	void (*derive)(struct run *run, const struct result *all);

	/*
	 * Says in sentences what the cases of this suite show together, for the end of a run; NULL:
	 * nothing. The caller frees.
	 */
	char *(*statement)(const struct result *all);

	/*
	 * Compares the cases of `section` in a result of several nodes: who is at fault. *out is
	 * released by the caller. NULL: the suite names none.
	 */
	size_t (*find_suspects)(const struct result *result, const struct section *section,
				struct suspect **out);

	/*
	 * Higher-is-better metric that should not depend on the number of nodes. Where it is far
	 * lower over all nodes than over fewer, bisection looks for the cause. NULL: none.
	 */
	const char *scale_invariant_metric;

	/*
	 * State kept from case to case of one process, such as connections: run->suite_state. The
	 * worker opens it before the suite's first case, and closes it, while devices are still
	 * open, before another suite's cases or the end; closing takes back what cases have
	 * switched. NULL: the suite keeps nothing, and the state is NULL.
	 */
	void *(*open_state)(void);
	void (*close_state)(void *state);
};

/* Every suite, NULL-terminated, in suites.def's order. */
extern const struct suite *const suites[];
const struct suite *suite_find(const char *name);
/* Its rows, borrowed: what result_present() copies into a result. */
struct presentation suite_presentation(const struct suite *suite);

#endif
