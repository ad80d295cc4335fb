/*
 * Files embedded in the program (cmake/embed.cmake). Each table ends with a NULL name; a zero byte
 * that `size` does not count follows `data`.
 *
 * Adding a config: add configs/<name>.ini; its first comment is its line in `gpuproof list
 * configs`.
 */
#ifndef GPUPROOF_BASE_EMBEDDED_H
#define GPUPROOF_BASE_EMBEDDED_H

#include <stddef.h>
#include <string.h>

struct embedded_file {
	const char *name; /* file name without its folder: "quick.ini" */
	const unsigned char *data;
	size_t size;
};

extern const struct embedded_file embedded_configs[];    /* configs / *.ini */
extern const struct embedded_file embedded_limits[];     /* configs/limits / *.ini */
extern const struct embedded_file embedded_claims[];     /* configs/claims / *.ini */
extern const struct embedded_file embedded_gpus[];       /* configs/gpus / *.ini */
extern const struct embedded_file embedded_population[]; /* configs/population / *.ini */
extern const struct embedded_file embedded_templates[];  /* report-templates and its folders */
/* report-templates/report.js, and report.js.sha256: its hash in base64 */
extern const struct embedded_file embedded_script[];
extern const struct embedded_file embedded_topics[]; /* docs/topics / *.txt */

/* The file `name` of `table`; NULL: none. */
static inline const struct embedded_file *embedded_find(const struct embedded_file *table,
							const char *name)
{
	while (table->name && strcmp(table->name, name) != 0)
		table++;
	return table->name ? table : NULL;
}

#endif
