/*
 * Documents whose arrays have very many elements: read one by one, so that no tree of the whole
 * document is ever in memory.
 */
#ifndef GPUPROOF_RESULT_JSON_JSON_WIDE_H
#define GPUPROOF_RESULT_JSON_JSON_WIDE_H

#include "result/json/json_fields.h"

struct wide_member {
	const char *name, *value; /* in the text */
	size_t name_length, length;
};

struct wide_document {
	struct wide_member *members;
	size_t count, capacity;
	json_t *narrow; /* members without a field that holds an array of objects */
};

/*
 * Tells that `text` is a file that this thread has mapped to be read: pages leave memory once they
 * are read, 64 MiB at a time, so that a document need not fit. NULL: it is not mapped any more.
 */
void wide_mapped(const char *text, size_t length);
/*
 * Finds the members of the object `text`, which must stay until wide_close(); `fields` say which
 * are arrays. Errors are those of json_parse(), but do not name a line.
 */
enum status wide_open(struct wide_document *document, const char *text, size_t length,
		      const struct field *fields, struct error *err);
/*
 * As fields_read(); `taken`, if not NULL, is called with each element of an array of the outermost
 * object as soon as it is read.
 */
enum status wide_read(const struct wide_document *document, const struct field *fields, void *base,
		      const struct json_path *path,
		      void (*taken)(const struct field *field, void *element), struct error *err);
void wide_close(struct wide_document *document);

#endif
