/*
 * Acceptance: what doctor finds before and after a run is part of the verdict, limits on the node
 * are judged, and the page says who is to blame. Golden pages: golden.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "golden.h"
#include "judge_fixture.h"
#include "report/acceptance/acceptance.h"
#include "finding_of_subject.h"

static void judge_by(const char *body, const struct result *r, struct verdicts *v)
{
	struct limits limits;
	struct judge_input input = { .results = r, .count = 1, .limits = &limits };

	memset(v, 0, sizeof(*v));
	limits_from(&limits, body);
	judge_machine_results(&input, v);
	verdicts_finish(v);
	judge_limits_release(&limits);
}

/* Three sound GPUs. */
static void sound_node(struct result *r)
{
	node_init(r, 3, "NVIDIA H200");
	for (size_t i = 0; i < 3; i++) {
		struct case_result *c = node_add(r, i, 55e9, 0.001);

		r->devices[i].pcie_generation = 1; /* idle */
		r->devices[i].pcie_width = r->devices[i].pcie_width_max = 16;
		r->devices[i].pcie_generation_max = 5;
		r->devices[i].nvlink_count = 18;
		r->devices[i].ecc = 1;
		c->after.pcie_generation = 5;
		c->after.pcie_width = 16;
	}
	r->environment = xcalloc(1, sizeof(*r->environment));
	r->environment_count = 1;
	r->environment[0] = (struct fact){ xstrdup("driver"), xstrdup("580.159.03") };
}

#define LIMIT "metric = transfer.bandwidth\nmin = 1 GB/s\n"

static void find(struct finding **list, size_t *count, enum severity severity, const char *subject,
		 const char *text)
{
	struct finding *f;

	*list = xrealloc(*list, *count + 1, sizeof(**list));
	f = &(*list)[(*count)++];
	*f = finding_of_subject(severity, subject);
	snprintf(f->text, sizeof(f->text), "%s", text);
}

static void before(struct result *r, enum severity severity, const char *subject, const char *text)
{
	find(&r->preflight, &r->preflight_count, severity, subject, text);
}

static void after(struct result *r, enum severity severity, const char *subject, const char *text)
{
	find(&r->postflight, &r->postflight_count, severity, subject, text);
}

/* The one finding of the run; fails when there is none, or another. */
static const struct verdict_check *only_finding(const struct verdicts *v)
{
	const struct verdict_check *found = NULL;

	for (size_t i = 0; i < v->count; i++) {
		if (strcmp(v->checks[i].limit, "run") != 0)
			continue;
		assert_null(found);
		found = &v->checks[i];
	}
	assert_non_null(found);
	return found;
}

static void what_is_found_counts(void **state)
{
	static const struct {
		enum severity before, after;
		const char *subject, *was, *is;
		enum verdict verdict;
		int exit_code;
		const char *says;
	} rows[] = {
		{ SEVERITY_ERROR, SEVERITY_ERROR, "remapped rows cuda:1", "pending", "pending",
		  VERDICT_FAIL, 1, "before the run: remapped rows cuda:1: pending" },
		{ SEVERITY_WARNING, SEVERITY_WARNING, "power cap cuda:1", "500 W", "500 W",
		  VERDICT_WARN, 0, "before the run: power cap cuda:1: 500 W" },
		{ SEVERITY_OK, SEVERITY_WARNING, "retired pages cuda:1", "0", "1", VERDICT_WARN, 0,
		  "after the run: retired pages cuda:1: 1" },
		{ SEVERITY_OK, SEVERITY_ERROR, "ecc errors cuda:1", "none", "uncorrected 1",
		  VERDICT_FAIL, 1, "after the run: ecc errors cuda:1: uncorrected 1" },
		{ SEVERITY_OK, SEVERITY_OK, "nvlink cuda:1", "18 of 18", "17 of 17", VERDICT_WARN,
		  0, "nvlink cuda:1 changed during the run: from 18 of 18 to 17 of 17" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct verdict_check *c;
		struct verdicts v;
		struct result r;

		sound_node(&r);
		before(&r, rows[i].before, rows[i].subject, rows[i].was);
		after(&r, rows[i].after, rows[i].subject, rows[i].is);
		judge_by(LIMIT, &r, &v);
		c = only_finding(&v);
		assert_int_equal(c->verdict, rows[i].verdict);
		assert_string_equal(c->devices, "cuda:1");
		assert_string_equal(c->uuid, "GPU-1");
		assert_string_equal(c->reason, rows[i].says);
		assert_int_equal(verdicts_exit_code(&v), rows[i].exit_code);
		verdicts_release(&v);
		result_release(&r);
	}
}

/* A busy host, a GPU that the run did not use, links that idle: none of a GPU's faults. */
static void what_is_no_fault_of_a_gpu_does_not(void **state)
{
	struct verdicts v;
	struct result r;

	(void)state;
	sound_node(&r);
	before(&r, SEVERITY_WARNING, "load", "9 on 2 CPUs");
	after(&r, SEVERITY_WARNING, "load", "12 on 2 CPUs");
	before(&r, SEVERITY_WARNING, "power cap cuda:7", "400 W");
	before(&r, SEVERITY_NOTE, "pcie cuda:1", "generation 1 of 5");
	after(&r, SEVERITY_OK, "pcie cuda:1", "generation 5");
	judge_by(LIMIT, &r, &v);
	assert_int_equal(v.count, 3);
	assert_int_equal(v.counts[VERDICT_PASS], 3);
	verdicts_release(&v);
	/* A device that is gone is. */
	after(&r, SEVERITY_ERROR, "device cuda:2", "it is gone");
	judge_by(LIMIT, &r, &v);
	assert_int_equal(only_finding(&v)->verdict, VERDICT_FAIL);
	assert_string_equal(only_finding(&v)->devices, "cuda:2");
	verdicts_release(&v);
	result_release(&r);
}

static void links_count_under_load(void **state)
{
	struct verdicts v;
	struct result r;

	(void)state;
	sound_node(&r);
	judge_by(LIMIT, &r, &v);
	assert_int_equal(v.count, 3);
	verdicts_release(&v);
	r.cases[2].after.pcie_generation = 4;
	judge_by(LIMIT, &r, &v);
	assert_int_equal(only_finding(&v)->verdict, VERDICT_WARN);
	assert_string_equal(only_finding(&v)->devices, "cuda:2");
	assert_non_null(strstr(only_finding(&v)->reason, "reached only generation 4 x16"));
	verdicts_release(&v);
	result_release(&r);
}

static void a_lost_nvlink_link_rejects(void **state)
{
	static const struct {
		const char *model;
		int whole, links;
		const char *found; /* NULL: nothing */
		enum verdict verdict;
	} rows[] = {
		{ "NVIDIA H200", 18, 17,
		  "17 of 18 NVLink links are active (number of links: data sheet)", VERDICT_FAIL },
		{ "NVIDIA A100-SXM4-80GB", 12, 11,
		  "11 of 12 NVLink links are active (number of links: data sheet)", VERDICT_FAIL },
		{ "NVIDIA A100-SXM4-80GB", 12, 12, NULL, VERDICT_PASS },
		{ "NVIDIA H200", 18, 0,
		  "0 of 18 NVLink links are active (number of links: data sheet), though the node "
		  "has other GPUs",
		  VERDICT_INCONCLUSIVE },
		{ "NVIDIA H100 NVL", 0, 12, NULL, VERDICT_PASS }, /* has no data sheet */
		/* boards that wire fewer exist, and those without a bridge */
		{ "Tesla V100-SXM2-16GB", 0, 5, NULL, VERDICT_PASS },
		{ "NVIDIA RTX A6000", 4, 0, NULL, VERDICT_PASS },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct verdicts v;
		struct result r;

		sound_node(&r);
		for (size_t d = 0; d < 3; d++)
			strcpy(r.devices[d].name, rows[i].model);
		r.devices[0].nvlink_count = r.devices[2].nvlink_count = rows[i].whole;
		r.devices[1].nvlink_count = rows[i].links;
		judge_by(LIMIT, &r, &v);
		if (rows[i].found) {
			assert_int_equal(v.overall, rows[i].verdict);
			assert_string_equal(only_finding(&v)->devices, "cuda:1");
			assert_string_equal(only_finding(&v)->reason, rows[i].found);
			assert_int_equal(only_finding(&v)->cause, CAUSE_NVLINK_DEGRADED);
		} else {
			assert_int_equal(v.count, 3);
		}
		verdicts_release(&v);
		result_release(&r);
	}
}

/* Findings before or after a run are judged by their topic. */
static void findings_have_the_verdict_of_their_kind(void **state)
{
	static const struct {
		const char *topic;
		enum severity before, after;
		enum verdict verdict;
		enum cause cause;
	} rows[] = {
		{ FINDING_MIG, SEVERITY_WARNING, SEVERITY_WARNING, VERDICT_INCONCLUSIVE,
		  CAUSE_NODE_SETTING },
		{ FINDING_RECOVERY, SEVERITY_ERROR, SEVERITY_ERROR, VERDICT_FAIL,
		  CAUSE_GPU_RECOVERY },
		{ FINDING_RECOVERY, SEVERITY_OK, SEVERITY_ERROR, VERDICT_FAIL, CAUSE_GPU_RECOVERY },
		{ FINDING_FABRIC, SEVERITY_WARNING, SEVERITY_WARNING, VERDICT_WARN,
		  CAUSE_NVLINK_DEGRADED },
		{ FINDING_XID, SEVERITY_OK, SEVERITY_WARNING, VERDICT_WARN,
		  CAUSE_GPU_CRITICAL_ERROR },
		{ FINDING_NVLINK, SEVERITY_WARNING, SEVERITY_WARNING, VERDICT_WARN,
		  CAUSE_NVLINK_DEGRADED },
		{ FINDING_NVLINK, SEVERITY_OK, SEVERITY_WARNING, VERDICT_FAIL,
		  CAUSE_NVLINK_DEGRADED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct verdicts v;
		struct result r;

		sound_node(&r);
		r.preflight = xcalloc(1, sizeof(*r.preflight));
		r.postflight = xcalloc(1, sizeof(*r.postflight));
		r.preflight_count = r.postflight_count = 1;
		finding_set_device(&r.preflight[0], rows[i].topic, "cuda:1");
		r.preflight[0].severity = rows[i].before;
		strcpy(r.preflight[0].text, "as it is");
		r.postflight[0] = r.preflight[0];
		r.postflight[0].severity = rows[i].after;
		if (rows[i].after != rows[i].before)
			strcpy(r.postflight[0].text, "as it became");
		judge_by(LIMIT, &r, &v);
		assert_int_equal(only_finding(&v)->verdict, rows[i].verdict);
		assert_int_equal(only_finding(&v)->cause, rows[i].cause);
		assert_string_equal(only_finding(&v)->devices, "cuda:1");
		verdicts_release(&v);
		result_release(&r);
	}
}

/* The check of the limit, not what was found without one. */
static const struct verdict_check *of_limit(const struct verdicts *v)
{
	for (size_t i = 0; i < v->count; i++)
		if (strcmp(v->checks[i].limit, "run") != 0)
			return &v->checks[i];
	fail_msg("the limit was not judged");
	return NULL;
}

static void nodes_have_limits(void **state)
{
	static const struct {
		const char *limit;
		enum verdict sound, with_faults;
	} rows[] = {
		{ "metric = node.pcie_generation\nmin = 5\n", VERDICT_PASS, VERDICT_FAIL },
		{ "metric = node.pcie_width\nmin = 16\n", VERDICT_PASS, VERDICT_PASS },
		{ "metric = node.nvlink_links\nmin = 18\n", VERDICT_PASS, VERDICT_FAIL },
		{ "metric = node.ecc\nmin = 1\n", VERDICT_PASS, VERDICT_FAIL },
		{ "metric = node.driver\nmin = 580\n", VERDICT_PASS, VERDICT_FAIL },
		{ "metric = node.driver\nmin = 580\nmax = 580\n", VERDICT_PASS, VERDICT_FAIL },
		{ "metric = node.devices\nwhere = model:H200\nmin = 3\nmax = 3\n", VERDICT_PASS,
		  VERDICT_PASS },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct verdicts v;
		struct result r;

		sound_node(&r);
		judge_by(rows[i].limit, &r, &v);
		assert_int_equal(of_limit(&v)->verdict, rows[i].sound);
		verdicts_release(&v);
		r.cases[1].after.pcie_generation = 4;
		r.devices[1].nvlink_count = 17;
		r.devices[1].ecc = 0;
		strcpy(r.environment[0].value, "570.1");
		judge_by(rows[i].limit, &r, &v);
		if (of_limit(&v)->verdict != rows[i].with_faults)
			fail_msg("%s: %s", rows[i].limit,
				 verdict_fields_name(of_limit(&v)->verdict));
		if (rows[i].with_faults == VERDICT_FAIL && !strstr(rows[i].limit, "driver"))
			assert_string_equal(of_limit(&v)->devices, "cuda:1");
		verdicts_release(&v);
		result_release(&r);
	}
}

static char *page_of(const struct result *r, const struct verdicts *v, const char *limits)
{
	struct verdicts judgement = *v;
	struct result judged = *r;
	const struct acceptance a = { .result = &judged };
	const struct report_options options = { .output = "unused" };
	struct text html = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	char *name = xstrdup(limits);

	judgement.limits = name;
	judged.judgement = &judgement;
	if (acceptance_render(&a, &options, &html, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	free(name);
	return text_detach(&html);
}

static void assert_holds(const char *html, const char *words)
{
	if (!strstr(html, words))
		fail_msg("the page does not say '%s'", words);
}

static void complete_strings(struct result *r)
{
	char **texts[] = { &r->gpuproof_version, &r->run_id,   &r->label,
			   &r->started,          &r->finished, &r->command };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		*texts[i] = *texts[i] ? *texts[i] : xstrdup("");
}

static void the_page_says_who_and_why(void **state)
{
	struct verdicts v;
	struct result r;
	char *html;

	(void)state;
	sound_node(&r);
	complete_strings(&r);
	judge_by("metric = transfer.bandwidth\nmin = 50 GB/s\norigin = the contract\n", &r, &v);
	html = page_of(&r, &v, "mine.ini");
	assert_holds(html, "ACCEPTED");
	assert_holds(html, "the contract");
	assert_holds(html, "mine.ini");
	assert_holds(html, "Not recorded");
	free(html);
	verdicts_release(&v);
	result_release(&r);

	sound_node(&r);
	complete_strings(&r);
	r.cases[1].metrics[0].value = 20e9;
	r.cases[1].metrics[0].low = 19.9e9;
	r.cases[1].metrics[0].high = 20.1e9;
	before(&r, SEVERITY_OK, "remapped rows cuda:2", "0");
	after(&r, SEVERITY_ERROR, "remapped rows cuda:2", "<b>1 pending</b>");
	judge_by("metric = transfer.bandwidth\nmin = 50 GB/s\n", &r, &v);
	html = page_of(&r, &v, "mine.ini");
	assert_holds(html, "REJECTED");
	assert_holds(html, "<p class=\"headline\">GPU cuda:");
	assert_holds(html,
		     "<strong>FAIL</strong> GPU cuda:1 is 60 % below the limit in copies from");
	assert_holds(html, "<strong>FAIL</strong> GPU cuda:2");
	assert_holds(html, "20.00 GB/s");
	assert_holds(html, "−60.0\u00a0%");
	assert_holds(html, "&lt;b&gt;1 pending");
	assert_holds(html, "Signature");
	assert_null(strstr(html, "<b>1 pending"));
	free(html);
	verdicts_release(&v);
	result_release(&r);
}

static void assert_order(const char *html, const char *first, const char *then)
{
	assert_holds(html, first);
	assert_holds(html, then);
	if (strstr(html, first) > strstr(html, then))
		fail_msg("'%s' comes after '%s'", first, then);
}

/* The last of many devices fails, those before are undecided: it is the first that is named. */
static void the_worst_of_many_devices_is_named_first(void **state)
{
	enum { DEVICES = 12 };
	struct verdicts v;
	struct result r;
	char *html;

	(void)state;
	node_init(&r, DEVICES, "NVIDIA H200");
	complete_strings(&r);
	for (size_t i = 0; i + 1 < DEVICES; i++)
		node_add(&r, i, i == 0 ? 60e9 : 50e9, 0.01);
	node_add(&r, DEVICES - 1, 20e9, 0.001);
	judge_by("metric = transfer.bandwidth\nmin = 50 GB/s\n", &r, &v);
	html = page_of(&r, &v, "mine.ini");
	assert_order(html, "<strong>FAIL</strong> GPU cuda:11 is 60 % below the limit",
		     "<strong>INCONCLUSIVE</strong> GPU cuda:1 measured");
	assert_holds(html, " more reasons: gpuproof check --all");
	/* Tables of devices: how many came out how, the one that failed, the others folded. */
	assert_order(html, "<strong>all 12 devices</strong>", "<strong>cuda:11</strong></th>");
	assert_holds(html, "1 FAIL</span> <small>10 INCONCLUSIVE, 1 PASS</small>");
	assert_order(html, "<strong>cuda:11</strong></th>", "<strong>cuda:1</strong></th>");
	assert_order(html, "<strong>cuda:2</strong></th>", "<summary>9 more devices");
	assert_holds(html, "9 more devices, by worst verdict: 8 INCONCLUSIVE, 1 PASS");
	assert_order(html, "<summary>9 more devices", "<strong>cuda:3</strong></th>");
	/* The chart: a row for all, one for the device that failed. */
	assert_holds(html, ">all 12</text>");
	free(html);
	verdicts_release(&v);
	result_release(&r);
}

/* A required aspect that was not measured is not hidden by what passed. */
static void skipped_is_not_passed(void **state)
{
	struct case_result *second;
	struct verdicts v;
	struct result r;
	char *html;

	(void)state;
	sound_node(&r);
	complete_strings(&r);
	second = node_add(&r, 2, 55e9, 0.001);
	free(second->id);
	second->id = xstrdup("transfer/d2h/pinned/512MiB@cuda:2");
	case_derive_point(second);
	second->status = CASE_SKIPPED;
	judge_by(LIMIT, &r, &v);
	assert_int_equal(v.counts[VERDICT_SKIP], 1);
	assert_int_equal(v.counts[VERDICT_PASS], 3);
	html = page_of(&r, &v, "mine.ini");
	assert_holds(html, "PASS</span> <small>1 of 2, margin");
	assert_holds(html, "Skipped checks: 1");
	assert_holds(html, "INCONCLUSIVE");
	free(html);
	verdicts_release(&v);
	result_release(&r);
}

/* A run that measured nothing is not accepted, and its page still is one. */
static void nothing_is_never_accepted(void **state)
{
	struct verdicts v;
	struct result r;
	char *html;

	(void)state;
	node_init(&r, 0, "");
	complete_strings(&r);
	judge_by(LIMIT, &r, &v);
	html = page_of(&r, &v, "mine.ini");
	assert_null(strstr(html, "</span> ACCEPTED"));
	assert_holds(html, "</html>");
	free(html);
	verdicts_release(&v);
	result_release(&r);
}

static void read_data(struct result *r, const char *name)
{
	char *path = xasprintf(TESTS_DIR "/data/%s", name);
	struct error err = ERROR_NONE;

	if (result_read(r, path, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	free(path);
}

static void judge_by_model(const struct result *r, struct verdicts *v)
{
	struct text errors = TEXT_EMPTY;
	struct limits limits;
	struct judge_input input = { .results = r, .count = 1, .limits = &limits };

	memset(v, 0, sizeof(*v));
	assert_int_equal(judge_limits_of_model(&limits, r->devices[0].name, &errors), STATUS_OK);
	judge_machine_results(&input, v);
	verdicts_finish(v);
	judge_limits_release(&limits);
	text_release(&errors);
}

/* Two real H200s, with the limits of their model. */
static void golden_page(void **state)
{
	struct verdicts v;
	struct result r;

	(void)state;
	read_data(&r, "quick_h200_x2.json");
	judge_by_model(&r, &v);
	golden_assert_tree(page_of(&r, &v, "h200"), "acceptance_quick_h200_x2");
	verdicts_release(&v);
	result_release(&r);
}

/*
 * A real soak of one H200 with injected bits: each slice's wrong words are the GPU's, by its UUID,
 * and outrank all.
 */
static void a_soak_blames_its_gpu(void **state)
{
	size_t blamed = 0;
	struct verdicts v;
	struct result r;
	char *html;

	(void)state;
	read_data(&r, "burn_h200_planted.json");
	judge_by("metric = burn.wrong\nmax = 0\n", &r, &v);
	for (size_t i = 0; i < v.count; i++) {
		const struct verdict_check *c = &v.checks[i];

		if (strcmp(c->limit, "run") != 0 || !c->wrong)
			continue;
		blamed++;
		assert_string_equal(c->uuid, r.devices[0].uuid);
		assert_non_null(
			strstr(c->reason, "12 wrong words that gpuproof injected; first: "));
		assert_int_equal(c->cause, CAUSE_FAULTS_INJECTED);
	}
	assert_int_equal(blamed, 5);
	assert_int_equal(verdicts_exit_code(&v), 5);
	html = page_of(&r, &v, "mine.ini");
	assert_holds(html, "REJECTED");
	assert_holds(html, "WRONG");
	free(html);
	verdicts_release(&v);
	result_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_found_counts),
		cmocka_unit_test(what_is_no_fault_of_a_gpu_does_not),
		cmocka_unit_test(links_count_under_load),
		cmocka_unit_test(a_lost_nvlink_link_rejects),
		cmocka_unit_test(findings_have_the_verdict_of_their_kind),
		cmocka_unit_test(nodes_have_limits),
		cmocka_unit_test(the_page_says_who_and_why),
		cmocka_unit_test(the_worst_of_many_devices_is_named_first),
		cmocka_unit_test(skipped_is_not_passed),
		cmocka_unit_test(nothing_is_never_accepted),
		cmocka_unit_test(golden_page),
		cmocka_unit_test(a_soak_blames_its_gpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
