/* Finds slow members, nodes and slots of a fleet, and creates their findings. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "history/fleet/fleet.h"
#include "stats/difference.h"
#include "stats/student.h"

#define MAD_EFFICIENCY 0.37
#define MEDIAN_EFFICIENCY 1.2533 /* ratio of the standard errors of median and mean, normal data */
#define MOST_FREEDOM 400         /* beyond this, Student's t is a normal distribution */
#define MOST_SLOW_HOSTS 4 /* a quarter of the hosts: more slow hosts count as a group of nodes */

/* A node or a slot in a cohort: median of its members. */
struct fleet_group {
	size_t cohort, host, member; /* member: the worst one */
	const char *slot;            /* NULL: the group is a node */
	size_t count, slow;          /* number of members; of slow ones */
	double deficit, allowed, half;
	bool is_slow;
};

/* The t that a MAD of n values exceeds by chance with probability FLEET_FALSE / `tests`. */
static double cohort_mad_limit(size_t n, size_t tests)
{
	double dof = floor(MAD_EFFICIENCY * (double)(n - 1)), low = 0, high = 1e6;
	size_t freedom = dof < 1 ? 1 : dof > MOST_FREEDOM ? MOST_FREEDOM : (size_t)dof;

	while (high - low > 1e-3 * (1 + low)) {
		double middle = (low + high) / 2;

		if (student_probability(middle, freedom) / 2 > FLEET_FALSE / (double)tests)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* Index of the group with the nearest centre. */
static size_t cohort_kind_of(const struct kinds *kinds, double level)
{
	size_t best = 0;

	for (size_t k = 1; k < kinds->count; k++)
		if (fabs(kinds->items[k].center - level) < fabs(kinds->items[best].center - level))
			best = k;
	return best;
}

/* True if each host's members are in one group; `low`: number of hosts in the lowest group. */
static bool cohort_follow_hosts(const struct fleet *f, const struct fleet_cohort *c, size_t *low)
{
	bool pairs = false;

	*low = 0;
	for (size_t i = c->first; i < c->first + c->count;) {
		size_t kind = SIZE_MAX, n = 0, host = f->members[i].host;

		for (; i < c->first + c->count && f->members[i].host == host; i++) {
			if (!f->members[i].recent)
				continue;
			if (n++ && cohort_kind_of(&c->kinds, f->members[i].level) != kind)
				return false;
			kind = cohort_kind_of(&c->kinds, f->members[i].level);
		}
		pairs = pairs || n > 1;
		*low += kind == 0;
	}
	return pairs;
}

/* Computes groups, residuals and deviations of a cohort. */
static void cohort_describe(struct fleet *f, struct fleet_cohort *c, double *values)
{
	size_t n = 0, low;

	for (size_t i = c->first; i < c->first + c->count; i++)
		if (!isnan(f->members[i].deviation))
			values[n++] = f->members[i].deviation;
	c->night_deviation = n ? median_of(values, n) : 0;
	n = 0;
	for (size_t i = c->first; i < c->first + c->count; i++)
		if (f->members[i].recent)
			values[n++] = f->members[i].level;
	qsort(values, n, sizeof(*values), compare_doubles);
	c->compared = n >= FLEET_FEWEST && c->hosts > 1;
	if (!c->compared)
		return;
	c->kinds = kinds_of(values, n);
	c->kinds_of_hosts = c->kinds.count > 1 && cohort_follow_hosts(f, c, &low);
	if (c->kinds_of_hosts && low * MOST_SLOW_HOSTS < c->hosts) {
		c->kinds.count = 1;
		c->kinds.items[0] = (struct kind){ median_of_sorted(values, n), n };
		c->kinds_of_hosts = false;
	}
	for (size_t i = c->first; i < c->first + c->count; i++) {
		struct fleet_member *m = &f->members[i];

		m->residual = c->kinds.items[cohort_kind_of(&c->kinds, m->level)].center - m->level;
		m->deficit = c->kinds.items[0].center - m->level;
	}
	n = 0;
	for (size_t i = c->first; i < c->first + c->count; i++)
		if (f->members[i].recent)
			values[n++] = f->members[i].residual;
	c->deviation = robust_deviation(values, n, 0);
}

/* Half-width of the 95 % interval of a level from `nights`. */
static double cohort_half_of(const struct fleet_cohort *c, size_t nights)
{
	return 1.96 * MEDIAN_EFFICIENCY * c->night_deviation / sqrt((double)nights);
}

static void cohort_judge_members(struct fleet *f, const struct fleet_cohort *c, double *values)
{
	size_t n = 0;
	double theirs, t;

	for (size_t i = c->first; i < c->first + c->count; i++)
		if (f->members[i].recent)
			values[n++] = (double)f->members[i].recent;
	theirs = MEDIAN_EFFICIENCY * c->night_deviation / sqrt(median_of(values, n));
	t = cohort_mad_limit(n, f->tests);
	for (size_t i = c->first; i < c->first + c->count; i++) {
		struct fleet_member *m = &f->members[i];
		double deviation = c->deviation, own, more;

		if (!m->recent)
			continue;
		/* Members with fewer nights than usual vary more. */
		own = MEDIAN_EFFICIENCY * c->night_deviation / sqrt((double)m->recent);
		more = own * own - theirs * theirs;
		if (more > 0)
			deviation = root_sum_square(c->deviation, sqrt(more));
		m->allowed = fmax(-log1p(-FLEET_MAGNITUDE), t * deviation);
		m->slow = m->deficit > m->allowed;
	}
}

/* Groups of a cohort (nodes or slots), in the order of `members`. */
struct grouping {
	struct fleet *fleet;
	struct fleet_group *groups; /* malloc'ed */
	size_t count, capacity;
	const struct fleet_member **order; /* members of one cohort */
};

/* Adds the median of `count` members by their offsets. `values`: scratch for all members. */
static void cohort_grouping_add(struct grouping *g, size_t cohort,
				const struct fleet_member **members, size_t count,
				const double *offsets, bool slots, double *values)
{
	const struct fleet_member *all = g->fleet->members, *worst = members[0];
	const struct fleet_cohort *c = &g->fleet->cohorts[cohort];
	struct fleet_group out = { .cohort = cohort, .count = count };
	size_t nights = 0;

	for (size_t i = 0; i < count; i++) {
		values[i] = offsets[(size_t)(members[i] - all) - c->first];
		nights += members[i]->recent;
		out.slow += members[i]->slow;
		worst = members[i]->deficit > worst->deficit ? members[i] : worst;
	}
	out.member = (size_t)(worst - all);
	out.host = members[0]->host;
	out.slot = slots ? members[0]->devices : NULL;
	out.deficit = median_of(values, count);
	out.half = cohort_half_of(c, nights);
	/* A slot's median is as certain as its nodes agree. */
	if (slots) {
		double center = out.deficit, deviation = robust_deviation(values, count, center);

		out.half = MEDIAN_EFFICIENCY * deviation / sqrt((double)count);
	}
	ARRAY_GROW(g->groups, g->count, g->capacity);
	g->groups[g->count++] = out;
}

static int cohort_by_slot(const void *a, const void *b)
{
	const struct fleet_member *p = *(const struct fleet_member *const *)a;
	const struct fleet_member *q = *(const struct fleet_member *const *)b;
	int order = strcmp(p->devices, q->devices);

	return order ? order : (p->host > q->host) - (p->host < q->host);
}

/* Adds the groups of one cohort with at least `least` members. Returns their number. */
static size_t grouping_add_cohort(struct grouping *g, size_t cohort, const double *offsets,
				  bool slots, double *values)
{
	const struct fleet_cohort *c = &g->fleet->cohorts[cohort];
	size_t n = 0, end, before = g->count, least = slots ? FLEET_FEWEST_HOSTS : 2;

	for (size_t i = c->first; i < c->first + c->count; i++)
		if (g->fleet->members[i].recent)
			g->order[n++] = &g->fleet->members[i];
	if (slots)
		qsort(g->order, n, sizeof(*g->order), cohort_by_slot);
	for (size_t i = 0; i < n; i = end) {
		const struct fleet_member *m = g->order[i];

		end = i + 1;
		while (end < n && (slots ? strcmp(m->devices, g->order[end]->devices) == 0
					 : m->host == g->order[end]->host))
			end++;
		if (end - i >= least)
			cohort_grouping_add(g, cohort, g->order + i, end - i, offsets, slots,
					    values);
	}
	return g->count - before;
}

static void cohort_nodes(struct grouping *g, size_t first, size_t n, double *values)
{
	struct fleet_group *nodes = g->groups + first;
	double center, deviation, t = cohort_mad_limit(n, g->fleet->tests);

	for (size_t i = 0; i < n; i++)
		values[i] = nodes[i].deficit;
	center = median_of(values, n);
	deviation = robust_deviation(values, n, center);
	for (size_t i = 0; i < n; i++) {
		nodes[i].allowed = fmax(-log1p(-FLEET_MAGNITUDE), t * deviation);
		nodes[i].is_slow =
			n >= FLEET_FEWEST_HOSTS && nodes[i].deficit - center > nodes[i].allowed;
		if (nodes[i].is_slow)
			nodes[i].deficit -= center;
		/*
		 * A node is also slow if more than half of its devices are slow, and at least two.
		 * This rule works even if too few nodes are compared to know how nodes vary.
		 */
		if (!nodes[i].is_slow && nodes[i].slow >= 2 && nodes[i].slow * 2 > nodes[i].count) {
			nodes[i].is_slow = true;
			nodes[i].allowed = g->fleet->members[nodes[i].member].allowed;
		}
	}
}

static void judge_cohort(struct grouping *g, size_t cohort, double *values, double *offsets)
{
	const struct fleet *f = g->fleet;
	const struct fleet_cohort *c = &f->cohorts[cohort];
	size_t first = g->count, nodes;

	cohort_judge_members(g->fleet, c, values);
	for (size_t i = 0; i < c->count; i++)
		offsets[i] = f->members[c->first + i].residual;
	nodes = grouping_add_cohort(g, cohort, offsets, false, values);
	if (nodes >= FLEET_FEWEST_HOSTS) {
		const struct fleet_group *node = g->groups + first;
		size_t slots;

		/* Offsets from their node's median; members and nodes are sorted by host. */
		for (size_t i = 0; i < c->count; i++) {
			const struct fleet_member *m = &f->members[c->first + i];

			while (node + 1 < g->groups + first + nodes && node->host < m->host)
				node++;
			offsets[i] = node->host == m->host ? m->residual - node->deficit : 0;
		}
		slots = grouping_add_cohort(g, cohort, offsets, true, values);
		/* A slot is compared with zero: an offset within nodes that most nodes share. */
		for (size_t i = first + nodes; i < (first + nodes) + slots; i++) {
			struct fleet_group *slot = &g->groups[i];

			slot->allowed =
				fmax(-log1p(-FLEET_MAGNITUDE),
				     cohort_mad_limit(slot->count, g->fleet->tests) * slot->half);
			slot->is_slow = slot->deficit > slot->allowed;
		}
	}
	cohort_nodes(g, first, nodes, values);
}

/* Adds a cohort to the subject's finding, or creates it; the finding keeps the worst. */
static void cohort_add_finding(struct fleet *f, struct fleet_finding new)
{
	for (size_t i = 0; i < f->finding_count; i++) {
		struct fleet_finding *old = &f->findings[i];
		const struct fleet_member *a = &f->members[old->member],
					  *b = &f->members[new.member];
		bool same = old->kind == new.kind;

		same = same && (new.kind != FLEET_HOST || old->host == new.host);
		same = same && (new.kind != FLEET_SLOT || strcmp(old->slot, new.slot) == 0);
		same = same && (new.kind != FLEET_DEVICE ||
				(a->device == b->device && (a->device != SIZE_MAX || a == b)));
		if (!same)
			continue;
		new.cohorts = old->cohorts + 1;
		if (new.deficit > old->deficit)
			*old = new;
		old->cohorts = new.cohorts;
		return;
	}
	new.cohorts = 1;
	ARRAY_GROW(f->findings, f->finding_count, f->finding_capacity);
	f->findings[f->finding_count++] = new;
}

static void cohort_find_slow_groups(struct fleet *f, const struct grouping *g)
{
	for (size_t i = 0; i < g->count; i++) {
		const struct fleet_group *group = &g->groups[i];

		if (group->is_slow)
			cohort_add_finding(f, (struct fleet_finding){
						      .kind = group->slot ? FLEET_SLOT : FLEET_HOST,
						      .host = group->host,
						      .slot = group->slot,
						      .member = group->member,
						      .cohort = group->cohort,
						      .deficit = group->deficit,
						      .half = group->slot ? 1.96 * group->half
									  : group->half,
						      .allowed = group->allowed });
	}
}

/* A device of a slow node has its own finding if it is also slow among its neighbours. */
static void cohort_find_slow_members(struct fleet *f, const struct grouping *g)
{
	for (size_t c = 0; c < f->cohort_count; c++)
		for (size_t i = f->cohorts[c].first; i < f->cohorts[c].first + f->cohorts[c].count;
		     i++) {
			const struct fleet_member *m = &f->members[i];
			bool explained = false;

			for (size_t k = 0; k < g->count && m->slow; k++) {
				const struct fleet_group *node = &g->groups[k];

				if (node->cohort == c && !node->slot && node->host == m->host)
					explained = node->is_slow &&
						    m->deficit - node->deficit <= m->allowed;
			}
			if (!m->slow || explained)
				continue;
			cohort_add_finding(f, (struct fleet_finding){
						      .kind = FLEET_DEVICE,
						      .host = m->host,
						      .member = i,
						      .cohort = c,
						      .deficit = m->deficit,
						      .half = cohort_half_of(&f->cohorts[c],
									     m->recent),
						      .allowed = m->allowed });
		}
}

void cohort_judge(struct fleet *f)
{
	double *values = xcalloc(f->member_count + 1, sizeof(*values));
	double *offsets = xcalloc(f->member_count + 1, sizeof(*offsets));
	struct grouping g = { .fleet = f, .order = xcalloc(f->member_count + 1, sizeof(*g.order)) };
	size_t tests;

	for (size_t i = 0; i < f->cohort_count; i++)
		cohort_describe(f, &f->cohorts[i], values);
	tests = 0;
	/* Nodes, and at most as many slots as a node has devices. */
	for (size_t i = 0; i < f->cohort_count; i++) {
		const struct fleet_cohort *c = &f->cohorts[i];

		if (c->compared)
			tests += c->count + c->hosts + (c->count + c->hosts - 1) / c->hosts;
	}
	f->tests = tests ? tests : 1;
	for (size_t i = 0; i < f->cohort_count; i++)
		if (f->cohorts[i].compared)
			judge_cohort(&g, i, values, offsets);
	cohort_find_slow_groups(f, &g);
	cohort_find_slow_members(f, &g);
	for (size_t i = 0; i < f->cohort_count; i++)
		for (size_t k = 0; k < f->cohorts[i].count && f->cohorts[i].compared; k++) {
			const struct fleet_member *m = &f->members[f->cohorts[i].first + k];

			if (m->device != SIZE_MAX && m->recent)
				f->devices[m->device].compared = true;
		}
	for (size_t i = 0; i < f->device_count; i++)
		f->compared += f->devices[i].compared;
	f->too_few = f->device_count - f->compared;
	free(g.groups);
	free(g.order);
	free(values);
	free(offsets);
}
