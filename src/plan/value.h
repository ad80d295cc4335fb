/* Typed values of keys: parses INI text, expands ranges and lists, and writes canonical text. */
#ifndef GPUPROOF_PLAN_VALUE_H
#define GPUPROOF_PLAN_VALUE_H

#include "base/error.h"
#include "base/text.h"
#include "plan/key.h"

/* Maximum number of values in a list. */
#define VALUES_MAX 4096

struct values {
	struct value *items;
	size_t count, capacity;
};

/*
 * Parses `text` for `key`. `unique`: the values of a list must differ (those of a sweep must, the
 * widths of a network's layers need not). On an error `values` is empty.
 *
 * Ranges (KEY_INTEGER, KEY_SIZE, KEY_SHAPE: cubes): "1..8", "1..9 +2", "4KiB..1GiB *4"; the last
 * value is the largest that does not exceed the end.
 */
enum status values_parse(struct values *values, const struct key *key, const char *text,
			 bool unique, struct error *err);
void values_release(struct values *values);

/* Parses one value, not a range. */
enum status value_parse(struct value *value, const struct key *key, const char *text,
			struct error *err);
void value_release(struct value *value);

/*
 * "whole number, 1 to 100", "list of sizes, 1KiB to 1TiB", "one of fp32, fp16": description of a
 * key for messages.
 */
void plan_value_key_describe(const struct key *key, struct text *out);

#endif
