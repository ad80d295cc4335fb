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

/* Devices of one case at most: a value of more is about the node, not about a card. */
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
	size_t line; /* of its file; 0: from none */
};

struct population_figure {
	char *point;   /* "matmul/fp16/8192" */
	char *preheat; /* "1s"; POPULATION_LOAD: none, of a load that lasts; "": none */
	char *metric, *unit;
	struct population_value *values;
	size_t count, capacity;
};

struct population {
	struct population_card *cards;
	size_t card_count, card_capacity;
	size_t *slots;     /* cards by the hash of their ids: index + 1, 0: free */
	size_t slot_count; /* 0 or a power of two */
	struct population_figure *figures;
	size_t figure_count, figure_capacity;
	bool without_shipped; /* the own file says so */
};

/*
 * Adds the text of one file, whose messages begin with `name`:LINE. A card that is there already,
 * from another file, is replaced.
 */
enum status population_read(struct population *p, const char *name, const char *text, size_t length,
			    bool shipped, struct error *err);
/*
 * The shipped cards (unless the own file says shipped = no), and those of the file `own`; NULL:
 * there is none.
 */
enum status population_load(struct population *p, const char *own, struct error *err);
/* A site's own file alone, to add to it. A file that is not there yet is empty. */
enum status population_load_own(struct population *p, const char *path, struct error *err);
void population_release(struct population *p);
/* The shipped ones, read once and kept until the program ends. */
const struct population *population_shipped(void);

/* The card of that name, a new one where there is none. Valid until the next call. */
struct population_card *population_add_card(struct population *p, const char *id);
/* The values that the card has a part in. */
void population_drop_values(struct population *p, const char *id);
const struct population_card *population_card(const struct population *p, const char *id);
struct population_figure *population_add_figure(struct population *p, const char *point,
						const char *preheat, const char *metric,
						const char *unit);
/* For a reader, which looks for cards that are there twice by itself. Valid until the next call. */
struct population_value *population_append_value(struct population_figure *figure,
						 const char *cards, double value);
/* `cards`: as in struct population_value; replaces the value that they have. */
void population_set_value(struct population_figure *figure, const char *cards, double value);
/*
 * True if a text from a result can be written as one value and is read back unchanged: one line of
 * at most 180 bytes without control characters, nothing that would begin a comment, no blanks
 * around it.
 */
bool population_text_fits(const char *text);
/* A card's name: that, without blanks and + = : [ ], and at most 44 bytes. */
bool population_id_fits(const char *id);
/* The text of a file. */
char *population_to_text(const struct population *p);

/* Values of one figure on one model. */
struct population_sample {
	double *values; /* ascending */
	size_t count;
	size_t cards;             /* different ones */
	size_t own;               /* number of cards from the site's own file */
	char first[16], last[16]; /* days of the measurements; "" */
	char driver[64];          /* the one, or "several drivers"; "" */
};

/*
 * `without`: ids of cards that must not be their own yardstick, NULL-terminated. count 0: nothing
 * is known.
 */
struct population_sample population_sample(const struct population *p, const char *model,
					   const char *point, const char *preheat,
					   const char *metric, const char *const *without);
void population_sample_release(struct population_sample *sample);

#endif
