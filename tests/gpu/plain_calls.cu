/*
 * The calls of suites alloc and launch in plain CUDA, as a program has them, to compare with
 * gpuproof's figures of the same visit (ci/plain-calls). Prints a line per figure: case id, metric,
 * median seconds of a call. Nothing of gpuproof is linked.
 */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include <cuda_runtime.h>

#define SAMPLES 200
#define IN_A_ROW 100
#define MIB ((size_t)1 << 20)

static void check(cudaError_t code, const char *call)
{
	if (code == cudaSuccess)
		return;
	fprintf(stderr, "plain_calls: %s: %s\n", call, cudaGetErrorString(code));
	exit(1);
}
#define CHECK(call) check(call, #call)

static double now()
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Median of what `sample` returns, the seconds of one operation. */
template <typename Sample> static void report(const char *name, int samples, Sample sample)
{
	std::vector<double> seconds;

	for (int i = 0; i < samples / 10 + 2; i++)
		sample();
	for (int i = 0; i < samples; i++)
		seconds.push_back(sample());
	std::sort(seconds.begin(), seconds.end());
	printf("%s %.6g\n", name, seconds[seconds.size() / 2]);
	fflush(stdout);
}

static __global__ void nothing()
{
}

/* Writes and reads both ends, as gpuproof does between two timed calls. */
static void use(char *memory, size_t bytes, cudaStream_t stream)
{
	uint64_t sent = 42, got = 0;
	char *ends[2] = { memory, memory + bytes - sizeof(sent) };

	for (char *at : ends) {
		CHECK(cudaMemcpyAsync(at, &sent, sizeof(sent), cudaMemcpyDefault, stream));
		CHECK(cudaMemcpyAsync(&got, at, sizeof(got), cudaMemcpyDefault, stream));
		CHECK(cudaStreamSynchronize(stream));
	}
}

static void device_memory(cudaStream_t stream, const char *size, size_t bytes, int samples)
{
	char alloc[80], release[80];
	void *memory;

	snprintf(alloc, sizeof(alloc), "alloc/device/alloc/reused/%s alloc.latency", size);
	snprintf(release, sizeof(release), "alloc/device/free/%s alloc.latency", size);
	report(alloc, samples, [&] {
		double began = now(), seconds;

		CHECK(cudaMalloc(&memory, bytes));
		seconds = now() - began;
		use((char *)memory, bytes, stream);
		CHECK(cudaFree(memory));
		return seconds;
	});
	report(release, samples, [&] {
		double began;

		CHECK(cudaMalloc(&memory, bytes));
		use((char *)memory, bytes, stream);
		began = now();
		CHECK(cudaFree(memory));
		return now() - began;
	});
}

/* One call after other work, and pairs in a row. */
static void pool_memory(cudaStream_t stream, const char *size, size_t bytes)
{
	char single[80], row[80];
	void *memory;

	snprintf(single, sizeof(single), "alloc/pool/alloc/reused/%s alloc.latency", size);
	snprintf(row, sizeof(row), "alloc/pool/alloc/reused/%s alloc.row", size);
	report(single, SAMPLES, [&] {
		double began = now(), seconds;

		CHECK(cudaMallocAsync(&memory, bytes, stream));
		seconds = now() - began;
		use((char *)memory, bytes, stream);
		CHECK(cudaFreeAsync(memory, stream));
		CHECK(cudaStreamSynchronize(stream));
		return seconds;
	});
	report(row, SAMPLES, [&] {
		double began = now(), seconds;

		for (int i = 0; i < IN_A_ROW; i++) {
			CHECK(cudaMallocAsync(&memory, bytes, stream));
			CHECK(cudaFreeAsync(memory, stream));
		}
		seconds = now() - began;
		CHECK(cudaStreamSynchronize(stream));
		return seconds / IN_A_ROW;
	});
}

static void pinned_memory(size_t bytes)
{
	void *memory;

	report("alloc/pinned/alloc/cold/16MiB alloc.latency", 20, [&] {
		double began = now(), seconds;

		CHECK(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable));
		seconds = now() - began;
		CHECK(cudaFreeHost(memory));
		return seconds;
	});
}

static void graph(cudaStream_t stream, const char *name, int nodes)
{
	cudaGraph_t recorded;
	cudaGraphExec_t ready;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < nodes; i++)
		nothing<<<1, 1, 0, stream>>>();
	CHECK(cudaStreamEndCapture(stream, &recorded));
	CHECK(cudaGraphInstantiate(&ready, recorded, 0));
	report(name, SAMPLES, [&] {
		double began = now();

		CHECK(cudaGraphLaunch(ready, stream));
		CHECK(cudaStreamSynchronize(stream));
		return now() - began;
	});
	CHECK(cudaGraphExecDestroy(ready));
	CHECK(cudaGraphDestroy(recorded));
}

/* Kernels of every graph take longer from then on: as in suite launch. */
static void use_second_stream(cudaStream_t first)
{
	cudaStream_t second;

	CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
	for (int i = 0; i < 100; i++) {
		nothing<<<1, 1, 0, first>>>();
		nothing<<<1, 1, 0, second>>>();
	}
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaStreamDestroy(second));
}

static void launches(cudaStream_t stream)
{
	report("launch/latency launch.time", SAMPLES, [&] {
		double began = now();

		nothing<<<1, 1, 0, stream>>>();
		CHECK(cudaStreamSynchronize(stream));
		return now() - began;
	});
	report("launch/enqueue launch.time", SAMPLES, [&] {
		double began = now(), seconds;

		for (int i = 0; i < IN_A_ROW; i++)
			nothing<<<1, 1, 0, stream>>>();
		seconds = now() - began;
		CHECK(cudaStreamSynchronize(stream));
		return seconds / IN_A_ROW;
	});
	use_second_stream(stream);
	graph(stream, "launch/graph/16 launch.time", 16);
	graph(stream, "launch/graph/256 launch.time", 256);
}

int main()
{
	uint64_t keep = UINT64_MAX;
	cudaMemPool_t pool;
	cudaStream_t stream;

	CHECK(cudaSetDevice(0));
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
	CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
	device_memory(stream, "4KiB", 4096, SAMPLES);
	device_memory(stream, "1MiB", MIB, SAMPLES);
	device_memory(stream, "16MiB", 16 * MIB, SAMPLES);
	device_memory(stream, "256MiB", 256 * MIB, 100);
	pool_memory(stream, "4KiB", 4096);
	pool_memory(stream, "64MiB", 64 * MIB);
	pinned_memory(16 * MIB);
	launches(stream);
	return 0;
}
