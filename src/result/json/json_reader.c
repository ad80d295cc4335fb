#include "result/json/json_reader.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LEVELS 64
/* A double is exact for integers of 15 digits and for powers of ten up to this one. */
#define EXACT_DIGITS 15
#define EXACT_POWER 22
/* Every number of that many digits fits 64 bits. */
#define INTEGER_DIGITS 18

static enum status json_reader_malformed(const struct json_reader *r, const char *what)
{
	size_t line = 1, column = 1;

	for (const char *p = r->text; p < r->at; p++) {
		line += *p == '\n';
		column = *p == '\n' ? 1 : column + 1;
	}
	return error_set(r->err, STATUS_USAGE, "line %zu, column %zu: not valid JSON: %s", line,
			 column, r->at < r->end ? what : "the text ends too early");
}

char json_reader_peek(struct json_reader *r)
{
	while (r->at < r->end &&
	       (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
		r->at++;
	return r->at < r->end ? *r->at : '\0';
}

bool json_reader_take(struct json_reader *r, char wanted)
{
	if (json_reader_peek(r) != wanted || r->at == r->end)
		return false;
	r->at++;
	return true;
}

static bool json_reader_take_word(struct json_reader *r, const char *word)
{
	size_t length = strlen(word);

	if (json_reader_peek(r) != *word || (size_t)(r->end - r->at) < length ||
	    memcmp(r->at, word, length) != 0)
		return false;
	r->at += length;
	return true;
}

bool json_reader_take_null(struct json_reader *r)
{
	return json_reader_take_word(r, "null");
}

bool json_reader_at_number(struct json_reader *r)
{
	char c = json_reader_peek(r);

	return c == '-' || isdigit((unsigned char)c);
}

bool json_reader_at_bool(struct json_reader *r)
{
	char c = json_reader_peek(r);

	return c == 't' || c == 'f';
}

enum status json_reader_bool(struct json_reader *r, bool *value)
{
	*value = json_reader_take_word(r, "true");
	if (!*value && !json_reader_take_word(r, "false"))
		return json_reader_malformed(r, "expected a value");
	return STATUS_OK;
}

static bool json_reader_continues(struct json_reader *r, char close, size_t index)
{
	if (r->err->status != STATUS_OK || json_reader_take(r, close))
		return false;
	if (index && !json_reader_take(r, ',')) {
		json_reader_malformed(r, "expected a comma or a closing bracket");
		return false;
	}
	return true;
}

bool json_reader_element(struct json_reader *r, size_t index)
{
	return json_reader_continues(r, ']', index);
}

bool json_reader_member(struct json_reader *r, size_t index)
{
	if (!json_reader_continues(r, '}', index) || json_reader_string(r) != STATUS_OK)
		return false;
	if (!json_reader_take(r, ':'))
		json_reader_malformed(r, "expected a colon");
	return r->err->status == STATUS_OK;
}

bool json_reader_member_named(struct json_reader *r, size_t index, const char *name)
{
	const char *before = r->at, *at;
	size_t length = strlen(name);

	if (r->err->status == STATUS_OK && (!index || json_reader_take(r, ',')) &&
	    json_reader_peek(r) == '"' && (size_t)(r->end - r->at) > length + 2) {
		at = r->at + 1;
		if (memcmp(at, name, length) == 0 && at[length] == '"' && at[length + 1] == ':') {
			r->at = at + length + 2;
			return true;
		}
	}
	r->at = before;
	return false;
}

/* The four hexadecimal digits at `at`; -1: there are none. */
static long json_reader_code_unit(const struct json_reader *r, const char *at)
{
	char digits[5] = "";

	if (r->end - at < 4)
		return -1;
	memcpy(digits, at, 4);
	return strspn(digits, "0123456789abcdefABCDEF") == 4 ? strtol(digits, NULL, 16) : -1;
}

/* Reads the escape after the backslash at r->at; false: it is not valid. */
static bool json_reader_unescape(struct json_reader *r)
{
	static const char escaped[] = "\"\\/bfnrt", plain[] = "\"\\/\b\f\n\r\t";
	static const unsigned char first[] = { 0, 0, 0xc0, 0xe0, 0xf0 }; /* by bytes of UTF-8 */
	char c = r->end - r->at > 1 ? r->at[1] : '\0';
	const char *found = c ? strchr(escaped, c) : NULL;
	long code, low;
	int bytes;

	if (found) {
		text_add_char(&r->string, plain[found - escaped]);
		r->at += 2;
		return true;
	}
	code = c == 'u' ? json_reader_code_unit(r, r->at + 2) : -1;
	if (code <= 0 || (code >= 0xdc00 && code < 0xe000))
		return false;
	r->at += 6;
	if (code >= 0xd800 && code < 0xdc00) {
		if (r->end - r->at < 6 || r->at[0] != '\\' || r->at[1] != 'u')
			return false;
		low = json_reader_code_unit(r, r->at + 2);
		if (low < 0xdc00 || low >= 0xe000)
			return false;
		code = 0x10000 + (code - 0xd800) * 0x400 + low - 0xdc00;
		r->at += 6;
	}
	bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	text_add_char(&r->string, (char)(first[bytes] | code >> 6 * (bytes - 1)));
	while (--bytes > 0)
		text_add_char(&r->string, (char)(0x80 | (code >> 6 * (bytes - 1) & 0x3f)));
	return true;
}

enum status json_reader_string(struct json_reader *r)
{
	bool ascii = true;

	if (!json_reader_take(r, '"'))
		return json_reader_malformed(r, "expected a string");
	text_reset(&r->string);
	for (;;) {
		const char *from = r->at;

		for (; r->at < r->end && *r->at != '"' && *r->at != '\\'; r->at++) {
			if ((unsigned char)*r->at < 0x20)
				return json_reader_malformed(r, "control character in a string");
			ascii = ascii && (unsigned char)*r->at < 0x80;
		}
		text_add_bytes(&r->string, from, (size_t)(r->at - from));
		if (json_reader_take(r, '"'))
			break;
		if (r->at == r->end || !json_reader_unescape(r))
			return json_reader_malformed(r, "invalid escape sequence");
	}
	if (!ascii && !text_is_utf8(r->string.data, r->string.length))
		return json_reader_malformed(r, "the string is not valid UTF-8");
	return STATUS_OK;
}

struct reader_digits {
	uint64_t value; /* digits without the decimal point, as far as they fit */
	int count;      /* number of digits, without leading zeros */
	int exponent;   /* of ten */
};

static bool json_reader_take_digits(struct json_reader *r, struct reader_digits *n, int exponent)
{
	const char *from = r->at, *at = from;
	uint64_t value = n->value;
	int count = n->count;

	/* In registers: half of a result's text is digits. */
	for (; at < r->end && *at >= '0' && *at <= '9'; at++) {
		count += count || *at != '0';
		if (count <= INTEGER_DIGITS)
			value = 10 * value + (uint64_t)(*at - '0');
	}
	n->value = value;
	n->count = count;
	n->exponent += exponent * (int)(at - from);
	r->at = at;
	return at > from;
}

static bool json_reader_take_exponent(struct json_reader *r, struct reader_digits *n)
{
	struct reader_digits e = { 0 };
	bool negative = false;

	r->at++;
	if (r->at < r->end && (*r->at == '-' || *r->at == '+'))
		negative = *r->at++ == '-';
	if (!json_reader_take_digits(r, &e, 0))
		return false;
	/* Longer ones are left to strtod(). */
	e.value = e.count > 4 ? 9999 : e.value;
	n->exponent += negative ? -(int)e.value : (int)e.value;
	return true;
}

/*
 * A long double with 64 bits holds every integer of INTEGER_DIGITS and powers of ten up to this one
 * exactly, so that one operation on both is rounded once. Rounding it to a double again is correct
 * unless it lies halfway between two doubles: then the exact value may lie on either side.
 */
#define LONG_EXACT_POWER 27

static bool json_reader_long_real(const struct reader_digits *n, double *value)
{
#if LDBL_MANT_DIG == 64
	static const long double powers[LONG_EXACT_POWER + 1] = {
		1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
		1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
		1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L
	};
	long double exact = (long double)n->value;
	uint64_t mantissa;

	if (n->count > INTEGER_DIGITS || abs(n->exponent) > LONG_EXACT_POWER)
		return false;
	exact = n->exponent < 0 ? exact / powers[-n->exponent] : exact * powers[n->exponent];
	memcpy(&mantissa, &exact, sizeof(mantissa));
	/* 64 bits less the 53 of a double; subnormal doubles are out of reach of the powers. */
	if ((mantissa & 0x7ff) == 0x400)
		return false;
	*value = (double)exact;
	return true;
#else
	(void)n;
	(void)value;
	return false;
#endif
}

static double json_reader_real(const struct reader_digits *n, const char *from, bool negative)
{
	static const double powers[EXACT_POWER + 1] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,
							1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
							1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
							1e18, 1e19, 1e20, 1e21, 1e22 };
	double value = (double)n->value;

	if (n->count > EXACT_DIGITS || abs(n->exponent) > EXACT_POWER) {
		if (!json_reader_long_real(n, &value))
			return strtod(from, NULL);
		return negative ? -value : value;
	}
	value = n->exponent < 0 ? value / powers[-n->exponent] : value * powers[n->exponent];
	return negative ? -value : value;
}

enum status json_reader_number(struct json_reader *r, struct json_number *number)
{
	struct reader_digits n = { 0 };
	const char *from = r->at;
	bool negative = json_reader_take(r, '-'), leading_zero;

	*number = (struct json_number){ .whole = true };
	leading_zero = r->end - r->at > 1 && r->at[0] == '0' && isdigit((unsigned char)r->at[1]);
	if (leading_zero || !json_reader_take_digits(r, &n, 0))
		return json_reader_malformed(r, "expected a value");
	if (r->at < r->end && *r->at == '.') {
		number->whole = false;
		r->at++;
		if (!json_reader_take_digits(r, &n, -1))
			return json_reader_malformed(r, "expected digits");
	}
	if (r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
		number->whole = false;
		if (!json_reader_take_exponent(r, &n))
			return json_reader_malformed(r, "expected digits");
	}
	/* A character must follow, so that strtod() stops there. */
	if (r->at == r->end)
		return json_reader_malformed(r, "");
	number->value = json_reader_real(&n, from, negative);
	if (!isfinite(number->value))
		return json_reader_malformed(r, "the number is too large");
	if (number->whole && n.count > INTEGER_DIGITS) {
		errno = 0;
		number->integer = strtoll(from, NULL, 10);
		number->whole = errno == 0;
	} else {
		number->integer = negative ? -(int64_t)n.value : (int64_t)n.value;
	}
	return STATUS_OK;
}

static enum status json_reader_skip_levels(struct json_reader *r, int levels)
{
	struct json_number number;
	bool value, object;

	switch (json_reader_peek(r)) {
	case '"':
		return json_reader_string(r);
	case 't':
	case 'f':
		return json_reader_bool(r, &value);
	case '{':
	case '[':
		if (levels == 0)
			return json_reader_malformed(r, "nested too deeply");
		object = *r->at++ == '{';
		for (size_t i = 0; object ? json_reader_member(r, i) : json_reader_element(r, i);
		     i++)
			json_reader_skip_levels(r, levels - 1);
		return r->err->status;
	}
	if (json_reader_at_number(r))
		return json_reader_number(r, &number);
	return json_reader_take_null(r) ? STATUS_OK : json_reader_malformed(r, "expected a value");
}

enum status json_reader_skip(struct json_reader *r)
{
	return json_reader_skip_levels(r, MOST_LEVELS);
}

enum status json_reader_finish(struct json_reader *r)
{
	if (json_reader_peek(r) || r->at < r->end)
		return json_reader_malformed(r, "expected the end of the text");
	return STATUS_OK;
}
