/*
 * Fast parser for documents written by gpuproof, several times as fast as jansson. Everything
 * unusual (\u surrogate pairs, integers beyond 64 bits, deep nesting) or malformed is left to
 * jansson, which also reports the error. It accepts nothing that jansson would reject.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "result/json/json_fields.h"

#define QUICK_DEPTH 64
/* A double is exact for integers of 15 digits and for powers of ten up to this one. */
#define EXACT_DIGITS 15
#define EXACT_POWER 22

struct quick {
	const char *at, *end;
	struct text unescaped; /* last string with escapes, unescaped */
	int depth;
};

struct quick_string {
	const char *from; /* points into the document, or to unescaped */
	size_t length;
	bool ascii;
};

static json_t *quick_value(struct quick *q);

static char quick_next(struct quick *q)
{
	while (q->at < q->end &&
	       (*q->at == ' ' || *q->at == '\n' || *q->at == '\t' || *q->at == '\r'))
		q->at++;
	return q->at < q->end ? *q->at : '\0';
}

static bool quick_take(struct quick *q, char wanted)
{
	if (quick_next(q) != wanted)
		return false;
	q->at++;
	return true;
}

/*
 * Appends "00e4" of "\\u00e4" as UTF-8. False: not four digits, NUL, or half of a surrogate pair.
 */
static bool quick_code_point(const char *digits, struct text *out)
{
	unsigned code = 0;

	for (int i = 0; i < 4; i++) {
		if (!isxdigit((unsigned char)digits[i]))
			return false;
		code = 16 * code + (unsigned)(isdigit((unsigned char)digits[i])
						      ? digits[i] - '0'
						      : (digits[i] | 0x20) - 'a' + 10);
	}
	if (!code || (code >= 0xd800 && code < 0xe000))
		return false;
	if (code >= 0x800)
		text_add_char(out, (char)(0xe0 | code >> 12));
	if (code >= 0x80)
		text_add_char(out,
			      (char)(code >= 0x800 ? 0x80 | (code >> 6 & 0x3f) : 0xc0 | code >> 6));
	text_add_char(out, (char)(code >= 0x80 ? 0x80 | (code & 0x3f) : code));
	return true;
}

/* Returns the position after the escape at `at`, a backslash. NULL: leave it to jansson. */
static const char *quick_unescape(struct quick *q, const char *at)
{
	static const char escaped[] = "\"\\/bfnrt", plain[] = "\"\\/\b\f\n\r\t";
	char c = at + 1 < q->end ? at[1] : '\0';
	const char *found = c ? strchr(escaped, c) : NULL;

	if (found) {
		text_add_char(&q->unescaped, plain[found - escaped]);
		return at + 2;
	}
	return c == 'u' && q->end - at >= 6 && quick_code_point(at + 2, &q->unescaped) ? at + 6
										       : NULL;
}

/*
 * End of the characters before the next quote, backslash or byte that this parser does not handle.
 */
static const char *quick_plain_end(const struct quick *q, bool *ascii)
{
	const char *p = q->at;

	for (; p < q->end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20; p++)
		*ascii = *ascii && (unsigned char)*p < 0x80;
	return p;
}

/*
 * Parses a string from after its opening quote to after its closing one. False: leave it to
 * jansson.
 */
static bool quick_string(struct quick *q, struct quick_string *s)
{
	const char *end;

	s->ascii = true;
	q->unescaped.length = 0;
	end = quick_plain_end(q, &s->ascii);
	while (end < q->end && *end == '\\') {
		text_add_bytes(&q->unescaped, q->at, (size_t)(end - q->at));
		s->ascii = s->ascii && q->end - end > 1 && end[1] != 'u';
		q->at = quick_unescape(q, end);
		if (!q->at)
			return false;
		end = quick_plain_end(q, &s->ascii);
	}
	if (end >= q->end || *end != '"')
		return false;
	if (q->unescaped.length)
		text_add_bytes(&q->unescaped, q->at, (size_t)(end - q->at));
	s->from = q->unescaped.length ? q->unescaped.data : q->at;
	s->length = q->unescaped.length ? q->unescaped.length : (size_t)(end - q->at);
	q->at = end + 1;
	return true;
}

struct quick_number {
	uint64_t digits; /* digits without the decimal point */
	int count;       /* number of digits, without leading zeros */
	int exponent;    /* of ten */
	bool negative, real;
};

static bool quick_digits(struct quick *q, struct quick_number *n, int exponent)
{
	const char *from = q->at;

	for (; q->at < q->end && isdigit((unsigned char)*q->at); q->at++) {
		n->count += n->count || *q->at != '0';
		if (n->count <= EXACT_DIGITS + 3)
			n->digits = 10 * n->digits + (uint64_t)(*q->at - '0');
		n->exponent += exponent;
	}
	return q->at > from;
}

static bool quick_exponent(struct quick *q, struct quick_number *n)
{
	struct quick_number e = { 0 };

	if (q->at >= q->end || (*q->at != 'e' && *q->at != 'E'))
		return true;
	n->real = true;
	q->at++;
	if (q->at < q->end && (*q->at == '-' || *q->at == '+'))
		e.negative = *q->at++ == '-';
	if (!quick_digits(q, &e, 0) || e.count > 4)
		return false;
	n->exponent += e.negative ? -(int)e.digits : (int)e.digits;
	return true;
}

static json_t *quick_number_value(const struct quick_number *n, const char *from)
{
	static const double powers[EXACT_POWER + 1] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,
							1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
							1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
							1e18, 1e19, 1e20, 1e21, 1e22 };
	double value = (double)n->digits;

	if (!n->real)
		return n->count > EXACT_DIGITS + 3
			       ? NULL
			       : json_integer(n->negative ? -(json_int_t)n->digits
							  : (json_int_t)n->digits);
	if (n->count > EXACT_DIGITS || abs(n->exponent) > EXACT_POWER) {
		value = strtod(from, NULL);
		return isfinite(value) ? json_real(value) : NULL;
	}
	value = n->exponent < 0 ? value / powers[-n->exponent] : value * powers[n->exponent];
	return json_real(n->negative ? -value : value);
}

static json_t *quick_number(struct quick *q)
{
	struct quick_number n = { 0 };
	const char *from = q->at;

	n.negative = *q->at == '-';
	q->at += n.negative;
	if (q->at + 1 < q->end && q->at[0] == '0' && isdigit((unsigned char)q->at[1]))
		return NULL;
	if (!quick_digits(q, &n, 0))
		return NULL;
	if (q->at < q->end && *q->at == '.') {
		n.real = true;
		q->at++;
		if (!quick_digits(q, &n, -1))
			return NULL;
	}
	/* A character must follow, so that strtod() stops there. */
	if (!quick_exponent(q, &n) || q->at >= q->end)
		return NULL;
	return quick_number_value(&n, from);
}

static json_t *quick_word(struct quick *q, const char *word, json_t *value)
{
	size_t length = strlen(word);

	if ((size_t)(q->end - q->at) < length || memcmp(q->at, word, length) != 0)
		return NULL;
	q->at += length;
	return value;
}

static bool quick_array(struct quick *q, json_t *array)
{
	if (quick_take(q, ']'))
		return true;
	do
		if (json_array_append_new(array, quick_value(q)) != 0)
			return false;
	while (quick_take(q, ','));
	return quick_take(q, ']');
}

/* A repeated name leaves the object with fewer members than were read. */
static bool quick_object(struct quick *q, json_t *object)
{
	size_t members = 0;

	if (quick_take(q, '}'))
		return true;
	do {
		struct quick_string key;
		char name[256];
		json_t *value;

		if (!quick_take(q, '"') || !quick_string(q, &key) || !key.ascii ||
		    key.length >= sizeof(name) || !quick_take(q, ':'))
			return false;
		memcpy(name, key.from, key.length);
		name[key.length] = '\0';
		value = quick_value(q);
		if (!value || json_object_set_new_nocheck(object, name, value) != 0 ||
		    json_object_size(object) != ++members)
			return false;
	} while (quick_take(q, ','));
	return quick_take(q, '}');
}

static json_t *quick_container(struct quick *q, json_t *container,
			       bool (*fill)(struct quick *, json_t *))
{
	bool filled = container && ++q->depth <= QUICK_DEPTH && fill(q, container);

	q->depth--;
	if (!filled) {
		json_decref(container);
		return NULL;
	}
	return container;
}

static json_t *quick_text(struct quick *q)
{
	struct quick_string s;

	if (!quick_string(q, &s))
		return NULL;
	return s.ascii ? json_stringn_nocheck(s.from, s.length) : json_stringn(s.from, s.length);
}

static json_t *quick_value(struct quick *q)
{
	char c = quick_next(q);

	if (c == '{' || c == '[' || c == '"')
		q->at++;
	switch (c) {
	case '{':
		return quick_container(q, json_object(), quick_object);
	case '[':
		return quick_container(q, json_array(), quick_array);
	case '"':
		return quick_text(q);
	case 't':
		return quick_word(q, "true", json_true());
	case 'f':
		return quick_word(q, "false", json_false());
	case 'n':
		return quick_word(q, "null", json_null());
	}
	return c == '-' || isdigit((unsigned char)c) ? quick_number(q) : NULL;
}

json_t *json_parse_quick(const char *text, size_t length)
{
	struct quick q = { .at = text, .end = text + length, .unescaped = TEXT_EMPTY };
	char first = quick_next(&q);
	json_t *json = NULL;

	if (first == '{' || first == '[')
		json = quick_value(&q);
	if (json && (quick_next(&q) || q.at < q.end)) {
		json_decref(json);
		json = NULL;
	}
	text_release(&q.unescaped);
	return json;
}
