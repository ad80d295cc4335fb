/*
 * The load `units`: every quarter of every multiprocessor computes the same (kernels/soak_units.h).
 * Quarters are compared with the CPU's signature if it has one, or else with the majority. Other
 * loads use it after a wrong GEMM, because libraries do not report which multiprocessor computed a
 * tile.
 */
#include "suites/burn/burn.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/text.h"
#include "kernels/soak_units.h"

#define SEED UINT64_C(0x756e697473)
#define LAP_SECONDS 2e-3 /* per class */
#define TRIAL_STEPS 32u
#define STEPS_MOST (1u << 20)
/* Wrong quarters that are repeated and reported; further ones are only counted. */
#define NAMED_MOST 8
/* Laps that locate the multiprocessor after a wrong GEMM. */
#define NAMING_LAPS 20
/* Only multiprocessors with numbers below this are tracked. */
#define NUMBERS 1024

struct unit_work {
	bool has, known; /* the device has the class; the CPU has its signature */
	struct soak_units_arguments arguments;
	uint32_t words;
	uint64_t expected;
	bool seen[NUMBERS];
};

struct units {
	struct burn *burn;
	struct buffer out; /* struct soak_unit[UNIT_CLASS_COUNT][blocks][UNIT_QUARTERS] */
	struct soak_unit *found;
	uint32_t blocks;
	size_t count; /* per class */
	int named;
	struct unit_work work[UNIT_CLASS_COUNT];
	struct text names; /* names of wrong quarters */
};

/* A quarter with a wrong signature. */
struct wrong_unit {
	enum unit_class unit;
	uint32_t multiprocessor, quarter;
	uint64_t expected, got;
	size_t right; /* quarters with the expected signature */
};

uint64_t burn_units_bytes(const struct device_info *info)
{
	return (uint64_t)(info->multiprocessors > 0 ? info->multiprocessors : 1) * UNIT_QUARTERS *
	       UNIT_CLASS_COUNT * sizeof(struct soak_unit);
}

static struct soak_unit *burn_units_of_class(const struct units *u, enum unit_class unit)
{
	return u->found + (size_t)unit * u->count;
}

static enum status burn_units_fetch(struct units *u, struct error *err)
{
	struct stream *stream = u->burn->record.stream;

	if (backend_copy(stream, u->found, u->out.memory,
			 UNIT_CLASS_COUNT * u->count * sizeof(*u->found), err) == STATUS_OK)
		backend_stream_synchronize(stream, err);
	return err->status;
}

/* STATUS_UNSUPPORTED: skip the class. */
static enum status burn_units_calibrate(struct units *u, enum unit_class unit, struct error *err)
{
	struct burn *b = u->burn;
	struct unit_work *w = &u->work[unit];
	struct error refused = ERROR_NONE;
	double seconds = 0;

	w->arguments = (struct soak_units_arguments){
		.unit = unit,
		.blocks = u->blocks,
		.steps = TRIAL_STEPS,
		.seed = generator_bits(SEED, (uint64_t)case_integer(b->run->c, "slice")),
		.out = (struct soak_unit *)u->out.memory + (size_t)unit * u->count,
	};
	/* The first launch loads the kernel. */
	if (backend_launch(b->record.stream, "soak_units", &w->arguments, &refused) != STATUS_OK)
		return refused.status == STATUS_UNSUPPORTED
			       ? STATUS_OK
			       : error_set(err, refused.status, "%s", refused.message);
	if (backend_event_record(b->start, b->record.stream, err) != STATUS_OK ||
	    backend_launch(b->record.stream, "soak_units", &w->arguments, err) != STATUS_OK ||
	    backend_event_record(b->end, b->record.stream, err) != STATUS_OK ||
	    backend_stream_synchronize(b->record.stream, err) != STATUS_OK ||
	    backend_event_elapsed(b->start, b->end, &seconds, err) != STATUS_OK)
		return err->status;
	w->has = true;
	if (seconds > 0)
		w->arguments.steps =
			(uint32_t)fmax(TRIAL_STEPS,
				       fmin(STEPS_MOST, TRIAL_STEPS * LAP_SECONDS / seconds));
	return STATUS_OK;
}

static void burn_units_expect(void *context, size_t begin, size_t end)
{
	struct unit_work *work = context;

	for (size_t i = begin; i < end; i++)
		if (work[i].has)
			work[i].known = soak_units_host_expected(&work[i].arguments, work[i].words,
								 &work[i].expected);
}

static enum status burn_units_open(struct units *u, struct burn *b, struct error *err)
{
	int blocks = b->device->info.multiprocessors;

	*u = (struct units){ .burn = b, .blocks = blocks > 0 ? (uint32_t)blocks : 1 };
	u->count = (size_t)u->blocks * UNIT_QUARTERS;
	u->found = xcalloc(UNIT_CLASS_COUNT * u->count, sizeof(*u->found));
	if (buffer_alloc(&u->out, b->device, ALLOCATOR_DEVICE, burn_units_bytes(&b->device->info),
			 err) != STATUS_OK)
		return err->status;
	for (int c = 0; c < UNIT_CLASS_COUNT; c++)
		if (burn_units_calibrate(u, (enum unit_class)c, err) != STATUS_OK)
			return err->status;
	if (burn_units_fetch(u, err) != STATUS_OK)
		return err->status;
	for (int c = 0; c < UNIT_CLASS_COUNT; c++)
		u->work[c].words = burn_units_of_class(u, (enum unit_class)c)->words;
	parallel_for(UNIT_CLASS_COUNT, 1, burn_units_expect, u->work);
	return STATUS_OK;
}

static void burn_units_close(struct units *u)
{
	backend_stream_synchronize(u->burn->record.stream, NULL);
	buffer_free(&u->out);
	text_release(&u->names);
	free(u->found);
}

/* If its block moved to another multiprocessor, a signature belongs to neither. */
static bool burn_units_is_valid(const struct soak_unit *unit)
{
	return unit->began == unit->ended && unit->began < NUMBERS;
}

/* The most frequent signature, and the number of quarters with it. */
static size_t burn_units_vote(const struct units *u, enum unit_class unit, uint64_t *signature)
{
	const struct soak_unit *all = burn_units_of_class(u, unit);
	size_t most = 0;

	*signature = 0;
	for (size_t i = 0; i < u->count && 2 * most <= u->count; i++) {
		size_t votes = 0;

		for (size_t j = i; j < u->count && burn_units_is_valid(&all[i]); j++)
			votes += burn_units_is_valid(&all[j]) &&
				 all[j].signature == all[i].signature;
		if (votes > most) {
			most = votes;
			*signature = all[i].signature;
		}
	}
	return most;
}

/* Number of the BURN_REPEATS launches in which the same quarter is wrong again. */
static enum status burn_units_repeat(struct units *u, const struct wrong_unit *wrong, int *again,
				     struct error *err)
{
	struct unit_work *w = &u->work[wrong->unit];
	struct soak_unit *all = xcalloc(u->count, sizeof(*all));
	struct stream *stream = u->burn->record.stream;

	*again = 0;
	for (int n = 0; n < BURN_REPEATS && err->status == STATUS_OK; n++) {
		if (backend_launch(stream, "soak_units", &w->arguments, err) != STATUS_OK ||
		    backend_copy(stream, all, w->arguments.out, u->count * sizeof(*all), err) !=
			    STATUS_OK ||
		    backend_stream_synchronize(stream, err) != STATUS_OK)
			break;
		for (size_t i = 0; i < u->count; i++)
			*again += burn_units_is_valid(&all[i]) &&
				  all[i].began == wrong->multiprocessor &&
				  i % UNIT_QUARTERS == wrong->quarter &&
				  all[i].signature != wrong->expected;
	}
	free(all);
	return err->status;
}

static enum status burn_units_name(struct units *u, const struct wrong_unit *wrong,
				   struct error *err)
{
	struct watch_event event = { .row = (double)NAN,
				     .column = (double)NAN,
				     .offset = (double)NAN,
				     .multiprocessor = wrong->multiprocessor,
				     .quarter = wrong->quarter,
				     .replicas = wrong->right,
				     .repeats = BURN_REPEATS };
	char text[sizeof(u->burn->tally.first)];
	int again;

	if (u->named++ >= NAMED_MOST) {
		burn_look_note_wrong(u->burn, 1, "");
		return STATUS_OK;
	}
	if (burn_units_repeat(u, wrong, &again, err) != STATUS_OK)
		return err->status;
	event.again = (uint64_t)again;
	snprintf(text, sizeof(text), "units, class %s", soak_units_class_name(wrong->unit));
	burn_look_note_event(u->burn, &event, text, wrong->expected, wrong->got);
	snprintf(text, sizeof(text),
		 "multiprocessor %" PRIu32 ", quarter %" PRIu32 ", class %s: signature %#" PRIx64
		 " instead of %#" PRIx64
		 ", which %zu of %zu quarters have; again in %d of %d repeats",
		 wrong->multiprocessor, wrong->quarter, soak_units_class_name(wrong->unit),
		 wrong->got, wrong->expected, wrong->right, u->count, again, BURN_REPEATS);
	burn_look_note_wrong(u->burn, 1, text);
	text_addf(&u->names,
		  "%smultiprocessor %" PRIu32 ", quarter %" PRIu32 " (%s, again in %d of %d)",
		  u->names.length ? "; " : "", wrong->multiprocessor, wrong->quarter,
		  soak_units_class_name(wrong->unit), again, BURN_REPEATS);
	return STATUS_OK;
}

/* The check must find the injected fault at its quarter, if its block stayed there. */
static enum status burn_units_claim(struct units *u, const struct soak_units_arguments *a,
				    uint64_t expected, struct error *err)
{
	const struct soak_unit *all = burn_units_of_class(u, a->unit);

	for (size_t i = 0; i < u->count; i++) {
		if (!burn_units_is_valid(&all[i]) || all[i].began != a->fault.multiprocessor ||
		    i % UNIT_QUARTERS != a->fault.quarter)
			continue;
		u->burn->tally.injected++;
		if (all[i].signature == expected)
			return error_set(err, STATUS_INTERNAL,
					 "bit %" PRIu32
					 " injected into %s of multiprocessor %" PRIu32
					 ", quarter %" PRIu32 " was not found",
					 a->fault.bit, soak_units_class_name(a->unit),
					 a->fault.multiprocessor, a->fault.quarter);
		u->burn->tally.injected_found++;
	}
	return STATUS_OK;
}

static enum status burn_units_judge(struct units *u, enum unit_class unit,
				    const struct soak_units_arguments *fault, struct error *err)
{
	struct unit_work *w = &u->work[unit];
	const struct soak_unit *all = burn_units_of_class(u, unit);
	uint64_t expected;
	size_t votes = burn_units_vote(u, unit, &expected);
	char text[sizeof(u->burn->tally.first)];

	if (w->known && expected != w->expected && 2 * votes > u->count) {
		/*
		 * Most quarters agree with each other but not with the CPU, so they have a common
		 * cause. burn_outcome_conclude() decides if it is the device, when the other
		 * devices are done.
		 */
		snprintf(text, sizeof(text),
			 "%s: %zu of %zu quarters of multiprocessors agree on signature %#" PRIx64
			 ", but the CPU computes %#" PRIx64,
			 soak_units_class_name(unit), votes, u->count, expected, w->expected);
		burn_look_note_wrong(u->burn, votes, text);
		u->burn->tally.alike = true;
		return STATUS_OK;
	}
	expected = w->known ? w->expected : expected;
	for (size_t i = 0; i < u->count; i++) {
		struct wrong_unit wrong = { .unit = unit,
					    .multiprocessor = all[i].began,
					    .quarter = (uint32_t)(i % UNIT_QUARTERS),
					    .expected = expected,
					    .got = all[i].signature,
					    .right = votes };

		if (!burn_units_is_valid(&all[i]))
			continue;
		w->seen[all[i].began] = true;
		if (all[i].signature != expected && burn_units_name(u, &wrong, err) != STATUS_OK)
			return err->status;
	}
	return fault->fault.is && fault->unit == unit ? burn_units_claim(u, fault, expected, err)
						      : STATUS_OK;
}

/* Arguments of a class. If a fault is due, it goes to a multiprocessor already seen. */
static struct soak_units_arguments burn_units_choose_fault(const struct units *u)
{
	const struct burn *b = u->burn;
	uint64_t bits = generator_bits(b->seed ^ SEED, b->tally.injected + b->tally.rounds);
	struct soak_units_arguments a = { .blocks = 0 };
	enum unit_class unit = (enum unit_class)(b->tally.injected % UNIT_CLASS_COUNT);

	if (!burn_look_inject_due(b) || !b->tally.rounds)
		return a;
	while (!u->work[unit].has)
		unit = (enum unit_class)((unit + 1) % UNIT_CLASS_COUNT);
	a = u->work[unit].arguments;
	a.fault.is = true;
	a.fault.multiprocessor = burn_units_of_class(u, unit)[bits % u->count].began;
	a.fault.quarter = (uint32_t)(bits >> 32) % UNIT_QUARTERS;
	a.fault.bit = (uint32_t)(bits >> 40) % (unit == UNIT_HFMA2 ? 16 : 32);
	return a;
}

/* Runs all classes, then compares all signatures. */
static enum status burn_units_lap(struct units *u, double *seconds, struct error *err)
{
	struct burn *b = u->burn;
	struct soak_units_arguments fault = burn_units_choose_fault(u);

	if (backend_event_record(b->start, b->record.stream, err) != STATUS_OK)
		return err->status;
	for (int c = 0; c < UNIT_CLASS_COUNT; c++) {
		bool faulty = fault.fault.is && (int)fault.unit == c;

		if (u->work[c].has &&
		    backend_launch(b->record.stream, "soak_units",
				   faulty ? &fault : &u->work[c].arguments, err) != STATUS_OK)
			return err->status;
	}
	if (backend_event_record(b->end, b->record.stream, err) != STATUS_OK ||
	    burn_units_fetch(u, err) != STATUS_OK ||
	    backend_event_elapsed(b->start, b->end, seconds, err) != STATUS_OK)
		return err->status;
	for (int c = 0; c < UNIT_CLASS_COUNT; c++)
		if (u->work[c].has &&
		    burn_units_judge(u, (enum unit_class)c, &fault, err) != STATUS_OK)
			return err->status;
	b->tally.rounds++;
	return STATUS_OK;
}

static size_t burn_units_count_classes(const struct units *u, struct text *lacking)
{
	size_t count = 0;

	for (int c = 0; c < UNIT_CLASS_COUNT; c++) {
		count += u->work[c].has;
		if (!u->work[c].has && lacking)
			text_addf(lacking, "%s%s", lacking->length ? ", " : "",
				  soak_units_class_name((enum unit_class)c));
	}
	return count;
}

/* Reports the coverage of the laps. A multiprocessor that was not seen was not tested. */
static enum status burn_units_cover(struct units *u, struct error *err)
{
	struct burn_tally *t = &u->burn->tally;
	struct text lacking = TEXT_EMPTY;
	size_t classes = burn_units_count_classes(u, &lacking);

	/* Multiprocessors on which every class ran. */
	for (int n = 0; n < NUMBERS; n++) {
		bool everywhere = true;

		for (int c = 0; c < UNIT_CLASS_COUNT; c++)
			everywhere &= !u->work[c].has || u->work[c].seen[n];
		t->multiprocessors_seen += everywhere;
	}
	t->signatures = (double)t->rounds * (double)classes * (double)u->count;
	t->verified_bytes = 8 * t->signatures;
	run_note(u->burn->run,
		 "%zu classes of instructions, %s%s%s%" PRIu64 " multiprocessors seen.", classes,
		 lacking.length ? "not supported: " : "", lacking.length ? lacking.data : "",
		 lacking.length ? "; " : "", t->multiprocessors_seen);
	text_release(&lacking);
	if (t->multiprocessors_seen < u->blocks && !t->wrong && err->status == STATUS_OK)
		return error_set(err, STATUS_INTERNAL,
				 "%" PRIu64 " of %" PRIu32
				 " multiprocessors ran the test; the others were not tested",
				 t->multiprocessors_seen, u->blocks);
	return err->status;
}

enum status burn_units(struct burn *b, struct error *err)
{
	struct units *u = xcalloc(1, sizeof(*u));
	double seconds;

	if (burn_units_open(u, b, err) == STATUS_OK &&
	    burn_units_lap(u, &b->series->first, err) == STATUS_OK)
		do {
			if (burn_units_lap(u, &seconds, err) != STATUS_OK)
				break;
			burn_look_timed(b, seconds, 1,
					(double)u->count *
						(double)burn_units_count_classes(u, NULL));
			burn_look_pulse(b);
		} while (!b->tally.alike && burn_look_interrupted(b, err) == STATUS_OK &&
			 burn_look_go_on(b));
	if (err->status == STATUS_OK)
		burn_units_cover(u, err);
	burn_units_close(u);
	free(u);
	return err->status;
}

enum status burn_units_blame(struct burn *b, struct error *err)
{
	struct units *u = xcalloc(1, sizeof(*u));
	struct burn_tally before = b->tally;
	char where[sizeof(before.first)];
	double seconds;

	if (burn_units_open(u, b, err) == STATUS_OK)
		for (int lap = 0;
		     lap < NAMING_LAPS && burn_units_lap(u, &seconds, err) == STATUS_OK; lap++)
			;
	snprintf(where, sizeof(where), "%.200s; units: %.150s", before.first,
		 err->status != STATUS_OK ? err->message
		 : u->names.length        ? u->names.data
				   : "no multiprocessor is wrong in other instruction classes");
	/* These laps repeat a known defect, so they do not count as work of this load. */
	b->tally = before;
	memcpy(b->tally.first, where, sizeof(where));
	if (!status_loses_device(err->status))
		error_clear(err);
	burn_units_close(u);
	free(u);
	return err->status;
}
