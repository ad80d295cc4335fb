/*
 * Declarations that the loads of the suite `burn` share: the time that is left, looking for wrong
 * words, injecting them, and what one rank has found out so far.
 *
 * A load runs rounds until burn_look_go_on() says that the slice is over:
 *
 *	while (burn_look_go_on(b)) {
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
#include "suites/shared/ranks/communicators.h"

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

/* Most wrong places recorded one by one; further ones are only counted. */
#define BURN_EVENTS_MOST 16
/* How often work is repeated after it gave a wrong result. */
#define BURN_REPEATS 3
/* Failed checks that end a load. A single one may be chance. */
#define BURN_CHECK_ERRORS 2

/* From this temperature on, a dose is reported separately. */
#define BURN_HOT_CELSIUS 65

/* Injected faults, in the order of `injections` (suites/burn.c). */
enum burn_injection { INJECT_BIT, INJECT_OPERAND, INJECT_ROW, INJECT_ADDRESS };

/* Counts of one rank; plain data that processes can copy. */
struct burn_tally {
	uint64_t wrong, flipped; /* words; union of their wrong bits */
	uint64_t injected, injected_found;
	uint64_t rounds;   /* GEMMs, sweeps, rounds of transfers */
	uint64_t canaries; /* self-checks with a wrong table; all detected */
	/* checks that compared too little or missed their canary, and a message of the first */
	uint64_t check_errors;
	char check_text[160];
	bool alike;               /* most elements are wrong and consistent with each other */
	uint64_t bursts;          /* compared bursts of GEMMs after gaps */
	uint64_t starts;          /* compared GEMMs that began on an idle device */
	double multiply_adds;     /* with compared results */
	double hot_multiply_adds; /* the part at BURN_HOT_CELSIUS and more; NaN: unknown */
	/* time per compared GEMM, set-up included; time per GEMM without check; 0: not measured */
	double checked_seconds, alone_seconds;
	double verified_bytes;
	double work, seconds; /* operations or bytes of the timed batches, and their time */
	double free_bytes, tested_bytes; /* BURN_MEMORY */
	uint64_t multiprocessors_seen;   /* BURN_UNITS: in every class of instructions */
	double signatures;               /* BURN_UNITS: compared signatures */
	char first[448];                 /* message for the first wrong word; "" */
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
	struct burn_record record; /* for the stream of the load */
	struct event *start, *end; /* for timing within loads */
	struct watch_recorder *recorder;
	struct burn_tally tally;
	double deadline, next_pulse; /* host clock */
	double celsius;              /* last reading; NaN: unknown */
	/*
	 * Energy from the end of the first timed batch to the last reading of the meter, and the
	 * work done in that time. `pending` is the work since that reading.
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
	struct series *series; /* seconds per unit of work, by batch, of this rank */
	uint64_t to_inject, seed;
	enum burn_injection injection;
	struct {
		bool is; /* a fault has been injected but not yet searched for */
		uint64_t offset, bytes;
		uint64_t bits; /* of one word; 0: any bits */
	} injected;
};

/* State kept from slice to slice: run->suite_state. */
struct burn_state {
	struct sessions *sessions;
};

/* The compared memory, for messages. */
struct burn_place {
	const char *what; /* "GEMM 812 of fp32" */
	uint64_t bytes;
	uint64_t compared;      /* words that the check must read; 0: unknown */
	uint64_t rows;          /* of a column-major result; 0: another kind of memory */
	uint32_t element_bytes; /* of that result */
	uint64_t replicas;      /* fewest other elements with the same value */
};

/* True while the slice continues: time is left, or bits remain to be injected. */
bool burn_look_go_on(const struct burn *b);
/* STATUS_INTERRUPTED if the user asked to stop. */
enum status burn_look_interrupted(const struct burn *b, struct error *err);
/* Call between rounds: about once a second it records telemetry and shows progress. */
void burn_look_pulse(struct burn *b);
/* Current telemetry. `with_links` adds NVLink counters, which take longer to read. */
void burn_look_hand_over(struct burn *b, bool with_links);

/* After a failure nothing needs closing. */
enum status burn_look_record_open(struct burn_record *record, struct device *device,
				  struct error *err);
void burn_look_record_close(struct burn_record *record);

enum status burn_look_begin(const struct burn_record *record, struct error *err);
/*
 * Searches the record for all bits injected since burn_look_begin(): STATUS_INTERNAL if one is
 * missing. Counts words that were not compared as a failed check.
 */
enum status burn_look_end(struct burn *b, const struct burn_record *record,
			  const struct burn_place *place, struct error *err);
/* Counts wrong words that another check found; `text` says where and what. */
void burn_look_note_wrong(struct burn *b, uint64_t words, const char *text);
/* Records a wrong place (`event` without its strings) if there is room. */
void burn_look_note_event(struct burn *b, const struct watch_event *event, const char *work,
			  uint64_t expected, uint64_t got);
void burn_look_forget_events(struct burn *b);
/* Notes that BURN_REPEATS repeats of the work of all events gave `again` wrong results. */
void burn_look_note_repeats(struct burn *b, uint64_t again);
/*
 * Counts a failed check. BURN_CHECK_ERRORS of them end the load, because a single one may be
 * chance. burn_outcome_conclude() decides what they mean when all ranks are done.
 */
void burn_look_note_check_error(struct burn *b, const char *text);

/* True if a bit is to be injected now. */
bool burn_look_inject_due(const struct burn *b);
/* Index (below `words`) of the 8-byte word for the next injected bit. */
uint64_t burn_look_inject_word(const struct burn *b, uint64_t words);
/*
 * Flips a bit of the 8-byte word at `address`, which kernels report as `offset`. Waits for the
 * device.
 */
enum status burn_look_inject(struct burn *b, struct stream *stream, void *address, uint64_t offset,
			     struct error *err);
/* Notes words changed by other means: `bytes` from `offset` on. The check must find them all. */
void burn_look_note_injected(struct burn *b, uint64_t offset, uint64_t bytes, uint64_t bits);
/* Adds a timed batch: one sample of the series, and `work` operations or bytes. */
void burn_look_timed(struct burn *b, double seconds, double count, double work);

/* The loads. They count wrong words, and return other failures. */
enum status burn_products(struct burn *b, enum precision precision, struct error *err);
enum status burn_memory(struct burn *b, struct error *err);
enum status burn_links(struct burn *b, struct error *err);

/* Load of a slice. */
enum burn_load burn_outcome_load_of(const struct plan_case *c);
/*
 * Merges the findings of all ranks into the result of rank 0. STATUS_MISMATCH names each device
 * with wrong words, and each whose check failed while it succeeded on a device of the same model.
 * If all devices fail alike, no device is at fault: STATUS_INTERNAL.
 */
enum status burn_outcome_conclude(struct burn *b, struct watch *watch, struct error *err);

/*
 * Reports what all slices of this load so far would have found together: the metric
 * burn.detectable_rate and a note. Reports nothing if a slice found wrong or injected words.
 */
void burn_page_state_dose(struct run *run, enum precision precision, const struct result *all);

/*
 * Text about all loads: how many multiply-adds were compared, and how rare a defect they would have
 * found. NULL if there are none, or if words were wrong or injected. The caller frees it.
 */
char *burn_page_statement(const struct result *all);

/*
 * The rarest defect that all slices of the load of `c` together find with a probability of 95 %, as
 * in "one multiply-add in 10^15". All 0 if unknown, or if words were wrong or injected.
 * `one_in_hot` is NaN or 0 if no GEMM is known to have run hot.
 */
struct burn_dose {
	double multiply_adds;
	double one_in;        /* a constant defect */
	double one_in_bursts; /* an intermittent defect */
	double one_in_hot;    /* a defect that occurs only at BURN_HOT_CELSIUS and more */
};
struct burn_dose burn_page_dose_of(const struct result *all, const struct case_result *c);

extern const struct suite_page burn_page; /* page.c */

/* Device memory that a load needs, in bytes. */
uint64_t burn_products_bytes(const struct section *section, enum precision precision);
uint64_t burn_memory_bytes(const struct section *section, const struct device_info *info);
uint64_t burn_links_bytes(const struct section *section, int ranks);

/* The load `units`, which also locates the multiprocessor that corrupts results of other loads. */
uint64_t burn_units_bytes(const struct device_info *info);
/* Its wrong words are signatures of quarters of multiprocessors. */
enum status burn_units(struct burn *b, struct error *err);
/* Appends the multiprocessor that is also wrong in other work to the first wrong word's text. */
enum status burn_units_blame(struct burn *b, struct error *err);

/*
 * GEMMs whose every bit is known: their operands are integers that repeat (burn/exact_table.h).
 * Each GEMM begins at another offset of the operands, so its result differs from the last one. The
 * device compares all elements with the CPU's exact values.
 */
struct products {
	struct stream *stream;
	struct gemm gemm; /* its `a` and `b` are at offset 0 */
	struct buffer a, b, c, table;
	struct buffer canary; /* struct wrong_words of the self-check with a wrong table */
	uint32_t element_bytes;
	uint64_t made; /* GEMMs so far, which select the next offsets */
	/* of the last enqueued GEMM */
	uint32_t row_offset, column_offset, canary_entry;
};

/* Allocates and fills the operands, and computes the table. Close it also after a failure. */
enum status products_open(struct products *p, struct burn *b, struct stream *stream,
			  enum precision precision, struct error *err);
void products_close(struct products *p);
/*
 * Enqueues `count` >= 1 GEMMs and compares each; `record` is a struct wrong_words on the device.
 * Compares the last one a second time with one wrong entry in the table.
 */
enum status products_enqueue(struct products *p, uint64_t count, void *record, struct error *err);
/*
 * Call after waiting for the stream. The check must have found every place of the wrong entry;
 * otherwise it counts as failed.
 */
enum status products_check_canary(const struct products *p, struct burn *b, struct error *err);
/* Fewest other elements with the same value, over all values. */
uint64_t products_replicas(const struct products *p);
/* Number of elements of the result. */
uint64_t products_elements(const struct products *p);
/* Number of GEMMs in a chunk, if each takes `seconds`. */
uint64_t products_in_chunk(const struct burn *b, double seconds);

#endif
