/*
 * Declarations that the loads of the suite `burn` share: the time that is left, looking for wrong
 * words, injecting them, and what one rank has found out so far.
 *
 * A load runs rounds until burn_go_on() says that the slice is over:
 *
 *	while (burn_go_on(b)) {
 *		burn_look_begin(&b->record, err)             zeroes the record
 *		... enqueue work, and kernels that compare into b->record.buffer.memory
 *		burn_look_end(b, &b->record, &place, err)    waits; keeps what they found
 *	}
 *
 * A wrong word never ends a slice: what else is wrong is as much worth knowing.
 *
 * Adding a load: a word in `loads` (suites/burn.c) and its function.
 */
#ifndef GPUPROOF_BURN_BURN_H
#define GPUPROOF_BURN_BURN_H

#include "kernels/soak.h"
#include "measure/run.h"
#include "measure/telemetry/watch.h"
#include "suites/shared/buffers.h"
#include "suites/shared/ranks/collective_session.h"

/* In the order of `loads` (suites/burn.c); those before BURN_UNITS are GEMMs. */
enum burn_load {
	BURN_BF16,
	BURN_FP8,
	BURN_FP16,
	BURN_TF32,
	BURN_FP32,
	BURN_FP64,
	BURN_INT8,
	BURN_UNITS,
	BURN_MEMORY,
	BURN_LINKS,
	BURN_LOADS
};

/* Wrong places that are kept apart; the others are counted. */
#define BURN_EVENTS_MOST 16
/* Repeats of work that was wrong. */
#define BURN_REPEATS 3
/* Broken checks after which a load ends: one may be a chance. */
#define BURN_CHECK_ERRORS 2

/* A dose is stated apart for devices that are at least so hot. */
#define BURN_HOT_CELSIUS 65

/* Injected faults, in the order of `injections` (suites/burn.c). */
enum burn_injection { INJECT_BIT, INJECT_OPERAND, INJECT_ROW, INJECT_ADDRESS };

/* Tally of one rank; copied between processes as it is. */
struct burn_tally {
	uint64_t wrong, flipped; /* words; bits that were wrong in any of them */
	uint64_t injected, injected_found;
	uint64_t rounds;   /* GEMMs, sweeps, rounds of transfers */
	uint64_t canaries; /* checks with a wrong table, all of them noticed */
	/* checks that compared too little or missed their canary; what the first did */
	uint64_t check_errors;
	char check_text[160];
	bool alike;               /* most places are wrong, and agree with each other */
	uint64_t starts;          /* compared GEMMs that began on a device that had nothing to do */
	double multiply_adds;     /* whose results were compared */
	double hot_multiply_adds; /* of these at BURN_HOT_CELSIUS and more; NaN: unknown */
	/* of the slice for each compared GEMM; of one without the check; 0: not measured */
	double checked_seconds, alone_seconds;
	double verified_bytes;
	double work, seconds; /* operations or bytes of what was timed, and how long that took */
	double free_bytes, tested_bytes; /* BURN_MEMORY */
	uint64_t multiprocessors_seen;   /* BURN_UNITS: by every class of instructions */
	double signatures;               /* BURN_UNITS: that were compared */
	char first[448];                 /* the first wrong word in words; "" */
};

/* Record of wrong words for the kernels of one stream. */
struct burn_record {
	struct stream *stream;
	struct buffer buffer; /* struct wrong_words on the device */
};

struct burn {
	struct run *run;
	struct world *world;
	struct device *device;
	struct burn_record record; /* of the stream on which a load works */
	struct event *start, *end; /* for the loads' own timing */
	struct watch_recorder *recorder;
	struct burn_tally tally;
	double deadline, next_pulse; /* host clock */
	double celsius;              /* the latest reading; NaN: unknown */
	/*
	 * The energy from the end of the first timed batch to the latest reading of the meter, and
	 * the work in that time; `pending`: the work since that reading.
	 */
	struct {
		struct energy_meter *meter;
		double next_reading; /* host clock */
		double work, seconds, count;
		struct {
			double work, seconds, count;
		} pending;
	} energy;
	struct watch_event events[BURN_EVENTS_MOST]; /* the first wrong places */
	size_t event_count;
	struct series *series; /* seconds of one unit of work, in batches; of this rank */
	uint64_t to_inject, seed;
	enum burn_injection injection;
	struct {
		bool is; /* one is injected and not looked for yet */
		uint64_t offset, bytes;
		uint64_t bits; /* of a word; 0: any */
	} injected;
};

/* State kept from slice to slice: run->suite_state. */
struct burn_state {
	struct sessions *sessions;
};

/* Description of the compared memory, for messages. */
struct burn_place {
	const char *what; /* "GEMM 812 of fp32" */
	uint64_t bytes;
	uint64_t compared;      /* words that must have been looked at; 0: unknown */
	uint64_t rows;          /* of a column-major result; 0: it is none */
	uint32_t element_bytes; /* of that result */
	uint64_t replicas;      /* other places of each of its values, at least */
};

/* True while the slice continues: there is time left, or bits are still to be injected. */
bool burn_go_on(const struct burn *b);
/* STATUS_INTERRUPTED when the user asked to stop. */
enum status burn_interrupted(const struct burn *b, struct error *err);
/* Between rounds: hands telemetry over and shows progress, about once a second. */
void burn_pulse(struct burn *b);
/* Telemetry as it is now, for the watch; `with_links`: NVLink's counters, which take a while. */
void burn_hand_over(struct burn *b, bool with_links);

/* On failure there is nothing to close. */
enum status burn_record_open(struct burn_record *record, struct device *device, struct error *err);
void burn_record_close(struct burn_record *record);

enum status burn_look_begin(const struct burn_record *record, struct error *err);
/*
 * All bits injected since must be in the record: STATUS_INTERNAL when they are not. Words that were
 * not compared are a broken check.
 */
enum status burn_look_end(struct burn *b, const struct burn_record *record,
			  const struct burn_place *place, struct error *err);
/* Counts wrong words found otherwise: `text` says where and what. */
void burn_note_wrong(struct burn *b, uint64_t words, const char *text);
/* Keeps a wrong place, if there is room: `event` without its strings. */
void burn_note_event(struct burn *b, const struct watch_event *event, const char *work,
		     uint64_t expected, uint64_t got);
void burn_forget_events(struct burn *b);
/* The work of all events so far was repeated BURN_REPEATS times, and was wrong `again` times. */
void burn_note_repeats(struct burn *b, uint64_t again);
/*
 * Counts a check that does not check. One may be a chance, BURN_CHECK_ERRORS end the load; what
 * that means is decided when all ranks are done (burn_conclude).
 */
void burn_note_check_error(struct burn *b, const char *text);

/* True if a bit is to be injected now. */
bool burn_inject_due(const struct burn *b);
/* Index of the 8-byte word, of `words`, for the next injected bit. */
uint64_t burn_inject_word(const struct burn *b, uint64_t words);
/*
 * Turns a bit of the 8-byte word at `address`, whose offset the kernels report as `offset`. Waits.
 */
enum status burn_inject(struct burn *b, struct stream *stream, void *address, uint64_t offset,
			struct error *err);
/* Words that were changed otherwise: `bytes` from `offset` on, all of which must be found. */
void burn_note_injected(struct burn *b, uint64_t offset, uint64_t bytes, uint64_t bits);
/* A timed batch: a sample of the series, `work` more operations or bytes. */
void burn_timed(struct burn *b, double seconds, double count, double work);

/* The loads; each returns only failures that are not wrong words. */
enum status burn_products(struct burn *b, enum precision precision, struct error *err);
enum status burn_memory(struct burn *b, struct error *err);
enum status burn_links(struct burn *b, struct error *err);

/* Load of a slice. */
enum burn_load burn_load_of(const struct plan_case *c);
/*
 * Merges the findings of all ranks into the result of rank 0. STATUS_MISMATCH names each device
 * with wrong words, or whose check is broken while that of one of the same model is not. What all
 * devices have in common is nobody's fault in particular: STATUS_INTERNAL.
 */
enum status burn_conclude(struct burn *b, struct watch *watch, struct error *err);

/*
 * Says what all slices of this load up to this one would have found together: the metric
 * burn.detectable_rate, and a note. Says nothing if one of them found wrong or injected words.
 */
void burn_state_dose(struct run *run, enum precision precision, const struct result *all);

/*
 * Sentences on all loads: how many multiply-adds were compared, and how rare a defect they would
 * have found. NULL: there are none, or something was wrong or injected. The caller frees.
 */
char *burn_statement(const struct result *all);

/* True for slices of one load on the same devices. */
bool burn_same_search(const struct case_result *a, const struct case_result *b);

/*
 * The rarest defect that all slices of the load of `c` together find with a probability of 95 %, as
 * in "one multiply-add in 10^15". All 0: nothing is known, or words were wrong or injected.
 * `one_in_hot` is NaN or 0 if no GEMM is known to have run hot.
 */
struct burn_dose {
	double multiply_adds;
	double one_in;        /* a steady defect */
	double one_in_bursts; /* one that comes and goes */
	double one_in_hot;    /* one that shows at BURN_HOT_CELSIUS and more */
};
struct burn_dose burn_dose_of(const struct result *all, const struct case_result *c);

extern const struct suite_page burn_page; /* page.c */

/* Bytes of device memory of a load. */
uint64_t burn_products_bytes(const struct section *section, enum precision precision);
uint64_t burn_memory_bytes(const struct section *section, const struct device_info *info);
uint64_t burn_links_bytes(const struct section *section, int ranks);

#endif
