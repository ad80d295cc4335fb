/*
 * The only interface to a device. A backend is a const table of functions; suites see nothing else,
 * so each suite is written once and runs on every backend.
 *
 * A function pointer may be NULL if a backend does not support it. The inline wrappers,
 * backend_<operation>(), then return STATUS_UNSUPPORTED with the operation's name, and the case is
 * SKIPPED with that reason. Suites call the wrappers, never the table.
 *
 * Adding an operation: add a row to device/backend.def, which documents each operation, and
 * implement it in device/host and device/cuda. Adding a kernel: see kernels/kernel.h. Adding a
 * backend: define a const struct backend: built-in ones are listed in device/registry.c, loadable
 * ones export `const struct backend gpuproof_backend` from a shared object in the backends folder.
 *
 * Threads: one process drives a device from one thread. Backends may have their own threads. Other
 * threads may call memory_alloc, memory_free, copy and stream_synchronize while the driving thread
 * waits for them, after it has made one allocation of the same kind itself.
 */
#ifndef GPUPROOF_DEVICE_BACKEND_H
#define GPUPROOF_DEVICE_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "device/device_info.h"
#include "device/finding.h"
#include "device/ranks/transport.h"
#include "device/telemetry.h"

/* Increment it with every change of this header or of backend.def that affects a loaded module. */
#define BACKEND_ABI 30

/* First members of every backend's device, stream, event, communicator and graph. */
struct device {
	const struct backend *backend;
	struct device_info info;
};
struct stream {
	struct device *device;
};
struct event {
	struct device *device;
};
struct communicator_operations;
struct autotune_rules; /* device/autotune.h */
struct relay;          /* device/ranks/relay.h */
struct communicator {
	struct device *device;
	int rank, size;
	enum transport transport;                         /* AUTO: the backend does not report it */
	const struct communicator_operations *operations; /* of a relay; NULL: the backend's own */
	struct relay *relay;
	/*
	 * The ranks no longer act together: not all have opened it, or have enqueued their part of
	 * an operation. Closing it ends waits in this rank's streams, with any result, and does not
	 * wait for the others.
	 */
	bool abandoned;
};
struct graph {
	struct device *device;
};
struct memory_range {
	struct device *device;
	char *start;
	size_t bytes, mapped; /* reserved bytes; bytes backed by memory */
};

/* Sources of memory. ALLOCATORS(X): X(enum, name in INI and reports, on device?, description) */
#define ALLOCATORS(X)                                                                              \
	X(DEVICE, "device", 1, "device memory (cudaMalloc; host: aligned pages)")                  \
	X(POOL, "pool", 1, "stream-ordered pool that keeps freed memory (cudaMallocAsync)")        \
	X(POOL_RELEASE, "pool_release", 1, "stream-ordered pool with a release threshold of 0")    \
	X(VMM, "vmm", 1,                                                                           \
	  "address range reserved first, then backed with memory (cuMemMap; host: mmap, "          \
	  "mprotect)")                                                                             \
	X(MANAGED, "managed", 1, "managed memory, at most as much as is free (cudaMallocManaged)") \
	X(PINNED, "pinned", 0, "page-locked host memory (cudaMallocHost)")                         \
	X(WRITE_COMBINED, "write_combined", 0, "page-locked, write-combined host memory")          \
	X(REGISTERED, "registered", 0,                                                             \
	  "host memory that is page-locked after its allocation (cudaHostRegister)")               \
	X(PAGEABLE, "pageable", 0, "ordinary host memory, with every page touched (malloc)")

enum allocator {
#define X(symbol, name, on_device, description) ALLOCATOR_##symbol,
	ALLOCATORS(X)
#undef X
		ALLOCATOR_COUNT
};

enum precision {
	PRECISION_FP64,
	PRECISION_FP32,
	PRECISION_TF32, /* FP32 storage, TF32 multiplication, FP32 accumulation */
	PRECISION_FP16, /* FP16 storage, FP32 accumulation */
	PRECISION_BF16, /* BF16 storage, FP32 accumulation */
	/* all kernels know the above; only GEMMs know those below */
	PRECISION_COUNT,
	PRECISION_FP16_ACC16 = PRECISION_COUNT, /* FP16 storage, FP16 accumulation */
	PRECISION_FP8,                          /* E4M3 operands, FP32 accumulation, FP16 result */
	PRECISION_INT8, /* operands n / 128, exact sums: the result is INT32 in units of 2^-14 */
	PRECISION_GEMM_COUNT,
	PRECISION_E5M2 = PRECISION_GEMM_COUNT /* format of an operand of FP8, no precision */
};

#ifdef __cplusplus
extern "C" {
#endif
/* Bytes per stored element: 8, 4, 4, 2, 2; for GEMM operands: 2, 1, 1. */
size_t precision_bytes(enum precision precision);
/* Bytes per element of a GEMM's result, which differ from the operands for fp8 (2) and int8 (4). */
size_t precision_result_bytes(enum precision precision);
/* "fp64", "fp32", "tf32", "fp16", "bf16", "fp16_acc16", "fp8", "int8" */
const char *precision_name(enum precision precision);
/* The bit of enum device_capability for GEMM in `precision`. */
unsigned precision_capability(enum precision precision);
bool precision_from_name(const char *name, enum precision *out);
const char *allocator_name(enum allocator allocator);
bool allocator_from_name(const char *name, enum allocator *out);
bool allocator_on_device(enum allocator allocator);
#ifdef __cplusplus
}
#endif

/*
 * GEMM epilogue: applied to each element of the result before it is stored, instead of in a
 * separate pass. `bias`: m values in C's format, one per row.
 */
enum epilogue {
	EPILOGUE_NONE,
	EPILOGUE_BIAS,      /* adds the bias */
	EPILOGUE_BIAS_RELU, /* adds the bias, then applies ReLU */
	EPILOGUE_COUNT
};

/*
 * FP32 factors of an operand of FP8. Its outer dimension is that of C: rows of op(A), columns of
 * op(B); the inner one is k, in groups of 128.
 */
enum fp8_scaling {
	FP8_SCALE_TENSOR, /* one factor */
	FP8_SCALE_OUTER,  /* one for each row of op(A) or column of op(B) */
	FP8_SCALE_GROUPS, /* one for each group of these, in the order [group][outer] */
	FP8_SCALE_BLOCKS  /* one for 128 rows or columns: [outer / 128][groups, a multiple of 4] */
};

/*
 * FP8: operands that are E5M2, not E4M3 (not both), sums that stay in the tensor cores, and enum
 * fp8_scaling of both operands.
 */
struct gemm_fp8 {
	bool e5m2_a, e5m2_b, fast;
	unsigned char scaling_a, scaling_b;
};

/*
 * C = alpha * op(A) * op(B) + beta * C, column-major as in BLAS: op(A) is m x k, op(B) k x n, C m x
 * n. A and B are stored in `precision`, C in that of its result or, `wide`, in FP32; alpha and beta
 * are FP32 except for FP64 (double), FP16_ACC16 (FP16) and INT8 (whole numbers). `batch` products,
 * the matrices of each `stride` elements after those of the one before; 0: one product.
 */
struct gemm {
	enum precision precision;
	bool transpose_a, transpose_b;
	int64_t m, n, k;
	int64_t lda, ldb, ldc;
	const void *a, *b;
	void *c;
	double alpha, beta;
	int64_t batch, stride_a, stride_b, stride_c;
	enum epilogue epilogue;
	const void *bias;
	/*
	 * Number of multiprocessors to use while concurrent collectives occupy the others; 0: all.
	 * Only searched GEMMs obey it; a GEMM that finds fewer free multiprocessors than planned
	 * takes up to twice as long.
	 */
	int multiprocessors;
	struct gemm_fp8 fp8;
	/* FP8: factors of A and B, in device memory, at multiples of 16 bytes; NULL: 1 */
	const float *scale_a, *scale_b;
	bool wide;     /* FP16, BF16, FP8: C in FP32, so that no bit of the sums is lost */
	bool searched; /* use the choice of gemm_search() for this shape on this stream */
};

/* Result of gemm_search(). */
struct gemm_choice {
	char text[256];          /* the algorithm, in the library's terms */
	unsigned offered, tried; /* number of candidates; with little time not all are tried */
	/* time of one GEMM: of the choice, and of the library's default choice */
	double seconds, first_seconds;
	uint64_t workspace_bytes;
};

struct convolution_shape; /* kernels/convolution/convolution.h */
#define CONVOLUTION_ENGINES 16
#define CONVOLUTION_ALIGNMENT 16 /* of tensors, in bytes: a library may rely on it */
/* Ways of a library to carry out one pass of a convolution: see convolution_open(). */
struct convolution_engines {
	struct device *device;
	unsigned count;    /* at least 1 */
	char failure[256]; /* of the first engine that failed to be prepared; "": none did */
	/* the library's estimate of the fastest first */
	struct convolution_engine {
		char name[64]; /* in the library's terms */
		uint64_t workspace_bytes;
	} engines[CONVOLUTION_ENGINES];
};
/* x and y: images and results, or their gradients; the pass overwrites one of the first three. */
struct convolution_tensors {
	void *x, *w, *y, *workspace;
};

enum reduction { REDUCE_SUM, REDUCE_AVERAGE, REDUCE_MAX };

/* Opaque id, generated by rank 0, that every rank of a communicator needs. */
struct communicator_id {
	char bytes[128];
};

/*
 * Memory in use by accounting source; 0: no such source here. Each source covers different parts:
 * the driver's monitor includes contexts and libraries, the pool only itself.
 */
struct memory_view {
	/* by all processes on the device, from the driver's monitor (NVML) */
	uint64_t device_used;
	/* total - free in the runtime; host: the count of device_memory() */
	uint64_t runtime_used;
	uint64_t process_used; /* by this process, from the monitor; host: its resident set */
	uint64_t pool_reserved, pool_used;           /* current values of ALLOCATOR_POOL */
	uint64_t pool_reserved_high, pool_used_high; /* maximum since the device was opened */
};

/*
 * Launches one kernel, asynchronous on `stream`. `arguments` is the kernel's own struct
 * (kernels/<op>.h).
 */
typedef enum status kernel_fn(struct stream *stream, const void *arguments, struct error *err);

/* Runs on a thread of the backend; must not call the backend. */
typedef void callback_fn(void *context);

struct backend_options {
	int host_devices; /* number of devices that the CPU is divided into; 0: one */
	/*
	 * cuda: compute capability (37 for 3.7) whose code paths are used on any device, to test
	 * them without such a GPU; 0: the device's own.
	 */
	int emulate_capability;
};

/* Code path taken by a kernel, or by a library's GEMM ("gemm"): { "gemm_tensor", "WMMA" }. */
struct code_path {
	const char *kernel, *path; /* path "": there is only one */
};

/* Options of communicator_open(), equal on all ranks. */
struct communicator_options {
	/* AUTO: the backend's first; others as transport_usable() allows */
	enum transport transport;
	/*
	 * Maximum multiprocessors that its collectives occupy, if the transport has such a limit;
	 * 0: no limit.
	 */
	int multiprocessors;
};

/* The collectives of backend.def, for a communicator whose transport implements them. */
struct communicator_operations {
#define OPERATION(device, name, parameters, arguments)
#define COLLECTIVE(name, parameters, arguments) enum status(*name) parameters;
#include "device/backend.def"
};

struct backend {
	unsigned abi;       /* BACKEND_ABI */
	const char *name;   /* "cuda" */
	const char *module; /* "cuda13" */
#define FUNCTION(result, name, parameters) result(*name) parameters;
#include "device/backend.def"
};

/*
 * device/registry.c. Known backends: the built-in ones and the modules found next to the program
 * (backends/), in ../lib/gpuproof/backends, or in $GPUPROOF_BACKENDS. Only workers call these
 * functions.
 */
struct device_choice {
	const struct backend *backend;
	int index;
	/* WARNING: no module has code for it; NOTE: the driver compiles at first use */
	enum severity severity;
	char why[320]; /* "cuda11: machine code for 3.7; not cuda13: ..." */
};
struct backend_list {
	const struct backend *backends[8];
	size_t count;
	/* Module of one backend (cuda13, cuda11) chosen for each device, with the reason. */
	struct device_choice *choices;
	size_t choice_count, choice_capacity;
	char missing[8][320]; /* "cuda13: <reason why it could not be opened>" */
	size_t missing_count;
};
/*
 * Opens every backend in `only` ("cuda" or its module "cuda11"; NULL or "auto": all available).
 * Among several modules of one backend, each device gets the newest that has code for it; a module
 * without a device is closed again.
 */
void backends_open(struct backend_list *list, const char *only,
		   const struct backend_options *options);
void backends_close(struct backend_list *list);
/* True if `backend` was chosen for its device `index`. */
bool backends_chose(const struct backend_list *list, const struct backend *backend, int index);

#include "device/backend_calls.h"

#endif
