/*
 * Maps structs to JSON objects: one table row per member drives writing, reading and error
 * messages.
 *
 * Adding a member: add a row with `.optional = true` to the table of its struct (result_fields.c,
 * device_json.c), the same name in result.schema.json under `properties` but not under `required`,
 * and for a string a row in anonymise_rules.c. Results of earlier versions lack it and must stay
 * readable: it then reads as unknown or empty (codec.absent). Tables end with { 0 }. Adding a type
 * of member: add a const struct codec.
 *
 *	static const struct field fact_fields[] = {
 *		{ .name = "name", .codec = &codec_string, FIELD_AT(fact, name) },
 *		{ 0 }
 *	};
 *
 * Reading is strict: required members must be present, and each must have the right type. Members
 * without a row are ignored, because a newer version may have written them. null is allowed for
 * real numbers (NaN) and where the row defines how "unknown" is stored.
 */
#ifndef GPUPROOF_RESULT_JSON_JSON_FIELDS_H
#define GPUPROOF_RESULT_JSON_JSON_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "result/json/json_writer.h"

/*
 * Location of a value in the document, for messages: "cases[3].metrics.x.value". Allocated on the
 * reader's stack.
 */
struct json_path {
	const struct json_path *parent; /* NULL for the root */
	const char *name;               /* name of the member; NULL for an array element */
	size_t index;
};

/* Sets STATUS_USAGE with "<path>: <message>"; shows control characters in names as '?'. */
enum status json_path_error(const struct json_path *path, struct error *err, const char *format,
			    ...) __attribute__((format(printf, 3, 4)));

/* How the struct stores an unknown number, which is null in JSON. */
enum unknown { UNKNOWN_NEVER, UNKNOWN_ZERO, UNKNOWN_NEGATIVE /* -1 */ };

struct field {
	const char *name;
	const struct codec *codec;
	size_t offset; /* of the member in its struct */
	size_t size;   /* sizeof the member */
	enum unknown unknown;
	/* codec_enum, codec_flags: names in order of their values, NULL-terminated */
	const char *const *words;
	const struct field *fields; /* of the nested struct or of each element */
	/* Arrays: the struct's element count, its capacity (0: none) and the element's size. */
	size_t count_offset, capacity_offset, element_size;
	/* may be missing; empty arrays, NULL structs and default marks are left out when written */
	bool optional;
	/*
	 * codec_object: the whole object, codec_array: each element on one line, whatever its depth
	 */
	bool one_line;
	/* codec_map, codec_values: member of the element (char *) that is the key */
	size_t key_offset;
};

/* Functions of a codec; `base` is the struct that the field's offset refers to. */
struct codec {
	void (*write)(struct json_writer *w, const struct field *field, const void *base);
	enum status (*read)(const json_t *json, const struct field *field, void *base,
			    const struct json_path *path, struct error *err);
	/*
	 * Sets a zeroed member to its value when missing: "", NaN, or the row's form of "unknown".
	 * NULL: zero is right (false, no elements, the first word of an enum).
	 */
	void (*absent)(const struct field *field, void *base);
	/*
	 * True if an optional member has its default and is left out. NULL: only empty arrays and
	 * NULL structs are.
	 */
	bool (*nothing)(const struct field *field, const void *base);
};

extern const struct codec codec_string;         /* char *, never NULL after reading */
extern const struct codec codec_string_or_none; /* char *, left out if "" or NULL; optional */
extern const struct codec codec_chars;          /* char[n]; longer text is truncated */
extern const struct codec codec_chars_or_none;  /* as codec_chars, left out if ""; optional */
extern const struct codec codec_real;           /* double */
extern const struct codec codec_real_or_none;   /* double, left out if NaN; optional */
extern const struct codec codec_count_or_none;  /* size_t, left out if 0; optional */
extern const struct codec codec_positive;       /* double, left out if 0; optional */
extern const struct codec codec_int;            /* int */
extern const struct codec codec_int_or_none;    /* int, left out if -1; optional */
extern const struct codec codec_int64;          /* int64_t */
extern const struct codec codec_unsigned;       /* unsigned */
extern const struct codec codec_uint64;         /* uint64_t, size_t */
extern const struct codec codec_bool;           /* bool */
extern const struct codec codec_mark;           /* bool, left out if false; optional */
extern const struct codec codec_tristate;       /* int: 1 true, 0 false, -1 null */
extern const struct codec codec_enum;           /* an enum, by `words` */
extern const struct codec
	codec_string_or_none; /* char * that is left out where it is "" or NULL; optional */
extern const struct codec codec_chars;         /* char[n]; longer text is cut */
extern const struct codec codec_chars_or_none; /* the same, left out where it is ""; optional */
extern const struct codec codec_real;          /* double */
extern const struct codec
	codec_real_or_none; /* double that is left out where it is NaN; optional */
extern const struct codec codec_count_or_none; /* size_t that is left out where it is 0; optional */
extern const struct codec codec_positive;      /* double that is left out where it is 0; optional */
extern const struct codec codec_int;           /* int */
extern const struct codec codec_int_or_none;   /* int that is left out where it is -1; optional */
extern const struct codec codec_int64;         /* int64_t */
extern const struct codec codec_unsigned;      /* unsigned */
extern const struct codec codec_uint64;        /* uint64_t, size_t */
extern const struct codec codec_bool;          /* bool */
extern const struct codec codec_mark;     /* bool that is left out where it is false; optional */
extern const struct codec codec_tristate; /* int: 1 true, 0 false, -1 null */
extern const struct codec codec_enum;     /* an enum, by `words` */
extern const struct codec
	codec_enum_or_none; /* an enum that is left out where it is the first word; optional */
extern const struct codec codec_flags; /* unsigned, as an array of `words` */
/* int64_t[n], of which the struct's count are written; optional */
extern const struct codec codec_counts;
extern const struct codec codec_bits; /* uint64_t or several, as an array of bit numbers */
/* a nested struct, or (offset 0) members of the same one, grouped */
extern const struct codec codec_object;
/* struct *, an object; NULL is left out; element_size: of the struct */
extern const struct codec codec_pointer;
extern const struct codec codec_array; /* struct *, an array of objects */
/* struct *, an object: key -> object of the remaining members */
extern const struct codec codec_map;
extern const struct codec
	codec_values; /* struct *, an object: key -> value of the only other member */
extern const struct codec codec_strings; /* char **, an array */
extern const struct codec codec_reals;   /* double *, an array */
/* Codecs for rows of tables. An optional member is left out if it is NULL or has no rows. */
extern const struct codec codec_word;  /* const char *, may be NULL */
extern const struct codec codec_names; /* const char *[n], NULL-terminated, an array */
extern const struct codec
	/* const struct *, an array of objects; in the last row the first member is NULL */
	codec_rows;

#define FIELD_AT(type, member) \
	.offset = offsetof(struct type, member), .size = sizeof(((struct type *)0)->member)
/* codec_rows */
#define FIELD_ROWS(type, member) \
	FIELD_AT(type, member), .element_size = sizeof(*((struct type *)0)->member)
/* codec_array, codec_map, codec_values, codec_strings, codec_reals */
#define FIELD_COUNTED(type, member, count)                                    \
	FIELD_AT(type, member), .count_offset = offsetof(struct type, count), \
				.element_size = sizeof(*((struct type *)0)->member)
#define FIELD_CAPACITY(type, capacity) .capacity_offset = offsetof(struct type, capacity)
#define FIELD_KEY(type, member) .key_offset = offsetof(struct type, member)

/* Writes `base` as an object. */
void fields_write(struct json_writer *w, const struct field *fields, const void *base);
enum status fields_read(const json_t *json, const struct field *fields, void *base,
			const struct json_path *path, struct error *err);

/* Sets all members of a zeroed struct as if they were optional and missing. */
void fields_absent(const struct field *fields, void *base);

/* Frees what codec_word, codec_names and codec_rows have allocated. */
void fields_release(const struct field *fields, void *base);

/* Appends a zeroed element to the array that `field` describes. */
void *field_append(const struct field *field, void *base);

/*
 * Parses `text` to a JSON tree (freed with json_decref). Repeated members, NUL and invalid UTF-8
 * are errors.
 */
enum status json_parse(const char *text, size_t length, json_t **out, struct error *err);

/*
 * json_quick.c: the same tree as jansson's parser, or NULL: jansson must parse the text and report
 * any error.
 */
json_t *json_parse_quick(const char *text, size_t length);

/*
 * As json_parse(), for a tree that json_release_brief() releases before the thread parses the next
 * one. For many trees in sequence.
 */
enum status json_parse_brief(const char *text, size_t length, json_t **out, struct error *err);
void json_release_brief(json_t *json);

/*
 * Reads a struct from text: json_parse() and fields_read(). `base` must be zeroed; the caller
 * releases it on failure.
 */
enum status fields_parse(const char *text, size_t length, const struct field *fields, void *base,
			 struct error *err);
/* Writes a struct as one line. */
char *fields_line(const struct field *fields, const void *base);

#endif
