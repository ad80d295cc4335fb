#include "import/import.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/input.h"
#include "base/memory.h"
#include "import/reading.h"
#include "result/host/build.h"
#include "result/result_check.h"

/* Detects which tool wrote a file, from marks that only its output contains. */

/* Search this many bytes for marks first, and the rest only if they contain none. */
#define FIRST_PART ((size_t)4 << 20)
/* Longest prefix of a launcher. */
#define MOST_PREFIX 160

/*
 * Known tools that import does not read, and what to do instead. The first match is reported, so
 * tools whose marks also occur in other outputs come last.
 */
static const struct known_tool {
	const char *mark, *tool, *advice;
} known_tools[] = {
	{ "\"machine_info\"", "pytest-benchmark",
	  "it measures Python programs, and gpuproof measures GPUs" },
	{ "Mb/s/iteration", "CUDA's bandwidthTest",
	  "CUDA has replaced it: run nvbandwidth -j instead" },
	{ "[CUDA Bandwidth Test]", "CUDA's bandwidthTest",
	  "CUDA has replaced it: run nvbandwidth -j instead" },
	{ "RocmBandwidthTest", "rocm_bandwidth_test", "gpuproof supports only NVIDIA GPUs" },
	{ "HPLinpack", "HPL", "run gpuproof's suites matmul and burn instead" },
	{ "HPL-NVIDIA", "NVIDIA's HPL", "run gpuproof's suites matmul and burn instead" },
	{ "STREAM version", "STREAM", "run BabelStream with --csv instead" },
	{ "STREAM_BW_", "SuperBench's gpu-stream", "run BabelStream with --csv instead" },
	{ "\"nvbench_version\"", "nvbench", "gpuproof has no equivalent metric" },
	{ "\"nvbench\"", "nvbench", "gpuproof has no equivalent metric" },
	{ "kernel-launch/", "SuperBench's summary",
	  "import the raw logs of its benchmarks, in outputs/*/nodes" },
	{ "nccl-bw", "SuperBench's summary",
	  "import the raw logs of its benchmarks, in outputs/*/nodes" },
	{ "gemm-flops", "SuperBench's summary",
	  "import the raw logs of its benchmarks, in outputs/*/nodes" },
	{ "GPCNet", "GPCNeT", "run gpuproof's suite congestion instead" },
	{ "RDMA_Write BW Test", "perftest (ib_write_bw)", "run gpuproof's suite pairs instead" },
	{ "RDMA_Write", "perftest", "run gpuproof's suite pairs instead" },
	{ "#bytes     #iterations", "perftest", "run gpuproof's suite pairs instead" },
	{ "fio-", "fio", "gpuproof does not measure disks" },
	{ "TensorRT.trtexec", "trtexec", "gpuproof has no equivalent metric" },
	{ "\"mean\",\"stddev\"", "hyperfine", "it measures programs, and gpuproof measures GPUs" },
	{ "\"primaryMetric\"", "JMH", "it measures Java programs, and gpuproof measures GPUs" },
	{ "\"hyperfine\"", "hyperfine", "it measures programs, and gpuproof measures GPUs" },
	{ "\"point_estimate\"", "Criterion",
	  "it measures Rust programs, and gpuproof measures GPUs" },
	{ "\"BenchmarkDotNetCaption\"", "BenchmarkDotNet",
	  "it measures .NET programs, and gpuproof measures GPUs" },
	{ "Dense Matrix Multiplication,M,N,K", "DeepBench",
	  "run gpuproof's suites matmul and convolution instead" },
	{ "| NVIDIA-SMI", "nvidia-smi",
	  "run it with --query-gpu=index,name,uuid,temperature.gpu --format=csv" },
	{ "# gpu ", "nvidia-smi dmon",
	  "run nvidia-smi with --query-gpu=timestamp,index,power.draw --format=csv -l 1" },
	{ "\"type\":\"detected_gpus\"", "gpu-fryer in JSON", "run it without --json" },
	{ "CPU Affinity", "nvidia-smi topo", "gpuproof doctor shows the topology" },
	{ "<nvidia_smi_log>", "nvidia-smi",
	  "run it with --query-gpu=index,name,uuid,temperature.gpu --format=csv" },
	{ "DCGM_FI_", "dcgm-exporter", "run dcgmi diag -j instead" },
	{ "Successfully ran diagnostic for group", "dcgmi diag", "run it with -j" },
	{ "| Diagnostic ", "dcgmi diag", "run it with -j" },
	{ "name,iterations,real_time", "Google Benchmark",
	  "run the program with --benchmark_format=json" },
	{ "CPU   Iterations", "Google Benchmark", "run the program with --benchmark_format=json" },
	{ "blockSize   threads", "gpu-benches", "run BabelStream with --csv instead" },
	{ "gpuproof-result", "gpuproof", "gpuproof report and compare read this file directly" },
	{ "NCCL INFO", "NCCL (its log)", "import the output of nccl-tests instead" },
	{ "mpirun", "a launcher", "the file contains no output of a benchmark" },
	{ "srun: ", "a launcher", "the file contains no output of a benchmark" },
};

/* The first valid occurrence of `mark` in the text, or NULL. */
static const char *import_find_mark(const char *text, size_t length, const char *mark)
{
	bool anywhere = *mark == '"' || *mark == '~';
	size_t size = strlen(mark += *mark == '~');
	const char *end = text + length, *found = text;

	while ((found = memmem(found, (size_t)(end - found), mark, size))) {
		const char *start = found;

		while (start > text && start[-1] != '\n' && found - start < MOST_PREFIX)
			start--;
		if (anywhere || start == text || start[-1] == '\n')
			return found;
		found++;
	}
	return NULL;
}

/* The only format with a mark in the first bytes. Sets *over if the search can stop. */
static const struct import_format *import_search_marks(struct import *import, size_t length,
						       bool *over)
{
	const struct import_format *found[2] = { NULL, NULL };
	const char *place[2] = { NULL, NULL };
	bool second;

	for (size_t i = 0; import_formats[i] && !found[1]; i++) {
		const char *first = NULL, *mark;

		for (size_t k = 0; import_formats[i]->marks[k]; k++) {
			mark = import_find_mark(import->text, length, import_formats[i]->marks[k]);
			if (mark && (!first || mark < first))
				first = mark;
		}
		if (first) {
			place[found[0] != NULL] = first;
			found[found[0] != NULL] = import_formats[i];
		}
	}
	*over = found[0] != NULL;
	if (!found[1])
		return found[0];
	/* Two tools in one file: the user must select one. */
	second = place[1] < place[0];
	building_error_at(import, 1 + import_lines_between(import->text, place[second]),
			  "the file contains output of %s, and from line %zu output of %s; name "
			  "the "
			  "format to import",
			  found[second]->name,
			  1 + import_lines_between(import->text, place[!second]),
			  found[!second]->name);
	return NULL;
}

static void import_recognise_refuse_unknown(struct import *import)
{
	char names[512] = "";
	size_t length = 0;

	for (size_t i = 0; i < ARRAY_SIZE(known_tools); i++) {
		const struct known_tool *t = &known_tools[i];
		const char *mark = memmem(import->text, import->length, t->mark, strlen(t->mark));

		if (mark) {
			building_error_at(import, 1 + import_lines_between(import->text, mark),
					  "import does not read the output of %s; %s", t->tool,
					  t->advice);
			return;
		}
	}
	for (size_t i = 0; import_formats[i] && length < sizeof(names); i++)
		length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
					   i ? ", " : "", import_formats[i]->name);
	building_error(import, "unknown format; import reads %s", names);
}

/* The format of the text. NULL: the error is reported, with advice for known tools. */
static const struct import_format *import_recognise(struct import *import)
{
	const struct import_format *found;
	bool over;

	found = import_search_marks(import,
				    import->length < FIRST_PART ? import->length : FIRST_PART,
				    &over);
	if (!over && import->length > FIRST_PART)
		found = import_search_marks(import, import->length, &over);
	if (!over)
		import_recognise_refuse_unknown(import);
	return found;
}

/* Decodes input files: gzip, zstd, byte order mark, Latin-1. */

#define BLOCK ((size_t)1 << 18)

/* Room for one more block in `out`; NULL, reported: it is as long as a file may be. */
static char *import_next_block(struct import *import, struct text *out)
{
	if (out->length > IMPORT_MOST_BYTES) {
		building_error(import, "is larger than %zu MiB when decompressed",
			       IMPORT_MOST_BYTES >> 20);
		return NULL;
	}
	if (out->capacity - out->length < BLOCK) {
		out->capacity = out->capacity ? 2 * out->capacity : 2 * BLOCK;
		out->data = xrealloc(out->data, out->capacity, 1);
	}
	return out->data + out->length;
}

/* Expands all members of a gzip file. */
static void import_expand_gzip(struct import *import, struct text *out)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)import->text,
		       .avail_in = (uInt)import->length };
	int code = inflateInit2(&z, 15 + 16);

	while (code == Z_OK && z.avail_in) {
		z.next_out = (Bytef *)import_next_block(import, out);
		if (!z.next_out)
			break;
		z.avail_out = (uInt)BLOCK;
		code = inflate(&z, Z_NO_FLUSH);
		out->length += BLOCK - z.avail_out;
		if (code == Z_STREAM_END && z.avail_in)
			code = inflateReset(&z);
	}
	inflateEnd(&z);
	if (code != Z_STREAM_END)
		building_error(import, "is a damaged or truncated gzip file");
}

/* Expands all frames of a zstd file. */
static void import_expand_zstd(struct import *import, struct text *out)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	ZSTD_inBuffer in = { import->text, import->length, 0 };
	size_t left = 1;

	while (!building_stopped(import) && (in.pos < in.size || left)) {
		ZSTD_outBuffer block = { import_next_block(import, out), BLOCK, 0 };
		size_t before = in.pos;

		if (!block.dst)
			break;
		left = ZSTD_decompressStream(stream, &block, &in);
		out->length += block.pos;
		if (ZSTD_isError(left) || (!block.pos && in.pos == before))
			building_error(import, "is a damaged or truncated zstd file");
	}
	ZSTD_freeDStream(stream);
}

/* Logs are long and almost always ASCII: test eight bytes at a time. */
static bool import_is_ascii(const char *text, size_t length)
{
	uint64_t seen = 0, eight;
	size_t i = 0;

	for (; i + sizeof(eight) <= length; i += sizeof(eight)) {
		memcpy(&eight, text + i, sizeof(eight));
		seen |= eight;
	}
	for (; i < length; i++)
		seen |= (unsigned char)text[i];
	return !(seen & UINT64_C(0x8080808080808080));
}

/* Converts Latin-1 to UTF-8. */
static void import_encode_latin_1(const struct import *import, struct text *out)
{
	const unsigned char *in = (const unsigned char *)import->text;
	char *to;

	out->capacity = 2 * import->length + 1;
	out->data = to = xmalloc(out->capacity);
	for (size_t i = 0; i < import->length; i++) {
		if (in[i] >= 0x80) {
			*to++ = (char)(0xc0 | in[i] >> 6);
			*to++ = (char)(0x80 | (in[i] & 0x3f));
		} else {
			*to++ = (char)in[i];
		}
	}
	out->length = (size_t)(to - out->data);
}

static bool import_begins_with(const struct import *import, const char *bytes, size_t count)
{
	return import->length >= count && memcmp(import->text, bytes, count) == 0;
}

/* Replaces the text by `next`. */
static void import_replace_text(struct import *import, struct text *out, struct text *next)
{
	text_release(out);
	*out = *next;
	import->text = out->data ? out->data : "";
	import->length = out->length;
}

/*
 * Converts a file (gzip, zstd, byte order mark, Latin-1) to UTF-8. `out` receives the converted
 * text, or stays empty if `text` needs no conversion.
 */
static void import_decode(struct import *import, struct text *out)
{
	/* Expand at most two levels of compression. */
	for (int depth = 0; depth < 2 && !building_stopped(import); depth++) {
		struct text expanded = TEXT_EMPTY;

		if (import_begins_with(import, "\x1f\x8b", 2))
			import_expand_gzip(import, &expanded);
		else if (import_begins_with(import, "\x28\xb5\x2f\xfd", 4))
			import_expand_zstd(import, &expanded);
		else
			break;
		import_replace_text(import, out, &expanded);
	}
	if (import_begins_with(import, "\xff\xfe", 2) || import_begins_with(import, "\xfe\xff", 2))
		building_error(import, "the file is UTF-16; convert it: iconv -f UTF-16 -t UTF-8");
	if (import_begins_with(import, "\xef\xbb\xbf", 3)) {
		import->text += 3;
		import->length -= 3;
	}
	if (memchr(import->text, '\0', import->length))
		building_error(import, "not a text file");
	if (!import_is_ascii(import->text, import->length) &&
	    !text_is_utf8(import->text, import->length)) {
		struct text utf8 = TEXT_EMPTY;

		import_encode_latin_1(import, &utf8);
		import_replace_text(import, out, &utf8);
	}
}

#define IMPORT(name) extern const struct import_format import_##name;
#include "import/import.def"
#undef IMPORT

const struct import_format *const import_formats[] = {
#define IMPORT(name) &import_##name,
#include "import/import.def"
#undef IMPORT
	NULL
};

static const struct import_format *import_format_named(const char *name, struct error *err)
{
	const char *names[32] = { NULL };
	char *instead;

	for (size_t i = 0; import_formats[i]; i++) {
		if (strcmp(import_formats[i]->name, name) == 0)
			return import_formats[i];
		names[i] = import_formats[i]->name;
	}
	instead = text_instead(name, names);
	error_set(err, STATUS_USAGE, "unknown format '%.60s'%s", name, instead);
	free(instead);
	return NULL;
}

static void import_start_result(struct result *result)
{
	*result = (struct result){ .version = RESULT_VERSION,
				   .gpuproof_version = xstrdup(build_version()),
				   .run_id = xstrdup(""),
				   .label = xstrdup(""),
				   .started = xstrdup(""),
				   .finished = xstrdup(""),
				   .state = xstrdup("complete"),
				   .command = xstrdup(""),
				   .config_name = xstrdup("imported"),
				   .config_text = xstrdup("") };
}

static void import_read_format(struct import *import)
{
	const struct import_format *f = import->format;

	import->state = xcalloc(1, f->state_bytes + 1);
	if (f->read_json &&
	    (!f->rules || !import->length || memchr(import->text, '{', import->length))) {
		import_json(import);
	} else {
		import_lines(import, f->rules);
		if (f->tool && !result_fact(import->result, IMPORT_PROVENANCE))
			building_tool(import, "%s", f->tool);
		if (f->finish && !building_stopped(import))
			f->finish(import);
	}
	import->line = 0;
	if (f->release)
		f->release(import->state);
	free(import->state);
}

static void import_read_text(struct import *import)
{
	struct text decoded = TEXT_EMPTY;
	struct error own = ERROR_NONE;

	import_decode(import, &decoded);
	if (!building_stopped(import) && !import->format)
		import->format = import_recognise(import);
	if (!building_stopped(import))
		import_read_format(import);
	if (!building_stopped(import) && !import->result->case_count) {
		struct text names = TEXT_EMPTY;
		const char *name;
		json_t *value;

		json_object_foreach(import->left_out, name, value)
			text_addf(&names, "%s%s", names.length ? ", " : "; left out: ", name);
		building_error(import, "the file has no values of the format %s%.300s%s%.200s",
			       import->format->name, names.data ? names.data : "",
			       import->failure ? "; a program failed: " : "",
			       import->failure ? import->failure : "");
		text_release(&names);
	}
	if (!building_stopped(import)) {
		building_finish(import);
		if (result_check(import->result, &own) != STATUS_OK)
			error_set(import->err, STATUS_USAGE,
				  "%s: its content is not a valid result: %s", import->file,
				  own.message);
	}
	text_release(&decoded);
}

enum status import_text(struct result *result, const char *format, const char *file,
			const char *text, size_t length, const struct import_options *options,
			struct error *err)
{
	struct import *import = xcalloc(1, sizeof(*import));

	memset(result, 0, sizeof(*result));
	*import = (struct import){ .result = result,
				   .err = err,
				   .options = options,
				   .format = format ? import_format_named(format, err) : NULL,
				   .file = file,
				   .text = text,
				   .length = length,
				   .ids = json_object(),
				   .device_keys = json_object(),
				   .left_out = json_object() };
	import_start_result(result);
	if (options->started) {
		building_started(import, options->started);
		if (!*result->started)
			error_set(err, STATUS_USAGE,
				  "--started: '%.60s' is not a time; write 2026-11-20T12:00:00Z",
				  options->started);
	}
	free(result->run_id);
	/* The same file always gets the same id. */
	result->run_id =
		xasprintf("%016llx", (unsigned long long)text_hash(TEXT_HASH_START, text, length));
	free(result->label);
	result->label = text_harmless(strrchr(file, '/') ? strrchr(file, '/') + 1 : file);
	if (!building_stopped(import))
		import_read_text(import);
	building_end(import);
	free(import);
	if (err->status != STATUS_OK)
		result_release(result);
	return err->status;
}

enum status import_file(struct result *result, const char *format, const char *path,
			const struct import_options *options, struct error *err)
{
	bool standard = strcmp(path, "-") == 0;
	const char *name = standard ? "standard input" : path;
	struct text text = TEXT_EMPTY;
	enum status status;

	memset(result, 0, sizeof(*result));
	if (format && !import_format_named(format, err))
		return err->status;
	status = standard ? input_read(0, "text", IMPORT_MOST_BYTES, &text, err)
			  : input_read_file(path, format ? format : "text", IMPORT_MOST_BYTES,
					    &text, err);
	if (status == STATUS_OK)
		status = import_text(result, format, name, text.data ? text.data : "", text.length,
				     options, err);
	text_release(&text);
	return status;
}
