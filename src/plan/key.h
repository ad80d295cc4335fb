/*
 * INI keys. One table row describes a key completely: parsing, range, default, help text, and the
 * effective config that every report prints.
 *
 * Adding a key: add a row to the table of its section: a suite's keys are in the suite's file,
 * those of [report] in src/report/page/settings.c, the others in src/plan/keys.c.
 *
 * A table ends with a row whose name is NULL:
 *
 *	static const struct key keys[] = {
 *		{ .name = "sizes", .type = KEY_SIZE, .list = true, .fallback = "1KiB..512MiB *4",
 *		  .min = 1, .max = 0x1p40, .help = "bytes of one copy" },
 *		{ 0 }
 *	};
 */
#ifndef GPUPROOF_PLAN_KEY_H
#define GPUPROOF_PLAN_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum key_type {
	KEY_TEXT,
	KEY_CHOICE, /* one of `choices` */
	KEY_BOOL,   /* yes, no, on, off, true, false -> integer 1 or 0 */
	KEY_INTEGER,
	KEY_REAL,
	KEY_SIZE,     /* bytes, unit required -> integer */
	KEY_DURATION, /* seconds, unit required -> real */
	KEY_PERCENT,  /* "0.5 %" -> real 0.005 */
	KEY_SHAPE     /* "1024" (a cube) or "MxNxK" -> shape[3] */
};

/*
 * A list key of type KEY_INTEGER, KEY_SIZE or KEY_SHAPE (cubes) also accepts ranges: "1..8", "1..9
 * +2", "1KiB..1GiB *4". The values of a list that is an axis of the suite must differ.
 */
struct key {
	const char *name;
	enum key_type type;
	bool list;            /* several comma-separated values */
	const char *fallback; /* default as INI text; NULL: the key is required */
	double min, max;      /* allowed range in base units; both 0: any non-negative value */
	const char *const *choices; /* KEY_CHOICE: allowed words, NULL-terminated */
	const char *help;           /* one line for `config keys` */
	/*
	 * KEY_TEXT: further check of a non-empty value; its error lists what is allowed. NULL:
	 * none.
	 */
	enum status (*check)(const char *text, struct error *err);
	/* KEY_INTEGER: an additional word that stands for 0, which `min` excludes; NULL: none */
	const char *word;
	/* name of the axis in results: "size" for `sizes`; NULL: as `name` */
	const char *parameter;
};

/* Name of the key's value in results. */
static inline const char *key_parameter(const struct key *key)
{
	return key->parameter ? key->parameter : key->name;
}

/* One parsed value. `text` is always set, in canonical INI form ("64MiB", "fp16", "512x64x64"). */
struct value {
	char *text;
	int64_t integer; /* KEY_BOOL, KEY_INTEGER, KEY_SIZE; KEY_CHOICE: index into choices */
	double real;     /* KEY_REAL, KEY_DURATION, KEY_PERCENT; also set for integer types */
	int64_t shape[3];
};

/* One key of a section with its effective values. */
struct setting {
	const struct key *key;
	struct value *values;
	size_t count; /* 1 unless key->list */
	char *origin; /* "default", "nightly.ini:12" or "--set" */
};

#endif
