/*
 * Streaming JSON reader for documents with long arrays: parses one element at a time and never
 * builds the whole tree.
 */
#ifndef GPUPROOF_RESULT_JSON_JSON_WIDE_H
#define GPUPROOF_RESULT_JSON_JSON_WIDE_H

#include "result/json/json_fields.h"

struct wide_member {
	const char *name, *value; /* position in the text */
	size_t name_length, length;
};

struct wide_document {
	struct wide_member *members;
	size_t count, capacity;
	json_t *narrow; /* members that are not long arrays of objects, as a tree */
};

/*
 * Declares that `text` is a file mapped by this thread: pages are released once they are read, 64
 * MiB at a time, so that the document may exceed the memory. NULL: no longer mapped.
 */
void wide_mapped(const char *text, size_t length);
/*
 * Finds the members of the object `text`, which must stay valid until wide_close(); `fields` marks
 * the arrays. Errors as in json_parse(), without line numbers.
 */
enum status wide_open(struct wide_document *document, const char *text, size_t length,
		      const struct field *fields, struct error *err);
/*
 * As fields_read(). Calls `taken`, if not NULL, for each element of an array of the outermost
 * object as soon as it is read.
 */
enum status wide_read(const struct wide_document *document, const struct field *fields, void *base,
		      const struct json_path *path,
		      void (*taken)(const struct field *field, void *element), struct error *err);
void wide_close(struct wide_document *document);

#endif
