/*
 * Populations: values of good cards of a GPU model, measured with this program. Only they reveal a
 * fault that all devices of a node share.
 *
 * configs/population/NAME.ini (compiled in), and a site's own file, which `gpuproof population add`
 * writes:
 *
 *      [population]
 *      shipped = no                  ; in a site's own file: the cards that come with the program
 *                                    do not count
 *
 *	[card GPU-8f1c2d3e-...]       ; its UUID, or a pseudonym of it
 *	model = NVIDIA H200           ; as the driver has it
 *	measured = 2026-11-20
 *	driver = 580.159.04
 *	launches = 5
 *
 *	[figure 1]
 *	case = matmul/fp16/8192       ; as in results, without label and devices
 *	preheat = 1s                  ; of the case's suite; none: 0s
 *	metric = matmul.throughput
 *	unit = FLOP/s
 *	GPU-8f1c2d3e-... = 753.2 TFLOP/s
 *	GPU-8f1c2d3e-...+GPU-91ab... = 386.6 GB/s     ; a case of two devices
 *
 * Units are "B/s" and "FLOP/s": rates, of which more is better. Nothing is compared across models,
 * cases or preheating. Ownership: `char *` belong to their struct.
 *
 * Adding good cards: by `gpuproof population add` from results of cards that are known to be good,
 * and to be different cards.
 */
#ifndef GPUPROOF_REFERENCE_POPULATION_H
#define GPUPROOF_REFERENCE_POPULATION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

/* Maximum devices of a case: a value for more describes the node, not a GPU. */
#define POPULATION_MOST_DEVICES 2

#define POPULATION_LOAD "sustained"

struct population_card {
	char *id, *model;
	char *measured; /* "2026-11-20" */
	char *driver;   /* "" unknown */
	size_t launches;
	char *place; /* "h200.ini:12" */
	bool shipped;
};

struct population_value {
	char *cards; /* "GPU-8f1c", or two joined by '+' in alphabetical order */
	double value;
	size_t line; /* line in its file; 0: not from a file */
};

struct population_figure {
	char *point;   /* "matmul/fp16/8192" */
	char *preheat; /* "1s"; POPULATION_LOAD: no preheat, but a sustained load; "": none */
	char *metric, *unit;
	struct population_value *values;
	size_t count, capacity;
};

struct population {
	struct population_card *cards;
	size_t card_count, card_capacity;
	size_t *slots;     /* GPUs by the hash of their ids: index + 1, 0: free */
	size_t slot_count; /* 0 or a power of two */
	struct population_figure *figures;
	size_t figure_count, figure_capacity;
	bool without_shipped; /* set by the site's own file */
};

/*
 * Adds the content of one file; messages begin with `name`:LINE. Replaces a GPU known from another
 * file.
 */
enum status population_read(struct population *p, const char *name, const char *text, size_t length,
			    bool shipped, struct error *err);
/*
 * Loads the shipped GPUs (unless the site's file says shipped = no) and those of the file `own`;
 * NULL: none.
 */
enum status population_load(struct population *p, const char *own, struct error *err);
/* Loads only a site's own file, to add to it. A missing file counts as empty. */
enum status population_load_own(struct population *p, const char *path, struct error *err);
void population_release(struct population *p);
/* The shipped GPUs, read once and kept until the program ends. */
const struct population *population_shipped(void);

/* Finds or adds the GPU of that name. Valid until the next call. */
struct population_card *population_enter_card(struct population *p, const char *id);
/* Removes the values of the GPU, including those it shares with another one. */
void population_drop_values(struct population *p, const char *id);
const struct population_card *population_card(const struct population *p, const char *id);
struct population_figure *population_enter_figure(struct population *p, const char *point,
						  const char *preheat, const char *metric,
						  const char *unit);
/* For a reader, which checks for repeated GPUs itself. Valid until the next call. */
struct population_value *population_append_value(struct population_figure *figure,
						 const char *cards, double value);
/* Sets or replaces the value of `cards`, in the form of struct population_value. */
void population_set_value(struct population_figure *figure, const char *cards, double value);
/*
 * True if a text from a result can be stored as one value and reads back unchanged: a line of at
 * most 180 bytes without control characters, comment starts, or leading and trailing blanks.
 */
bool population_text_fits(const char *text);
/*
 * As population_text_fits(), for the id of a GPU: also without blanks and + = : [ ], and at most 44
 * bytes.
 */
bool population_id_fits(const char *id);
/* The content of a file. */
char *population_to_text(const struct population *p);

/* Values of one metric on one model. */
struct population_sample {
	double *values; /* ascending */
	size_t count;
	size_t cards;             /* different ones */
	size_t own;               /* number of GPUs from the site's own file */
	char first[16], last[16]; /* first and last day of the measurements; "" */
	char driver[64];          /* the driver, or "several drivers"; "" */
};

/*
 * `without`: ids of GPUs that must not be their own references, NULL-terminated. count 0: no
 * reference.
 */
struct population_sample population_sample(const struct population *p, const char *model,
					   const char *point, const char *preheat,
					   const char *metric, const char *const *without);
void population_sample_release(struct population_sample *sample);

#endif
