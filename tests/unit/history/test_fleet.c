/* Node against node: what is found, and how often healthy fleets are accused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/text.h"
#include "history/fleet/fleet.h"
#include "sample_nights.h"

#define FIRST INT64_C(20514) /* 2026-03-02 */

/* A fleet as it is simulated; shares are of the level, more is slower. */
struct sample {
	size_t hosts, devices, nights;
	double night, chip, node; /* standard deviations */
	double kinds;             /* half of the chips are better by this */
	size_t slow_host, slow_device, late_device,
		late_night; /* devices: host x devices + index */
	double slow_node, slow, late;
	size_t slow_slot; /* of all nodes, by slow_by_slot */
	double slow_by_slot;
	uint64_t seed;
};

#define HEALTHY                                                                        \
	.night = 0.002, .chip = 0.004, .slow_host = SIZE_MAX, .slow_device = SIZE_MAX, \
	.late_device = SIZE_MAX, .slow_slot = SIZE_MAX

/* The logarithm of each device's value, night by night. */
static void simulate(const struct sample *s, double *out)
{
	uint64_t seed = s->seed;

	for (size_t h = 0; h < s->hosts; h++) {
		double node = s->node * sample_normal(&seed);

		node -= h == s->slow_host ? s->slow_node : 0;
		for (size_t d = 0; d < s->devices; d++) {
			size_t index = h * s->devices + d;
			double chip = node + s->chip * sample_normal(&seed);

			chip += sample_normal(&seed) > 0 ? s->kinds : 0;
			chip -= index == s->slow_device ? s->slow : 0;
			chip -= d == s->slow_slot ? s->slow_by_slot : 0;
			for (size_t n = 0; n < s->nights; n++)
				out[index * s->nights + n] =
					chip + s->night * sample_normal(&seed) -
					(index == s->late_device && n >= s->late_night ? s->late
										       : 0);
		}
	}
}

/* The fleet in memory, judged. */
static void judge_sample(const struct sample *s, struct fleet *f)
{
	size_t devices = s->hosts * s->devices;
	double *values = xcalloc(devices * s->nights, sizeof(*values));

	simulate(s, values);
	memset(f, 0, sizeof(*f));
	f->nights.items = xcalloc(s->nights, sizeof(*f->nights.items));
	f->nights.count = s->nights;
	for (size_t n = 0; n < s->nights; n++)
		f->nights.items[n].day = FIRST + (int64_t)n;
	f->first_day = FIRST + (int64_t)(s->nights > FLEET_NIGHTS ? s->nights - FLEET_NIGHTS : 0);
	f->last_day = FIRST + (int64_t)s->nights - 1;
	f->hosts = xcalloc(s->hosts, sizeof(*f->hosts));
	f->host_count = s->hosts;
	for (size_t h = 0; h < s->hosts; h++)
		f->hosts[h].name = xasprintf("node%03zu", h);
	f->series = xcalloc(devices, sizeof(*f->series));
	f->series_count = devices;
	f->members = xcalloc(devices, sizeof(*f->members));
	f->member_count = devices;
	for (size_t i = 0; i < devices; i++) {
		struct fleet_member *m = &f->members[i];

		f->series[i] =
			(struct history_series){ .id = (int64_t)i + 1,
						 .metric = xstrdup("stream.bandwidth"),
						 .case_id = xasprintf("stream/triad@cuda:%zu",
								      i % s->devices),
						 .section = xstrdup("stream"),
						 .point = xstrdup("stream/triad"),
						 .model = xstrdup("H200"),
						 .machine = xasprintf("GPU-%zu", i),
						 .unit = xstrdup("B/s"),
						 .better = BETTER_HIGHER };
		*m = (struct fleet_member){ .series = &f->series[i],
					    .devices = xasprintf("cuda:%zu", i % s->devices),
					    .host = i / s->devices,
					    .nights = xcalloc(s->nights, sizeof(*m->nights)),
					    .count = s->nights,
					    .allowed = NAN };
		for (size_t n = 0; n < s->nights; n++)
			m->nights[n] = (struct fleet_night){ (uint32_t)n,
							     (float)values[i * s->nights + n] };
	}
	free(values);
	fleet_collect_group(f);
	fleet_collect_levels(f);
	cohort_judge(f);
	fleet_findings(f);
}

static size_t accused(struct sample s, size_t fleets)
{
	size_t found = 0;

	for (size_t i = 0; i < fleets; i++) {
		struct fleet f;

		s.seed = 77 + i * 1000003;
		judge_sample(&s, &f);
		assert_int_equal(f.compared, s.hosts * s.devices);
		found += f.finding_count > 0;
		fleet_collect_release(&f);
	}
	return found;
}

/* At most 1 % of healthy fleets, whatever their size, and where nodes or kinds of chips differ. */
static void test_healthy(void **state)
{
	const struct sample samples[] = {
		{ HEALTHY, .hosts = 40, .devices = 8, .nights = 7 },
		{ HEALTHY, .hosts = 2, .devices = 8, .nights = 7 },
		{ HEALTHY, .hosts = 5, .devices = 4, .nights = 7 },
		{ HEALTHY, .hosts = 12, .devices = 8, .nights = 1 },
		{ HEALTHY, .hosts = 40, .devices = 8, .nights = 7, .node = 0.003 },
		{ HEALTHY, .hosts = 40, .devices = 8, .nights = 7, .kinds = 0.03 },
		{ HEALTHY, .hosts = 40, .devices = 1, .nights = 7, .node = 0.02 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		size_t found = accused(samples[i], 1000);

		print_message("%zu hosts of %zu, %zu nights: %zu of 1000 healthy fleets accused\n",
			      samples[i].hosts, samples[i].devices, samples[i].nights, found);
		assert_true(found <= 10);
	}
}

static const struct fleet_finding *only(const struct fleet *f, enum fleet_kind kind)
{
	const struct fleet_finding *found = NULL;

	for (size_t i = 0; i < f->finding_count; i++)
		if (f->findings[i].kind == kind) {
			assert_null(found);
			found = &f->findings[i];
		}
	assert_non_null(found);
	return found;
}

/* A slow GPU, one that loses 3 % in its 18th night, and a node that is slow as a whole. */
static void test_planted(void **state)
{
	struct sample s = { HEALTHY, .hosts = 40, .devices = 8, .nights = 30 };
	size_t right = 0;

	(void)state;
	s.slow_host = 17, s.slow_node = 0.04;
	s.slow_device = 3 * 8 + 5, s.slow = 0.03;
	s.late_device = 29 * 8 + 2, s.late = 0.03, s.late_night = 17;
	for (s.seed = 1; s.seed <= 20; s.seed++) {
		const struct fleet_finding *node;
		bool slow = false, late = false;
		struct fleet f;

		judge_sample(&s, &f);
		node = only(&f, FLEET_HOST);
		assert_string_equal(f.hosts[node->host].name, "node017");
		assert_true(node->always && node->dated);
		assert_in_range(1000 * fleet_findings_percent(node->deficit), 35, 44);
		for (size_t i = 0; i < f.finding_count; i++) {
			const struct fleet_finding *x = &f.findings[i];
			const struct fleet_member *m = &f.members[x->member];

			if (x->kind != FLEET_DEVICE)
				continue;
			if (m->host == 3 && strcmp(m->devices, "cuda:5") == 0)
				slow = x->always;
			else if (m->host == 29 && strcmp(m->devices, "cuda:2") == 0)
				late = !x->always && x->since == FIRST + 17;
			else
				fail_msg("%s %s is accused", f.hosts[m->host].name, m->devices);
		}
		right += slow && late;
		fleet_collect_release(&f);
	}
	assert_int_equal(right, 20);
}

/* A slot that is slow in all nodes is no fault of a node or a device. */
static void test_slot(void **state)
{
	struct sample s = { HEALTHY, .hosts = 40, .devices = 8, .nights = 7, .seed = 5 };
	struct fleet f;
	char *words;

	(void)state;
	s.slow_slot = 6, s.slow_by_slot = 0.015;
	judge_sample(&s, &f);
	assert_string_equal(only(&f, FLEET_SLOT)->slot, "cuda:6");
	words = fleet_findings_subject_words(&f, only(&f, FLEET_SLOT));
	assert_string_equal(words, "slot cuda:6 on most nodes");
	free(words);
	fleet_collect_release(&f);
}

/* Few nodes: a slow one is found by its devices; half of the nodes are a kind, and are told. */
static void test_few_nodes(void **state)
{
	struct sample s = { HEALTHY, .hosts = 6, .devices = 8, .nights = 7, .seed = 9 };
	struct fleet f;

	(void)state;
	s.slow_host = 2, s.slow_node = 0.05;
	judge_sample(&s, &f);
	assert_string_equal(f.hosts[only(&f, FLEET_HOST)->host].name, "node002");
	assert_int_equal(f.finding_count, 1);
	fleet_collect_release(&f);
	s.hosts = 2, s.slow_host = 1;
	judge_sample(&s, &f);
	assert_int_equal(f.finding_count, 0);
	assert_true(f.cohorts[0].kinds_of_hosts);
	fleet_collect_release(&f);
	/* Too few to say anything: no device was compared. */
	s.devices = 2;
	judge_sample(&s, &f);
	assert_int_equal(f.compared, 0);
	assert_int_equal(f.too_few, 4);
	fleet_collect_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_healthy),
		cmocka_unit_test(test_planted),
		cmocka_unit_test(test_slot),
		cmocka_unit_test(test_few_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
