/* Codecs that convert each type of struct member to and from JSON. */
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "result/json/json_fields.h"

#define MEMBER(type, base, field) (*(type *)(void *)((char *)(base) + (field)->offset))
#define CONST_MEMBER(type, base, field) \
	(*(const type *)(const void *)((const char *)(base) + (field)->offset))

static enum status json_expected(struct json_reader *r, const struct json_path *path,
				 const char *what)
{
	return json_path_error(path, r->err, "expected %s", what);
}

/* Reads a string to r->string. */
static enum status json_take_string(struct json_reader *r, const struct json_path *path)
{
	return reader_peek(r) == '"' ? reader_string(r) : json_expected(r, path, "a string");
}

static void codec_string_write(struct json_writer *w, const struct field *f, const void *base)
{
	writer_text(w, CONST_MEMBER(char *, base, f));
}

static enum status codec_string_read(struct json_reader *r, const struct field *f, void *base,
				     const struct json_path *path)
{
	if (json_take_string(r, path) != STATUS_OK)
		return r->err->status;
	MEMBER(char *, base, f) = text_harmless(r->string.data);
	if (r->share && f->shared)
		shared_text(&MEMBER(char *, base, f));
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
	shared_text_free(MEMBER(char *, base, f));
}

static void chars_write(struct json_writer *w, const struct field *f, const void *base)
{
	writer_text(w, (const char *)base + f->offset);
}

static enum status chars_read(struct json_reader *r, const struct field *f, void *base,
			      const struct json_path *path)
{
	char *to = (char *)base + f->offset, *text;
	size_t length = 0, n;

	if (json_take_string(r, path) != STATUS_OK)
		return r->err->status;
	text = text_harmless(r->string.data);
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

static bool chars_nothing(const struct field *f, const void *base)
{
	return !((const char *)base)[f->offset];
}

static bool real_nothing(const struct field *f, const void *base)
{
	double value = CONST_MEMBER(double, base, f);

	return f->unknown == UNKNOWN_ZERO ? !(value > 0) : isnan(value);
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

static enum status real_read(struct json_reader *r, const struct field *f, void *base,
			     const struct json_path *path)
{
	struct json_number number;

	if (reader_take_null(r)) {
		real_absent(f, base);
		return STATUS_OK;
	}
	if (!reader_at_number(r))
		return json_expected(r, path, "a number");
	reader_number(r, &number);
	MEMBER(double, base, f) = number.value;
	return r->err->status;
}

static int64_t integer_unknown(const struct field *f)
{
	return f->unknown == UNKNOWN_NEGATIVE ? -1 : 0;
}

static bool integer_is_unknown(const struct field *f, int64_t value)
{
	return f->unknown == UNKNOWN_NEGATIVE ? value < 0 : value == 0;
}

/* Integers of every width: stored as 64 bits, read within the limits of the type. */
static void integer_write(struct json_writer *w, const struct field *f, int64_t value)
{
	if (f->unknown != UNKNOWN_NEVER && integer_is_unknown(f, value))
		writer_nothing(w);
	else
		writer_signed(w, value);
}

static enum status integer_read(struct json_reader *r, enum unknown unknown, int64_t min,
				int64_t max, int64_t *out, const struct json_path *path)
{
	struct json_number number;

	if (unknown != UNKNOWN_NEVER && reader_take_null(r)) {
		*out = unknown == UNKNOWN_NEGATIVE ? -1 : 0;
		return STATUS_OK;
	}
	if (!reader_at_number(r))
		return json_expected(r, path, "an integer");
	if (reader_number(r, &number) != STATUS_OK)
		return r->err->status;
	if (!number.whole)
		return json_expected(r, path, "an integer");
	*out = number.integer;
	if (*out < min || *out > max)
		return json_path_error(path, r->err, "%lld is out of range", (long long)*out);
	return STATUS_OK;
}

#define INTEGER_CODEC(name, type, min, max)                                                      \
	static void name##_write(struct json_writer *w, const struct field *f, const void *base) \
	{                                                                                        \
		integer_write(w, f, (int64_t)CONST_MEMBER(type, base, f));                       \
	}                                                                                        \
	static enum status name##_read(struct json_reader *r, const struct field *f, void *base, \
				       const struct json_path *path)                             \
	{                                                                                        \
		int64_t value = 0;                                                               \
		enum status status = integer_read(r, f->unknown, min, max, &value, path);        \
                                                                                                 \
		MEMBER(type, base, f) = (type)value;                                             \
		return status;                                                                   \
	}                                                                                        \
	static void name##_absent(const struct field *f, void *base)                             \
	{                                                                                        \
		MEMBER(type, base, f) = (type)integer_unknown(f);                                \
	}                                                                                        \
	static bool name##_nothing(const struct field *f, const void *base)                      \
	{                                                                                        \
		return integer_is_unknown(f, (int64_t)CONST_MEMBER(type, base, f));              \
	}                                                                                        \
	const struct codec codec_##name = { name##_write, name##_read, name##_absent,            \
					    name##_nothing };

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

static enum status bool_read(struct json_reader *r, const struct field *f, void *base,
			     const struct json_path *path)
{
	if (!reader_at_bool(r))
		return json_expected(r, path, "true or false");
	return reader_bool(r, &MEMBER(bool, base, f));
}

static bool bool_nothing(const struct field *f, const void *base)
{
	return !CONST_MEMBER(bool, base, f);
}

static void tristate_write(struct json_writer *w, const struct field *f, const void *base)
{
	int value = CONST_MEMBER(int, base, f);

	if (value < 0)
		writer_nothing(w);
	else
		writer_bool(w, value != 0);
}

static enum status tristate_read(struct json_reader *r, const struct field *f, void *base,
				 const struct json_path *path)
{
	bool value = false;

	MEMBER(int, base, f) = -1;
	if (reader_take_null(r))
		return STATUS_OK;
	if (!reader_at_bool(r))
		return json_expected(r, path, "true, false or null");
	reader_bool(r, &value);
	MEMBER(int, base, f) = value;
	return r->err->status;
}

static void tristate_absent(const struct field *f, void *base)
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

static void enum_write(struct json_writer *w, const struct field *f, const void *base)
{
	writer_text(w, f->words[CONST_MEMBER(unsigned, base, f)]);
}

static enum status enum_read(struct json_reader *r, const struct field *f, void *base,
			     const struct json_path *path)
{
	struct text list = TEXT_EMPTY;
	int value = -1;

	if (reader_peek(r) == '"') {
		if (reader_string(r) != STATUS_OK)
			return r->err->status;
		value = codec_find_word(f->words, r->string.data);
	}
	if (value >= 0) {
		MEMBER(int, base, f) = value;
		return STATUS_OK;
	}
	for (size_t i = 0; f->words[i]; i++)
		text_addf(&list, "%s\"%s\"", i ? ", " : "", f->words[i]);
	json_path_error(path, r->err, "expected one of %s", list.data);
	text_release(&list);
	return r->err->status;
}

/* The first word is the default. */
static bool enum_nothing(const struct field *f, const void *base)
{
	return CONST_MEMBER(unsigned, base, f) == 0;
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
static enum status flags_read(struct json_reader *r, const struct field *f, void *base,
			      const struct json_path *path)
{
	if (!reader_take(r, '['))
		return json_expected(r, path, "an array");
	for (size_t i = 0; reader_element(r, i); i++) {
		int bit;

		if (json_take_string(r, &(struct json_path){ path, NULL, i }) != STATUS_OK)
			break;
		bit = codec_find_word(f->words, r->string.data);
		if (bit >= 0)
			MEMBER(unsigned, base, f) |= 1u << bit;
	}
	return r->err->status;
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

static enum status bits_read(struct json_reader *r, const struct field *f, void *base,
			     const struct json_path *path)
{
	if (!reader_take(r, '['))
		return json_expected(r, path, "an array");
	for (size_t i = 0; reader_element(r, i); i++) {
		struct json_path here = { path, NULL, i };
		int64_t bit;

		if (integer_read(r, UNKNOWN_NEVER, 0, 8 * (int64_t)f->size - 1, &bit, &here) !=
		    STATUS_OK)
			break;
		(&MEMBER(uint64_t, base, f))[bit / 64] |= UINT64_C(1) << bit % 64;
	}
	return r->err->status;
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

static enum status counts_read(struct json_reader *r, const struct field *f, void *base,
			       const struct json_path *path)
{
	size_t most = f->size / sizeof(int64_t), i;

	if (!reader_take(r, '['))
		return json_expected(r, path, "an array");
	for (i = 0; reader_element(r, i); i++) {
		struct json_path here = { path, NULL, i };

		if (i == most)
			return json_path_error(path, r->err,
					       "expected an array of at most %zu integers", most);
		if (integer_read(r, UNKNOWN_NEVER, -1, INT64_MAX, &MEMBER(int64_t, base, f) + i,
				 &here) != STATUS_OK)
			break;
	}
	*counts_number(f, base) = i;
	return r->err->status;
}

static bool counts_nothing(const struct field *f, const void *base)
{
	return *counts_number(f, base) == 0;
}

const struct codec codec_string = { codec_string_write, codec_string_read, codec_string_absent,
				    codec_string_nothing, codec_string_release };
const struct codec codec_chars = { chars_write, chars_read, .nothing = chars_nothing };
const struct codec codec_real = { real_write, real_read, real_absent, real_nothing };
const struct codec codec_bool = { bool_write, bool_read, .nothing = bool_nothing };
const struct codec codec_tristate = { tristate_write, tristate_read, tristate_absent };
const struct codec codec_enum = { enum_write, enum_read, .nothing = enum_nothing };
const struct codec codec_flags = { flags_write, flags_read };
const struct codec codec_bits = { bits_write, bits_read };
const struct codec codec_counts = { counts_write, counts_read, .nothing = counts_nothing };
