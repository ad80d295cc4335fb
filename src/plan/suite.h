/*
 * A suite: a family of measurements.
 *
 * Adding a suite: add a file suites/<name>.c that ends with `const struct suite suite_<name>`, and
 * a line SUITE(<name>) to suites/suites.def. Its keys, help, cases, metrics and charts follow from
 * this descriptor. CONTRIBUTING.md has the smallest one.
 *
 * A suite plans its cases (expand) and executes them (run). run() allocates and fills through the
 * backend, verifies once against an independent reference, describes the timed operation as a
 * `struct workload`, lets run_sample() sample it, derives metrics with run_rate() or
 * run_duration(), and verifies again. It never times, stops or averages anything itself.
 *
 *	static enum status copy_launch(void *state, unsigned batch, struct error *err);
 *
 *	static enum status transfer_run(struct run *run, struct error *err)
 *	{
 *		...
 *		struct workload w = { .state = &copy, .launch = copy_launch,
 *				      .clock = CLOCK_DEVICE,
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
	/* One worker process runs all cases; a case may open several devices. */
	SUITE_ONE_PROCESS,
	/*
	 * One process (rank) per device of the case; run->world joins them, run->devices has the
	 * rank's own device.
	 */
	SUITE_PROCESS_PER_DEVICE
};

/* Multi-node cases, on all devices of the nodes: plan_build_group(). */
enum suite_groups {
	SUITE_WITHIN_NODE, /* none */
	SUITE_OF_NODES,    /* groups with the sizes in its key `nodes`, and each node alone */
	SUITE_OF_PAIRS     /* pairs, by its keys `rounds` and `confirm`; no single-node cases */
};

/* A suspect of a suite: a node, or the link between two (`other` not ""). */
struct suspect {
	char node[64], other[64]; /* other: "", or the second node of the link */
	char text[320];           /* what was measured, and the value it was compared with */
	bool candidate;           /* almost a suspect: further rounds must decide; has no text */
};

struct suite {
	const char *name;
	const char *summary; /* one line for `list suites` and the report */
	/*
	 * Terminated by { 0 }; NULL: none. The sampling keys (plan/sampling_rules.h) are added; a
	 * key here overrides their default.
	 */
	const struct key *keys;
	/* list keys that span the sweep, in id order; NULL-terminated; NULL: none */
	const char *const *axes;
	/* parameters added by expand() that limits may name; terminated by { 0 } */
	const struct key *parameters;
	const struct metric *metrics; /* terminated by { 0 } */
	/*
	 * Presentation of its cases on pages (result/presentation.h). Each list is terminated by {
	 * 0 }; NULL: none.
	 */
	const struct figure_row *figures; /* NULL: headline metrics over size */
	const struct table_row *tables;
	const struct word_row *words;
	const struct role_row *roles;
	const struct sheet_row *sheet;
	const struct suite_page *page; /* report/view/suite_page.h; NULL: none */
	/* aspects for acceptance; terminated by { 0 }; NULL: none */
	const struct aspect_row *aspects;
	enum suite_processes processes;
	enum suite_groups groups;
	/* known from a result only, its library is not loaded: sections may have any key */
	bool absent;
	bool fresh_processes; /* run->fork_server starts processes that have not touched a device */

	/*
	 * Adds the axes and metrics that a section declares to the section's copy of the suite
	 * (plan/suites/adapt.h), and checks combinations of keys. NULL: all sections have the same
	 * ones.
	 */
	void (*adapt)(struct adaption *adaption);

	/*
	 * A line with more than the case's id, for `run --dry-run`; the caller frees it. NULL: the
	 * id is enough.
	 */
	char *(*describe)(const struct plan *plan, const struct plan_case *c);

	/*
	 * Places one point of the sweep with plan_add() or plan_add_each(), or
	 * drops a meaningless combination. May change the copy `point` (memory, setup estimate).
	 * NULL: each point on each device.
	 */
	enum status (*expand)(struct plan *plan, struct plan_case *point, struct error *err);

	/*
	 * Runs one case. STATUS_UNSUPPORTED and STATUS_INTERRUPTED become SKIPPED, STATUS_MISMATCH
	 * becomes FAILED, any other failure ERROR, each with err->message as its reason; metrics
	 * recorded before are kept.
	 */
	enum status (*run)(struct run *run, struct error *err);

	/*
	 * Concurrent groups: consecutive cases of one section that run at the same time or share
	 * resources. groups_with() returns true if `other` may join the `count` cases of `group`
	 * (both NULL: never); `state` comes from open_state(). run_group() runs them;
	 * errs[i] is what run() would return for runs[i]. Each case keeps its own metrics, samples
	 * and verification. A group that ends with a broken device, a crash or a hang is repeated
	 * case by case, so that no case is lost.
	 */
	bool (*groups_with)(const void *state, const struct plan_case *const *group, size_t count,
			    const struct plan_case *other);
	void (*run_group)(struct run *const *runs, size_t count, struct error *errs);

	/*
	 * Completes a finished case with metrics that need other cases: run_value() through `run`,
	 * which has no device. Called in the conductor after all cases, for each case that is OK;
	 * `all` contains them. NULL: nothing.
	 */
	void (*derive)(struct run *run, const struct result *all);

	/*
	 * Compares the cases of `section` in a multi-node result to find suspects. The caller
	 * releases *out. NULL: the suite names none.
	 */
	size_t (*find_suspects)(const struct result *result, const struct section *section,
				struct suspect **out);

	/*
	 * State kept between the cases of one process, such as connections: run->suite_state. The
	 * worker opens it before the suite's first case and closes it, while devices are still
	 * open, before another suite's cases or the end; closing restores what cases have changed.
	 * NULL: no state.
	 */
	void *(*open_state)(void);
	void (*close_state)(void *state);
};

/* All suites in the order of suites.def, NULL-terminated. */
extern const struct suite *const suites[];
const struct suite *suite_find(const char *name);
/* Its rows, borrowed, as result_present() copies them into a result. */
struct presentation suite_presentation(const struct suite *suite);

#endif
