/*
 * Maps structs to JSON objects: one table row per member drives writing, reading, error messages
 * and releasing.
 *
 * Adding a member: add a row with `.optional = true` to the table of its struct (result_fields.c,
 * device_fields.c), for a string with `.publish`, and the same name in result.schema.json under
 * `properties` but not under `required`. Results of earlier versions lack it and
 * must stay readable: it then reads as unknown or empty (codec.absent). Tables end with { 0 } and
 * have up to 64 rows. Adding a type of member: add a const struct codec.
 *
 *	static const struct field fact_fields[] = {
 *		FIELD(fact, name, string),
 *		FIELD_NAMED("text", fact, value, string, .omitted = true),
 *		{ 0 }
 *	};
 *
 * Reading is strict: required members must be present, and each must have the right type. Members
 * without a row are ignored, because a newer version may have written them. null is allowed for
 * real numbers (NaN) and where the row defines how "unknown" is stored.
 */
#ifndef GPUPROOF_RESULT_JSON_JSON_FIELDS_H
#define GPUPROOF_RESULT_JSON_JSON_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "result/json/json_reader.h"
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
enum status json_fields_path_error(const struct json_path *path, struct error *err,
				   const char *format, ...) __attribute__((format(printf, 3, 4)));

/* How the struct stores an unknown number, which is null in JSON. */
enum unknown { UNKNOWN_NEVER, UNKNOWN_ZERO, UNKNOWN_NEGATIVE /* -1 */ };

/*
 * Treatment of a string of a result by --anonymise (anonymise.c). Use PUBLISH_KEEP only for text
 * that no user, administrator or other program wrote.
 */
enum publish {
	PUBLISH_UNDECIDED, /* becomes "" */
	PUBLISH_DROP,      /* becomes "" */
	PUBLISH_LEFT_OUT,  /* a sentence: replaced by ANONYMISE_LEFT_OUT */
	PUBLISH_KEEP,      /* text of the program, a data sheet or a driver; times */
	PUBLISH_NAME,      /* replaced by a pseudonym of `kind` */
	PUBLISH_PLAIN,     /* kept unless it looks like a path, an address or an id */
	PUBLISH_LABEL,     /* kept if a shipped config has this label or limit, by `kind` */
	PUBLISH_CASE,      /* id of a case; its label as PUBLISH_LABEL */
	PUBLISH_FILE,      /* a config, limits, or a place in them: kept if gpuproof ships it */
	PUBLISH_SECTION,   /* "suite transfer big" */
	PUBLISH_VALUE,     /* value of a setting, by its key */
	PUBLISH_INI,       /* keeps sections and settings, leaves out the rest */
	PUBLISH_FACT       /* value of a fact, by its name */
};

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
	bool optional; /* may be missing */
	bool omitted;  /* may be missing, and is not written if it has its default or is empty */
	bool late;     /* read after the other members of the object, which it completes */
	/* codec_enum: an unknown word, of a newer program, counts as the first one */
	bool lenient;
	bool shared; /* codec_string: many structs have the same text (base/memory.h) */
	/*
	 * codec_object: the whole object, codec_array: each element on one line, whatever its depth
	 */
	bool one_line;
	/* codec_map, codec_values: member of the element (char *) that is the key */
	size_t key_offset;
	enum publish publish;
	const char *kind; /* "uuid", of a pseudonym; "label", "limit" */
};

/* Functions of a codec; `base` is the struct that the field's offset refers to. */
struct codec {
	void (*write)(struct json_writer *w, const struct field *field, const void *base);
	enum status (*read)(struct json_reader *r, const struct field *field, void *base,
			    const struct json_path *path);
	/*
	 * Sets a zeroed member to its value when missing: "", NaN, or the row's form of "unknown".
	 * NULL: zero is right (false, no elements, the first word of an enum).
	 */
	void (*absent)(const struct field *field, void *base);
	/* True if the member has its default or is empty. Without it a row cannot be `omitted`. */
	bool (*nothing)(const struct field *field, const void *base);
	/* Frees what the member owns. NULL: nothing. */
	void (*release)(const struct field *field, void *base);
};

extern const struct codec codec_string;   /* char *, never NULL after reading */
extern const struct codec codec_chars;    /* char[n]; longer text is truncated */
extern const struct codec codec_real;     /* double */
extern const struct codec codec_int;      /* int */
extern const struct codec codec_int64;    /* int64_t */
extern const struct codec codec_unsigned; /* unsigned */
extern const struct codec codec_uint64;   /* uint64_t, size_t */
extern const struct codec codec_bool;     /* bool */
extern const struct codec codec_tristate; /* int: 1 true, 0 false, -1 null */
extern const struct codec codec_enum;     /* an enum, by `words` */
extern const struct codec codec_flags;    /* unsigned, as an array of `words` */
/* int64_t[n]; the first `count` of the struct are written */
extern const struct codec codec_counts;
extern const struct codec codec_bits; /* uint64_t or several, as an array of bit numbers */
/* a nested struct, or (offset 0) members of the same one, grouped */
extern const struct codec codec_object;
extern const struct codec codec_pointer; /* struct *, an object; element_size: of the struct */
extern const struct codec codec_array;   /* struct *, an array of objects */
/* struct *, an object: key -> object of the remaining members */
extern const struct codec codec_map;
/* struct *, an object: key -> value of the only other member */
extern const struct codec codec_values;
extern const struct codec codec_strings; /* char **, an array */
extern const struct codec codec_reals;   /* double *, an array */
/* Codecs for rows of constant tables, whose omitted members are NULL or false. */
extern const struct codec codec_word;  /* const char *, may be NULL */
extern const struct codec codec_names; /* const char *[n], NULL-terminated, an array */
/* const struct *, an array of objects; in the last row the first member is NULL */
extern const struct codec codec_rows;

#define FIELD_AT(type, member) \
	.offset = offsetof(struct type, member), .size = sizeof(((struct type *)0)->member)
/* codec_array, codec_map, codec_values, codec_strings, codec_reals */
#define FIELD_COUNTED(type, member, count)                                    \
	FIELD_AT(type, member), .count_offset = offsetof(struct type, count), \
				.element_size = sizeof(*((struct type *)0)->member)
#define FIELD_CAPACITY(type, capacity) .capacity_offset = offsetof(struct type, capacity)
#define FIELD_KEY(type, member) .key_offset = offsetof(struct type, member)
/* Whole rows; further members of struct field may follow. */
#define FIELD_NAMED(name_, type, member, kind, ...)                                          \
	{                                                                                    \
		.name = (name_), .codec = &codec_##kind, FIELD_AT(type, member), __VA_ARGS__ \
	}
#define FIELD(type, member, kind, ...)                                                       \
	{                                                                                    \
		.name = #member, .codec = &codec_##kind, FIELD_AT(type, member), __VA_ARGS__ \
	}
/* An array, map or list of values with its number of elements. */
#define FIELD_LIST(name_, type, member, count, kind, ...)                                    \
	{                                                                                    \
		.name = (name_), .codec = &codec_##kind, FIELD_COUNTED(type, member, count), \
		__VA_ARGS__                                                                  \
	}

/* Writes `base` as an object. */
void json_fields_write(struct json_writer *w, const struct field *fields, const void *base);
/* Reads an object; on failure, the caller releases what was read so far. */
enum status json_fields_read(struct json_reader *r, const struct field *fields, void *base,
			     const struct json_path *path);

/* Sets all members of a zeroed struct as if they were optional and missing. */
void json_fields_absent(const struct field *fields, void *base);

/* Frees what the members own, and leaves them as they are. */
void json_fields_release(const struct field *fields, void *base);

/* Frees the array of the row with that name, and leaves it empty. */
void json_fields_clear(const struct field *fields, const char *name, void *base);

/* Appends a zeroed element to the array that `field` describes. */
void *json_fields_append(const struct field *field, void *base);

/*
 * Reads a struct from text. `base` must be zeroed; the caller releases it on failure. `share`: as
 * in struct json_reader.
 */
enum status json_fields_parse(const char *text, size_t length, const struct field *fields,
			      void *base, struct error *err);
enum status json_fields_parse_shared(const char *text, size_t length, const struct field *fields,
				     void *base, bool share, struct error *err);
/* Writes a struct as one line. */
char *json_fields_line(const struct field *fields, const void *base);

#endif
