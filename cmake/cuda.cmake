# The CUDA backend: a loadable module named after its toolkit (backends/cuda13.so), left out, and said so, where
# there is no CUDA compiler.
set(GPUPROOF_CUDA_FOUND OFF)
set(GPUPROOF_CUDA_ARCHITECTURES "" CACHE STRING "Compute capabilities to compile for; empty: all that the toolkit serves")
if(GPUPROOF_CUDA)
	include(CheckLanguage)
	if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
		find_program(CMAKE_CUDA_COMPILER nvcc HINTS /usr/local/cuda/bin)
		if(NOT CMAKE_CUDA_COMPILER)
			unset(CMAKE_CUDA_COMPILER CACHE)
		endif()
	endif()
	check_language(CUDA)
	if(CMAKE_CUDA_COMPILER)
		enable_language(CUDA)
		find_package(CUDAToolkit)
		file(GLOB cuda_sources CONFIGURE_DEPENDS src/device/cuda/*.c src/device/cuda/*.cu kernels/*.cu)
		if(CUDAToolkit_FOUND AND cuda_sources)
			set(GPUPROOF_CUDA_FOUND ON)
		endif()
	endif()
endif()
if(NOT GPUPROOF_CUDA_FOUND)
	message(STATUS "gpuproof: no CUDA toolkit: the CUDA backend is left out; the host backend is complete")
	return()
endif()

# Machine code of one capability runs on the later ones of the same major number; the intermediate code (the entry
# without -real) serves what is newer, or has no entry, at the price of a compilation at first use.
if(GPUPROOF_CUDA_ARCHITECTURES)
	set(cuda_architectures ${GPUPROOF_CUDA_ARCHITECTURES})
elseif(CUDAToolkit_VERSION_MAJOR GREATER_EQUAL 13)
	set(cuda_architectures 75 80-real 90-real 100-real 120-real)
elseif(CUDAToolkit_VERSION_MAJOR GREATER_EQUAL 12)
	set(cuda_architectures 50-real 60-real 70-real 75-real 80-real 90)
else()
	set(cuda_architectures 35-real 50-real 60-real 70-real 75-real 80-real 90)
endif()

set(cuda_module cuda${CUDAToolkit_VERSION_MAJOR})
message(STATUS "gpuproof: CUDA ${CUDAToolkit_VERSION}: building the backend ${cuda_module}")
add_library(gpuproof_cuda MODULE ${cuda_sources})
set_target_properties(gpuproof_cuda PROPERTIES
	OUTPUT_NAME ${cuda_module} PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/backends
	CUDA_STANDARD 17 CUDA_ARCHITECTURES "${cuda_architectures}" C_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden CUDA_RUNTIME_LIBRARY Static)
target_compile_definitions(gpuproof_cuda PRIVATE GPUPROOF_CUDA_MODULE="${cuda_module}")
target_include_directories(gpuproof_cuda PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/src ${CUDAToolkit_INCLUDE_DIRS})
target_compile_options(gpuproof_cuda PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-fno-exceptions,-fno-threadsafe-statics;-Wno-deprecated-gpu-targets>")
target_link_libraries(gpuproof_cuda PRIVATE gpuproof_base CUDA::cudart_static ${CMAKE_DL_LIBS})
# Without exceptions and locked statics nothing here uses the C++ library, so a GPU node needs none.
# The module's own copy of the base library stays its own.
target_link_options(gpuproof_cuda PRIVATE -Wl,--exclude-libs,ALL -Wl,--as-needed)
install(TARGETS gpuproof_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/gpuproof/backends)
