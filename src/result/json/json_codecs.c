/* Codecs that convert each type of struct member to and from JSON. */
#include "result/json/json_fields.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define MEMBER(type, base, field) (*(type *)(void *)((char *)(base) + (field)->offset))
#define CONST_MEMBER(type, base, field) \
	(*(const type *)(const void *)((const char *)(base) + (field)->offset))

static enum status json_expected(const struct json_path *path, const char *what, struct error *err)
{
	return json_path_error(path, err, "expected %s", what);
}

static void codec_string_write(struct json_writer *w, const struct field *f, const void *base)
{
	writer_text(w, CONST_MEMBER(char *, base, f));
}

static enum status codec_string_read(const json_t *json, const struct field *f, void *base,
				     const struct json_path *path, struct error *err)
{
	if (!json_is_string(json))
		return json_expected(path, "a string", err);
	MEMBER(char *, base, f) = text_harmless(json_string_value(json));
	return STATUS_OK;
}

static void string_absent(const struct field *f, void *base)
{
	MEMBER(char *, base, f) = xstrdup("");
}

static void chars_write(struct json_writer *w, const struct field *f, const void *base)
{
	writer_text(w, (const char *)base + f->offset);
}

static enum status chars_read(const json_t *json, const struct field *f, void *base,
			      const struct json_path *path, struct error *err)
{
	char *to = (char *)base + f->offset, *text;
	size_t length = 0, n;

	if (!json_is_string(json))
		return json_expected(path, "a string", err);
	text = text_harmless(json_string_value(json));
	/* Splits between characters, not within one. */
	for (size_t left = strlen(text); left; left -= n) {
		n = text_utf8_sequence(text + length, left);
		if (!n || length + n >= f->size)
			break;
		length += n;
	}
	memcpy(to, text, length);
	to[length] = '\0';
	free(text);
	return STATUS_OK;
}

static void real_write(struct json_writer *w, const struct field *f, const void *base)
{
	double value = CONST_MEMBER(double, base, f);

	if (f->unknown == UNKNOWN_ZERO && value == 0)
		writer_nothing(w);
	else
		writer_real(w, value);
}

static void real_absent(const struct field *f, void *base)
{
	MEMBER(double, base, f) = f->unknown == UNKNOWN_ZERO ? 0 : (double)NAN;
}

static enum status real_read(const json_t *json, const struct field *f, void *base,
			     const struct json_path *path, struct error *err)
{
	if (json_is_null(json))
		real_absent(f, base);
	else if (json_is_number(json))
		MEMBER(double, base, f) = json_number_value(json);
	else
		return json_expected(path, "a number", err);
	return STATUS_OK;
}

/* Integers of every width: stored as 64 bits, read within the limits of the type. */
static void integer_write(struct json_writer *w, const struct field *f, int64_t value)
{
	if ((f->unknown == UNKNOWN_ZERO && value == 0) ||
	    (f->unknown == UNKNOWN_NEGATIVE && value < 0))
		writer_nothing(w);
	else
		writer_signed(w, value);
}

static int64_t integer_unknown(const struct field *f)
{
	return f->unknown == UNKNOWN_NEGATIVE ? -1 : 0;
}

static enum status integer_read(const json_t *json, const struct field *f, int64_t min, int64_t max,
				int64_t *out, const struct json_path *path, struct error *err)
{
	*out = integer_unknown(f);
	if (json_is_null(json) && f->unknown != UNKNOWN_NEVER)
		return STATUS_OK;
	if (!json_is_integer(json))
		return json_expected(path, "an integer", err);
	*out = json_integer_value(json);
	if (*out < min || *out > max)
		return json_path_error(path, err, "%lld is out of range", (long long)*out);
	return STATUS_OK;
}

#define INTEGER_CODEC(name, type, min, max)                                                      \
	static void name##_write(struct json_writer *w, const struct field *f, const void *base) \
	{                                                                                        \
		integer_write(w, f, (int64_t)CONST_MEMBER(type, base, f));                       \
	}                                                                                        \
	static enum status name##_read(const json_t *json, const struct field *f, void *base,    \
				       const struct json_path *path, struct error *err)          \
	{                                                                                        \
		int64_t value;                                                                   \
		enum status status = integer_read(json, f, min, max, &value, path, err);         \
                                                                                                 \
		MEMBER(type, base, f) = (type)value;                                             \
		return status;                                                                   \
	}                                                                                        \
	static void name##_absent(const struct field *f, void *base)                             \
	{                                                                                        \
		MEMBER(type, base, f) = (type)integer_unknown(f);                                \
	}                                                                                        \
	const struct codec codec_##name = { name##_write, name##_read, name##_absent };

INTEGER_CODEC(int, int, INT_MIN, INT_MAX)
INTEGER_CODEC(int64, int64_t, INT64_MIN, INT64_MAX)
INTEGER_CODEC(unsigned, unsigned, 0, UINT_MAX)
/* Byte counts up to half the range: that is enough, and all JSON readers agree on it. */
INTEGER_CODEC(uint64, uint64_t, 0, INT64_MAX)
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "size_t members use codec_uint64");

static void bool_write(struct json_writer *w, const struct field *f, const void *base)
{
	writer_bool(w, CONST_MEMBER(bool, base, f));
}

static enum status bool_read(const json_t *json, const struct field *f, void *base,
			     const struct json_path *path, struct error *err)
{
	if (!json_is_boolean(json))
		return json_expected(path, "true or false", err);
	MEMBER(bool, base, f) = json_is_true(json);
	return STATUS_OK;
}

static void tristate_write(struct json_writer *w, const struct field *f, const void *base)
{
	int value = CONST_MEMBER(int, base, f);

	if (value < 0)
		writer_nothing(w);
	else
		writer_bool(w, value != 0);
}

static enum status tristate_read(const json_t *json, const struct field *f, void *base,
				 const struct json_path *path, struct error *err)
{
	if (!json_is_boolean(json) && !json_is_null(json))
		return json_expected(path, "true, false or null", err);
	MEMBER(int, base, f) = json_is_null(json) ? -1 : json_is_true(json);
	return STATUS_OK;
}

static void tristate_absent(const struct field *f, void *base)
{
	MEMBER(int, base, f) = -1;
}

static int codec_find_word(const char *const *words, const char *word)
{
	for (int i = 0; word && words[i]; i++)
		if (strcmp(words[i], word) == 0)
			return i;
	return -1;
}

static void enum_write(struct json_writer *w, const struct field *f, const void *base)
{
	writer_text(w, f->words[CONST_MEMBER(unsigned, base, f)]);
}

static enum status enum_read(const json_t *json, const struct field *f, void *base,
			     const struct json_path *path, struct error *err)
{
	const char *word = json_string_value(json);
	int value = word ? codec_find_word(f->words, word) : -1;

	if (value < 0) {
		struct text list = TEXT_EMPTY;
		enum status status;

		for (size_t i = 0; f->words[i]; i++)
			text_addf(&list, "%s\"%s\"", i ? ", " : "", f->words[i]);
		status = json_path_error(path, err, "expected one of %s", list.data);
		text_release(&list);
		return status;
	}
	MEMBER(int, base, f) = value;
	return STATUS_OK;
}

static void flags_write(struct json_writer *w, const struct field *f, const void *base)
{
	unsigned flags = CONST_MEMBER(unsigned, base, f);

	writer_open_inline(w, '[');
	for (unsigned i = 0; f->words[i]; i++)
		if (flags >> i & 1)
			writer_text(w, f->words[i]);
	writer_close(w, ']');
}

/* Ignores unknown words: a newer backend may have added one. */
static enum status flags_read(const json_t *json, const struct field *f, void *base,
			      const struct json_path *path, struct error *err)
{
	if (!json_is_array(json))
		return json_expected(path, "an array", err);
	for (size_t i = 0; i < json_array_size(json); i++) {
		const json_t *word = json_array_get(json, i);
		int bit = codec_find_word(f->words, json_string_value(word));

		if (!json_is_string(word))
			return json_expected(&(struct json_path){ path, NULL, i }, "a string", err);
		if (bit >= 0)
			MEMBER(unsigned, base, f) |= 1u << bit;
	}
	return STATUS_OK;
}

static void bits_write(struct json_writer *w, const struct field *f, const void *base)
{
	const uint64_t *words = &CONST_MEMBER(uint64_t, base, f);

	writer_open_inline(w, '[');
	for (size_t i = 0; i < 8 * f->size; i++)
		if (words[i / 64] >> i % 64 & 1)
			writer_signed(w, (int64_t)i);
	writer_close(w, ']');
}

static enum status bits_read(const json_t *json, const struct field *f, void *base,
			     const struct json_path *path, struct error *err)
{
	static const struct field element = { .unknown = UNKNOWN_NEVER };

	if (!json_is_array(json))
		return json_expected(path, "an array", err);
	for (size_t i = 0; i < json_array_size(json); i++) {
		struct json_path here = { path, NULL, i };
		int64_t bit;
		enum status status = integer_read(json_array_get(json, i), &element, 0,
						  8 * (int64_t)f->size - 1, &bit, &here, err);

		if (status != STATUS_OK)
			return status;
		(&MEMBER(uint64_t, base, f))[bit / 64] |= UINT64_C(1) << bit % 64;
	}
	return STATUS_OK;
}

static size_t *counts_number(const struct field *f, const void *base)
{
	return (size_t *)(void *)((char *)(uintptr_t)base + f->count_offset);
}

static void counts_write(struct json_writer *w, const struct field *f, const void *base)
{
	const int64_t *values = &CONST_MEMBER(int64_t, base, f);

	writer_open_inline(w, '[');
	for (size_t i = 0; i < *counts_number(f, base); i++)
		writer_signed(w, values[i]);
	writer_close(w, ']');
}

static enum status counts_read(const json_t *json, const struct field *f, void *base,
			       const struct json_path *path, struct error *err)
{
	static const struct field element = { .unknown = UNKNOWN_NEVER };
	size_t most = f->size / sizeof(int64_t);

	if (!json_is_array(json) || json_array_size(json) > most)
		return json_path_error(path, err, "expected an array of at most %zu integers",
				       most);
	for (size_t i = 0; i < json_array_size(json); i++) {
		struct json_path here = { path, NULL, i };

		if (integer_read(json_array_get(json, i), &element, -1, INT64_MAX,
				 &MEMBER(int64_t, base, f) + i, &here, err) != STATUS_OK)
			return err->status;
	}
	*counts_number(f, base) = json_array_size(json);
	return STATUS_OK;
}

static bool counts_nothing(const struct field *f, const void *base)
{
	return *counts_number(f, base) == 0;
}

const struct codec codec_counts = { counts_write, counts_read, NULL, counts_nothing };

const struct codec codec_string = { codec_string_write, codec_string_read, string_absent };
static bool codec_string_nothing(const struct field *f, const void *base)
{
	const char *s = *(char *const *)((const char *)base + f->offset);

	return !s || !*s;
}

const struct codec codec_string_or_none = { codec_string_write, codec_string_read, string_absent,
					    codec_string_nothing };
static bool chars_nothing(const struct field *f, const void *base)
{
	return !((const char *)base)[f->offset];
}

const struct codec codec_chars = { chars_write, chars_read, NULL };
const struct codec codec_chars_or_none = { chars_write, chars_read, NULL, chars_nothing };
const struct codec codec_real = { real_write, real_read, real_absent };

static bool not_positive(const struct field *f, const void *base)
{
	return !(*(const double *)(const void *)((const char *)base + f->offset) > 0);
}

static bool is_not_a_number(const struct field *f, const void *base)
{
	return isnan(CONST_MEMBER(double, base, f));
}

const struct codec codec_real_or_none = { real_write, real_read, real_absent, is_not_a_number };
const struct codec codec_positive = { real_write, real_read, NULL, not_positive };
const struct codec codec_bool = { bool_write, bool_read, NULL };
const struct codec codec_mark = { bool_write, bool_read, NULL };
const struct codec codec_tristate = { tristate_write, tristate_read, tristate_absent };
const struct codec codec_enum = { enum_write, enum_read, NULL };
static bool codec_count_nothing(const struct field *f, const void *base)
{
	return CONST_MEMBER(uint64_t, base, f) == 0;
}

const struct codec codec_count_or_none = { uint64_write, uint64_read, uint64_absent,
					   codec_count_nothing };
static bool int_is_negative(const struct field *f, const void *base)
{
	return CONST_MEMBER(int, base, f) < 0;
}

const struct codec codec_int_or_none = { int_write, int_read, int_absent, int_is_negative };
/* The first word is the default and is left out. */
static bool enum_nothing(const struct field *f, const void *base)
{
	return CONST_MEMBER(unsigned, base, f) == 0;
}

const struct codec codec_enum_or_none = { enum_write, enum_read, NULL, enum_nothing };
const struct codec codec_flags = { flags_write, flags_read, NULL };
const struct codec codec_bits = { bits_write, bits_read, NULL };
