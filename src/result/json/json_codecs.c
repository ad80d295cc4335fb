/* Codecs that convert each type of struct member to and from JSON. */
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "result/json/json_fields.h"

#define MEMBER(type, base, field) (*(type *)(void *)((char *)(base) + (field)->offset))
#define CONST_MEMBER(type, base, field) \
	(*(const type *)(const void *)((const char *)(base) + (field)->offset))

static enum status json_codecs_expected(struct json_reader *r, const struct json_path *path,
					const char *what)
{
	return json_fields_path_error(path, r->err, "expected %s", what);
}

/* Reads a string to r->string. */
static enum status json_codecs_take_string(struct json_reader *r, const struct json_path *path)
{
	return json_reader_peek(r) == '"' ? json_reader_string(r)
					  : json_codecs_expected(r, path, "a string");
}

static void codec_string_write(struct json_writer *w, const struct field *f, const void *base)
{
	writer_text(w, CONST_MEMBER(char *, base, f));
}

static enum status codec_string_read(struct json_reader *r, const struct field *f, void *base,
				     const struct json_path *path)
{
	if (json_codecs_take_string(r, path) != STATUS_OK)
		return r->err->status;
	MEMBER(char *, base, f) = text_harmless(r->string.data);
	if (r->share && f->shared)
		memory_shared_text(&MEMBER(char *, base, f));
	return STATUS_OK;
}

static void codec_string_absent(const struct field *f, void *base)
{
	MEMBER(char *, base, f) = xstrdup("");
}

static bool codec_string_nothing(const struct field *f, const void *base)
{
	const char *s = CONST_MEMBER(char *, base, f);

	return !s || !*s;
}

static void codec_string_release(const struct field *f, void *base)
{
	memory_shared_text_free(MEMBER(char *, base, f));
}

static void json_codecs_chars_write(struct json_writer *w, const struct field *f, const void *base)
{
	writer_text(w, (const char *)base + f->offset);
}

static enum status json_codecs_chars_read(struct json_reader *r, const struct field *f, void *base,
					  const struct json_path *path)
{
	char *to = (char *)base + f->offset, *text;

	if (json_codecs_take_string(r, path) != STATUS_OK)
		return r->err->status;
	text = text_harmless(r->string.data);
	snprintf(to, f->size, "%s", text);
	text_mend(to); /* drops a character that was cut in two */
	free(text);
	return STATUS_OK;
}

static bool json_codecs_chars_nothing(const struct field *f, const void *base)
{
	return !((const char *)base)[f->offset];
}

static bool json_codecs_real_nothing(const struct field *f, const void *base)
{
	double value = CONST_MEMBER(double, base, f);

	return f->unknown == UNKNOWN_ZERO ? !(value > 0) : isnan(value);
}

static void json_codecs_real_write(struct json_writer *w, const struct field *f, const void *base)
{
	double value = CONST_MEMBER(double, base, f);

	if (f->unknown == UNKNOWN_ZERO && value == 0)
		writer_nothing(w);
	else
		writer_real(w, value);
}

static void json_codecs_real_absent(const struct field *f, void *base)
{
	MEMBER(double, base, f) = f->unknown == UNKNOWN_ZERO ? 0 : (double)NAN;
}

static enum status json_codecs_real_read(struct json_reader *r, const struct field *f, void *base,
					 const struct json_path *path)
{
	struct json_number number;

	if (json_reader_take_null(r)) {
		json_codecs_real_absent(f, base);
		return STATUS_OK;
	}
	if (!json_reader_at_number(r))
		return json_codecs_expected(r, path, "a number");
	json_reader_number(r, &number);
	MEMBER(double, base, f) = number.value;
	return r->err->status;
}

static int64_t json_codecs_integer_unknown(const struct field *f)
{
	return f->unknown == UNKNOWN_NEGATIVE ? -1 : 0;
}

static bool json_codecs_integer_is_unknown(const struct field *f, int64_t value)
{
	return f->unknown == UNKNOWN_NEGATIVE ? value < 0 : value == 0;
}

/* Integers of every width: stored as 64 bits, read within the limits of the type. */
static void json_codecs_integer_write(struct json_writer *w, const struct field *f, int64_t value)
{
	if (f->unknown != UNKNOWN_NEVER && json_codecs_integer_is_unknown(f, value))
		writer_nothing(w);
	else
		writer_signed(w, value);
}

static enum status json_codecs_integer_read(struct json_reader *r, enum unknown unknown,
					    int64_t min, int64_t max, int64_t *out,
					    const struct json_path *path)
{
	struct json_number number;

	if (unknown != UNKNOWN_NEVER && json_reader_take_null(r)) {
		*out = unknown == UNKNOWN_NEGATIVE ? -1 : 0;
		return STATUS_OK;
	}
	if (!json_reader_at_number(r))
		return json_codecs_expected(r, path, "an integer");
	if (json_reader_number(r, &number) != STATUS_OK)
		return r->err->status;
	if (!number.whole)
		return json_codecs_expected(r, path, "an integer");
	*out = number.integer;
	if (*out < min || *out > max)
		return json_fields_path_error(path, r->err, "%lld is out of range",
					      (long long)*out);
	return STATUS_OK;
}

#define INTEGER_CODEC(name, type, min, max)                                                      \
	static void name##_write(struct json_writer *w, const struct field *f, const void *base) \
	{                                                                                        \
		json_codecs_integer_write(w, f, (int64_t)CONST_MEMBER(type, base, f));           \
	}                                                                                        \
	static enum status name##_read(struct json_reader *r, const struct field *f, void *base, \
				       const struct json_path *path)                             \
	{                                                                                        \
		int64_t value = 0;                                                               \
		enum status status =                                                             \
			json_codecs_integer_read(r, f->unknown, min, max, &value, path);         \
                                                                                                 \
		MEMBER(type, base, f) = (type)value;                                             \
		return status;                                                                   \
	}                                                                                        \
	static void name##_absent(const struct field *f, void *base)                             \
	{                                                                                        \
		MEMBER(type, base, f) = (type)json_codecs_integer_unknown(f);                    \
	}                                                                                        \
	static bool name##_nothing(const struct field *f, const void *base)                      \
	{                                                                                        \
		return json_codecs_integer_is_unknown(f, (int64_t)CONST_MEMBER(type, base, f));  \
	}                                                                                        \
	const struct codec codec_##name = { name##_write, name##_read, name##_absent,            \
					    name##_nothing };

INTEGER_CODEC(int, int, INT_MIN, INT_MAX)
INTEGER_CODEC(int64, int64_t, INT64_MIN, INT64_MAX)
INTEGER_CODEC(unsigned, unsigned, 0, UINT_MAX)
/* Byte counts up to half the range: that is enough, and all JSON readers agree on it. */
INTEGER_CODEC(uint64, uint64_t, 0, INT64_MAX)
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "size_t members use codec_uint64");

static void json_codecs_bool_write(struct json_writer *w, const struct field *f, const void *base)
{
	writer_bool(w, CONST_MEMBER(bool, base, f));
}

static enum status json_codecs_bool_read(struct json_reader *r, const struct field *f, void *base,
					 const struct json_path *path)
{
	if (!json_reader_at_bool(r))
		return json_codecs_expected(r, path, "true or false");
	return json_reader_bool(r, &MEMBER(bool, base, f));
}

static bool json_codecs_bool_nothing(const struct field *f, const void *base)
{
	return !CONST_MEMBER(bool, base, f);
}

static void json_codecs_tristate_write(struct json_writer *w, const struct field *f,
				       const void *base)
{
	int value = CONST_MEMBER(int, base, f);

	if (value < 0)
		writer_nothing(w);
	else
		writer_bool(w, value != 0);
}

static enum status json_codecs_tristate_read(struct json_reader *r, const struct field *f,
					     void *base, const struct json_path *path)
{
	bool value = false;

	MEMBER(int, base, f) = -1;
	if (json_reader_take_null(r))
		return STATUS_OK;
	if (!json_reader_at_bool(r))
		return json_codecs_expected(r, path, "true, false or null");
	json_reader_bool(r, &value);
	MEMBER(int, base, f) = value;
	return r->err->status;
}

static void json_codecs_tristate_absent(const struct field *f, void *base)
{
	MEMBER(int, base, f) = -1;
}

static int codec_find_word(const char *const *words, const char *word)
{
	for (int i = 0; words[i]; i++)
		if (strcmp(words[i], word) == 0)
			return i;
	return -1;
}

static void json_codecs_enum_write(struct json_writer *w, const struct field *f, const void *base)
{
	writer_text(w, f->words[CONST_MEMBER(unsigned, base, f)]);
}

static enum status json_codecs_enum_read(struct json_reader *r, const struct field *f, void *base,
					 const struct json_path *path)
{
	struct text list = TEXT_EMPTY;
	int value = -1;

	if (json_reader_peek(r) == '"') {
		if (json_reader_string(r) != STATUS_OK)
			return r->err->status;
		value = codec_find_word(f->words, r->string.data);
		if (value < 0 && f->lenient)
			value = 0;
	}
	if (value >= 0) {
		MEMBER(int, base, f) = value;
		return STATUS_OK;
	}
	if (f->lenient)
		return json_codecs_expected(r, path, "a string");
	for (size_t i = 0; f->words[i]; i++)
		text_addf(&list, "%s\"%s\"", i ? ", " : "", f->words[i]);
	json_fields_path_error(path, r->err, "expected one of %s", list.data);
	text_release(&list);
	return r->err->status;
}

/* The first word is the default. */
static bool json_codecs_enum_nothing(const struct field *f, const void *base)
{
	return CONST_MEMBER(unsigned, base, f) == 0;
}

static void json_codecs_flags_write(struct json_writer *w, const struct field *f, const void *base)
{
	unsigned flags = CONST_MEMBER(unsigned, base, f);

	writer_open_inline(w, '[');
	for (unsigned i = 0; f->words[i]; i++)
		if (flags >> i & 1)
			writer_text(w, f->words[i]);
	writer_close(w, ']');
}

/* Ignores unknown words: a newer backend may have added one. */
static enum status json_codecs_flags_read(struct json_reader *r, const struct field *f, void *base,
					  const struct json_path *path)
{
	if (!json_reader_take(r, '['))
		return json_codecs_expected(r, path, "an array");
	for (size_t i = 0; json_reader_element(r, i); i++) {
		int bit;

		if (json_codecs_take_string(r, &(struct json_path){ path, NULL, i }) != STATUS_OK)
			break;
		bit = codec_find_word(f->words, r->string.data);
		if (bit >= 0)
			MEMBER(unsigned, base, f) |= 1u << bit;
	}
	return r->err->status;
}

static void json_codecs_bits_write(struct json_writer *w, const struct field *f, const void *base)
{
	const uint64_t *words = &CONST_MEMBER(uint64_t, base, f);

	writer_open_inline(w, '[');
	for (size_t i = 0; i < 8 * f->size; i++)
		if (words[i / 64] >> i % 64 & 1)
			writer_signed(w, (int64_t)i);
	writer_close(w, ']');
}

static enum status json_codecs_bits_read(struct json_reader *r, const struct field *f, void *base,
					 const struct json_path *path)
{
	if (!json_reader_take(r, '['))
		return json_codecs_expected(r, path, "an array");
	for (size_t i = 0; json_reader_element(r, i); i++) {
		struct json_path here = { path, NULL, i };
		int64_t bit;

		if (json_codecs_integer_read(r, UNKNOWN_NEVER, 0, 8 * (int64_t)f->size - 1, &bit,
					     &here) != STATUS_OK)
			break;
		(&MEMBER(uint64_t, base, f))[bit / 64] |= UINT64_C(1) << bit % 64;
	}
	return r->err->status;
}

static size_t *json_codecs_counts_number(const struct field *f, const void *base)
{
	return (size_t *)(void *)((char *)(uintptr_t)base + f->count_offset);
}

static void json_codecs_counts_write(struct json_writer *w, const struct field *f, const void *base)
{
	const int64_t *values = &CONST_MEMBER(int64_t, base, f);

	writer_open_inline(w, '[');
	for (size_t i = 0; i < *json_codecs_counts_number(f, base); i++)
		writer_signed(w, values[i]);
	writer_close(w, ']');
}

static enum status json_codecs_counts_read(struct json_reader *r, const struct field *f, void *base,
					   const struct json_path *path)
{
	size_t most = f->size / sizeof(int64_t), i;

	if (!json_reader_take(r, '['))
		return json_codecs_expected(r, path, "an array");
	for (i = 0; json_reader_element(r, i); i++) {
		struct json_path here = { path, NULL, i };

		if (i == most)
			return json_fields_path_error(path, r->err,
						      "expected an array of at most %zu integers",
						      most);
		if (json_codecs_integer_read(r, UNKNOWN_NEVER, -1, INT64_MAX,
					     &MEMBER(int64_t, base, f) + i, &here) != STATUS_OK)
			break;
	}
	*json_codecs_counts_number(f, base) = i;
	return r->err->status;
}

static bool json_codecs_counts_nothing(const struct field *f, const void *base)
{
	return *json_codecs_counts_number(f, base) == 0;
}

const struct codec codec_string = { codec_string_write, codec_string_read, codec_string_absent,
				    codec_string_nothing, codec_string_release };
/* A word that is not there stays NULL. */
const struct codec codec_word = { codec_string_write, codec_string_read,
				  .nothing = codec_string_nothing,
				  .release = codec_string_release };
const struct codec codec_chars = { json_codecs_chars_write, json_codecs_chars_read,
				   .nothing = json_codecs_chars_nothing };
const struct codec codec_real = { json_codecs_real_write, json_codecs_real_read,
				  json_codecs_real_absent, json_codecs_real_nothing };
const struct codec codec_bool = { json_codecs_bool_write, json_codecs_bool_read,
				  .nothing = json_codecs_bool_nothing };
const struct codec codec_tristate = { json_codecs_tristate_write, json_codecs_tristate_read,
				      json_codecs_tristate_absent };
const struct codec codec_enum = { json_codecs_enum_write, json_codecs_enum_read,
				  .nothing = json_codecs_enum_nothing };
const struct codec codec_flags = { json_codecs_flags_write, json_codecs_flags_read };
const struct codec codec_bits = { json_codecs_bits_write, json_codecs_bits_read };
const struct codec codec_counts = { json_codecs_counts_write, json_codecs_counts_read,
				    .nothing = json_codecs_counts_nothing };
