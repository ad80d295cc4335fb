#include "export/evidence.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/hash/sha256.h"
#include "base/units.h"
#include "result/verdict.h"

/* POSIX.1-1988 (ustar), which every tar reads. */
#define TAR_BLOCK 512
#define TAR_END (2 * TAR_BLOCK)

struct tar_header {
	char name[100], mode[8], uid[8], gid[8], size[12], time[12], checksum[8], type;
	char link[100], magic[6], version[2], user[32], group[32], major[8], minor[8];
	char prefix[155], padding[12];
};

_Static_assert(sizeof(struct tar_header) == TAR_BLOCK, "a header is one block");

void evidence_begin(struct evidence *e, const struct result *result)
{
	const char *ended = result->finished && *result->finished ? result->finished
			    : result->started                     ? result->started
								  : "";
	double seconds = clock_parse_iso8601(ended);
	struct text folder = TEXT_EMPTY;

	/* A hostile id must not escape from the folder in which it is unpacked. */
	text_add(&folder, "evidence-");
	for (const char *p = result->run_id ? result->run_id : ""; *p && folder.length < 60; p++)
		text_add_char(&folder, isalnum((unsigned char)*p) ? *p : '-');
	*e = (struct evidence){ .folder = text_detach(&folder) };
	e->seconds = isfinite(seconds) && seconds > 0 ? floor(seconds) : 0;
}

static void evidence_add_header(struct evidence *e, const char *name, size_t length)
{
	struct tar_header h;
	unsigned sum = 0;

	memset(&h, 0, sizeof(h));
	snprintf(h.name, sizeof(h.name), "%s/%s", e->folder, name);
	memcpy(h.mode, "0000644", 8);
	memcpy(h.uid, "0000000", 8);
	memcpy(h.gid, "0000000", 8);
	snprintf(h.size, sizeof(h.size), "%011llo", (unsigned long long)length);
	snprintf(h.time, sizeof(h.time), "%011llo", (unsigned long long)e->seconds);
	memset(h.checksum, ' ', sizeof(h.checksum));
	h.type = '0';
	memcpy(h.magic, "ustar", 6);
	memcpy(h.version, "00", 2);
	memcpy(h.user, "root", 5);
	memcpy(h.group, "root", 5);
	for (size_t i = 0; i < sizeof(h); i++)
		sum += ((const unsigned char *)&h)[i];
	snprintf(h.checksum, sizeof(h.checksum), "%06o", sum);
	text_add_bytes(&e->tar, (const char *)&h, sizeof(h));
}

static void evidence_pad(struct text *tar, size_t bytes)
{
	static const char zeros[TAR_END];

	text_add_bytes(tar, zeros, bytes);
}

static void evidence_add_file(struct evidence *e, const char *name, const char *data, size_t length)
{
	evidence_add_header(e, name, length);
	text_add_bytes(&e->tar, length ? data : "", length);
	evidence_pad(&e->tar, (TAR_BLOCK - length % TAR_BLOCK) % TAR_BLOCK);
}

void evidence_add(struct evidence *e, const char *name, const char *data, size_t length)
{
	char digest[SHA256_DIGITS + 1];
	struct sha256 hash;

	sha256_begin(&hash);
	sha256_add(&hash, length ? data : "", length);
	sha256_end(&hash, digest);
	text_addf(&e->sums, "%s  %s\n", digest, name);
	evidence_add_file(e, name, data, length);
}

/* gzip without file name and time, for reproducible output. */
static enum status evidence_compress(const struct text *tar, struct text *out, struct error *err)
{
	z_stream z = { .next_in = (Bytef *)tar->data, .avail_in = (uInt)tar->length };
	uLong most;
	Bytef *packed;

	if (tar->length > UINT32_MAX)
		return error_set(err, STATUS_UNSUPPORTED, "the files are larger than 4 GiB");
	if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return error_set(err, STATUS_NO_MEMORY, "zlib cannot be started");
	most = deflateBound(&z, (uLong)tar->length);
	packed = xmalloc(most);
	z.next_out = packed;
	z.avail_out = (uInt)most;
	if (deflate(&z, Z_FINISH) == Z_STREAM_END)
		text_add_bytes(out, (const char *)packed, z.total_out);
	else
		error_set(err, STATUS_INTERNAL, "zlib cannot compress the files");
	deflateEnd(&z);
	free(packed);
	return err->status;
}

enum status evidence_pack(struct evidence *e, struct text *out, struct error *err)
{
	evidence_add_file(e, "SHA256SUMS", e->sums.data, e->sums.length);
	evidence_pad(&e->tar, TAR_END);
	return evidence_compress(&e->tar, out, err);
}

void evidence_release(struct evidence *e)
{
	free(e->folder);
	text_release(&e->tar);
	text_release(&e->sums);
}

static void evidence_add_fact(struct text *out, const char *name, const char *value)
{
	if (value && *value)
		text_addf(out, "  %-14s %s\n", name, value);
}

static void evidence_add_device(const struct device_info *d, struct text *out)
{
	char text[96];

	text_addf(out, "\n%s: %s\n", d->id, d->name);
	evidence_add_fact(out, "serial", d->serial);
	evidence_add_fact(out, "UUID", d->uuid);
	evidence_add_fact(out, "PCI address", d->pci);
	evidence_add_fact(out, "VBIOS", d->vbios);
	if (d->memory_bytes)
		evidence_add_fact(out, "memory",
				  units_format((double)d->memory_bytes, "B", text, sizeof(text)));
	if (d->pcie_generation) {
		snprintf(text, sizeof(text), "generation %d x%d of generation %d x%d",
			 d->pcie_generation, d->pcie_width, d->pcie_generation_max,
			 d->pcie_width_max);
		evidence_add_fact(out, "PCIe", text);
	}
	if (d->nvlink_count) {
		snprintf(text, sizeof(text), "%d active", d->nvlink_count);
		evidence_add_fact(out, "NVLink links", text);
	}
	evidence_add_fact(out, "ECC", d->ecc > 0 ? "on" : d->ecc == 0 ? "off" : "unknown");
}

void evidence_add_summary(const struct result *result, struct text *out)
{
	const struct verdicts *v = result->judgement;

	text_addf(out, "Run %s, %s to %s UTC\n", result->run_id, result->started,
		  result->finished ? result->finished : "");
	for (size_t i = 0; i < result->environment_count; i++)
		evidence_add_fact(out, result->environment[i].name, result->environment[i].value);
	for (size_t i = 0; i < result->device_count; i++)
		evidence_add_device(&result->devices[i], out);
	if (!v)
		return;
	text_addf(out, "\n%s\nLimits: %s\n", v->sentence, v->limits);
	for (size_t i = 0; i < v->reason_count; i++)
		text_addf(out, "\n%s\n%s\n", v->reasons[i].text, v->reasons[i].remedy);
}
