# The CUDA backend a second time, built with toolkit 11.8 (ci/install-cuda11) for the GPUs that newer toolkits have
# dropped: backends/cuda11.so, in addition to cuda13.so. CMake knows one CUDA compiler per build folder, so its objects are made
# by commands. Left out, and said so, where toolkit 11.8 is not found in $GPUPROOF_CUDA11_ROOT, build/cuda11 or
# /usr/local/cuda-11.8.
set(GPUPROOF_CUDA11_ROOT "" CACHE PATH "Folder of CUDA toolkit 11.8 (ci/install-cuda11); empty: searched for")
set(GPUPROOF_CUDA11_FOUND OFF)
if(NOT GPUPROOF_CUDA)
	return()
endif()
find_program(cuda11_nvcc nvcc NO_CACHE NO_DEFAULT_PATH PATHS
	"${GPUPROOF_CUDA11_ROOT}/bin" "$ENV{GPUPROOF_CUDA11_ROOT}/bin" ${CMAKE_SOURCE_DIR}/build/cuda11/bin /usr/local/cuda-11.8/bin)
if(cuda11_nvcc)
	execute_process(COMMAND ${cuda11_nvcc} --version OUTPUT_VARIABLE cuda11_version ERROR_QUIET)
endif()
if(NOT cuda11_version MATCHES "release 11\\.8")
	if(GPUPROOF_CUDA11_ROOT)
		message(FATAL_ERROR "GPUPROOF_CUDA11_ROOT=${GPUPROOF_CUDA11_ROOT} holds no CUDA toolkit 11.8: ci/install-cuda11 ${GPUPROOF_CUDA11_ROOT} fetches it")
	endif()
	message(STATUS "gpuproof: no CUDA toolkit 11.8 (ci/install-cuda11 build/cuda11): the backend cuda11 is left out; GPUs before compute capability 7.5 may need it")
	return()
endif()
set(GPUPROOF_CUDA11_FOUND ON)
cmake_path(GET cuda11_nvcc PARENT_PATH cuda11_bin)
cmake_path(GET cuda11_bin PARENT_PATH cuda11_root)
set(cuda11_root ${cuda11_root} CACHE INTERNAL "Where toolkit 11.8 was found: for tests/project/test_sass.sh")
# Each later one of a major number runs on the code of the earlier: 3.7 on that of 3.5, 8.6 on that of 8.0, as with cuda13.
# A sixth of the module was code of 3.7 and 8.6, as long as theirs within a hundredth. 6.1 has its own, since
# 6.0 has fast FP16 pairs.
set(cuda11_images 35-real 52-real 60-real 61-real 70-real 75-real 80-real 90-real 35-virtual 90-virtual)
message(STATUS "gpuproof: CUDA 11.8 in ${cuda11_root}: building the backend cuda11")

# The newest host compiler that this toolkit supports; with a newer one it works as far as tried.
find_program(cuda11_host_compiler g++-11 NO_CACHE HINTS ${cuda11_bin})
set(cuda11_flags -std=c++17 -O2 -DNDEBUG -D_GNU_SOURCE -Wno-deprecated-gpu-targets
	-Xcompiler=-fPIC,-fvisibility=hidden,-Wall,-Wextra,-fno-exceptions,-fno-threadsafe-statics)
if(cuda11_host_compiler)
	list(APPEND cuda11_flags -ccbin ${cuda11_host_compiler})
else()
	list(APPEND cuda11_flags -allow-unsupported-compiler)
endif()

# The module <target>: <folder>/cuda11.so with the images that are listed: 61-real is machine code for compute capability
# 6.1, 61-virtual intermediate code (PTX) that the driver compiles.
function(cuda11_module target folder)
	file(GLOB_RECURSE sources CONFIGURE_DEPENDS src/device/cuda/*.c)
	file(GLOB_RECURSE kernels CONFIGURE_DEPENDS src/device/cuda/*.cu kernels/*.cu)
	list(FILTER kernels EXCLUDE REGEX "_wgmma\\.cu$") # its instructions are newer than this toolkit
	set(images "")
	foreach(image ${ARGN})
		string(REGEX REPLACE "^([0-9]+)-real$" "arch=compute_\\1,code=sm_\\1" image ${image})
		string(REGEX REPLACE "^([0-9]+)-virtual$" "arch=compute_\\1,code=compute_\\1" image ${image})
		list(APPEND images -gencode ${image})
	endforeach()
	set(objects "")
	foreach(kernel ${kernels})
		get_filename_component(name ${kernel} NAME)
		set(object ${CMAKE_BINARY_DIR}/${target}/${name}.o)
		add_custom_command(OUTPUT ${object}
			COMMAND ${CMAKE_C_COMPILER_LAUNCHER} ${cuda11_nvcc} ${cuda11_flags} ${images} -I${CMAKE_SOURCE_DIR} -I${CMAKE_SOURCE_DIR}/src
				-MD -MF ${object}.d -c ${kernel} -o ${object}
			DEPENDS ${kernel} ${cuda11_nvcc} DEPFILE ${object}.d
			COMMENT "Building CUDA 11.8 object ${target}/${name}.o" VERBATIM)
		list(APPEND objects ${object})
	endforeach()
	file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/${target})
	string(REPLACE ";" " " images "${ARGN}")
	add_library(${target} MODULE ${sources} ${objects})
	target_compile_definitions(${target} PRIVATE GPUPROOF_CUDA_MODULE="cuda11" GPUPROOF_CUDA_IMAGES="${images}")
	target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/src)
	target_include_directories(${target} SYSTEM BEFORE PRIVATE ${cuda11_root}/include)
	target_link_libraries(${target} PRIVATE gpuproof_base ${cuda11_root}/lib64/libcudart_static.a ${CMAKE_DL_LIBS} Threads::Threads rt)
	target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL -Wl,--as-needed -Wl,-z,defs)
	set_target_properties(${target} PROPERTIES OUTPUT_NAME cuda11 PREFIX "" C_VISIBILITY_PRESET hidden LINKER_LANGUAGE C
		LIBRARY_OUTPUT_DIRECTORY ${folder})
endfunction()

cuda11_module(gpuproof_cuda11 ${CMAKE_BINARY_DIR}/backends ${cuda11_images})
include(GNUInstallDirs)
install(TARGETS gpuproof_cuda11 LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/gpuproof/backends COMPONENT cuda11)

# For ci/gpu-check --ptx: modules whose only code is the intermediate code of an old architecture, which the driver of a
# present GPU compiles: the proof that the kernels are right there, without the card.
add_custom_target(gpuproof_ptx)
foreach(architecture 35 61 70)
	cuda11_module(gpuproof_ptx${architecture} ${CMAKE_BINARY_DIR}/ptx/${architecture} ${architecture}-virtual)
	set_target_properties(gpuproof_ptx${architecture} PROPERTIES EXCLUDE_FROM_ALL ON)
	add_dependencies(gpuproof_ptx gpuproof_ptx${architecture})
endforeach()
