/*
 * Evidence bundle for a supplier: the files that show what was measured and found, in one tar.gz
 * with their SHA-256 sums. Reproducible: equal files give equal bytes.
 */
#ifndef GPUPROOF_EXPORT_EVIDENCE_H
#define GPUPROOF_EXPORT_EVIDENCE_H

#include "base/text.h"
#include "result/result.h"

struct evidence {
	char *folder;    /* folder of all files in the archive: "evidence-" and the run's id */
	double seconds;  /* modification time of all files: end of the run, since 1970 */
	struct text tar; /* so far */
	struct text sums;
};

void evidence_begin(struct evidence *evidence, const struct result *result);
/* `name` has at most 32 characters; `data` may be NULL if `length` is 0. */
void evidence_add(struct evidence *evidence, const char *name, const char *data, size_t length);
/* Adds SHA256SUMS and appends the compressed archive to `out`. */
enum status evidence_pack(struct evidence *evidence, struct text *out, struct error *err);
void evidence_release(struct evidence *evidence);

/* Appends devices, verdict and remedies of the result as text. */
void evidence_add_summary(const struct result *result, struct text *out);

#endif
