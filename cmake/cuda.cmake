# The CUDA kernels: one more set of objects in the engine. Nothing else in the build knows of them.
# Hopper only (sm_90a): wgmma and the bulk copy engine need that exact target.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(NVCC nvcc PATHS /usr/local/cuda/bin REQUIRED)
  set(CMAKE_CUDA_COMPILER ${NVCC})
endif()
set(CMAKE_CUDA_ARCHITECTURES OFF)     # named below instead, in the form that keeps the "a" features
set(CMAKE_CUDA_RUNTIME_LIBRARY None)  # linked below, statically: a program then needs no libcudart
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED GLOBAL)

set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake before 3.26 does not know that nvcc speaks C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()

file(GLOB CUDA_KERNEL_SOURCES CONFIGURE_DEPENDS src/tessera/kernels/cuda/*.cu)
add_library(tessera_cuda OBJECT ${CUDA_KERNEL_SOURCES})
target_include_directories(tessera_cuda PRIVATE src)
target_compile_options(tessera_cuda PRIVATE -gencode=arch=compute_90a,code=sm_90a --expt-relaxed-constexpr
                                            -Xcompiler=-fPIC,-fno-semantic-interposition,-Wall,-Wextra)
if(TESSERA_WARNINGS_AS_ERRORS)
  target_compile_options(tessera_cuda PRIVATE -Werror=all-warnings -Xcompiler=-Werror)
endif()
target_sources(tessera_engine INTERFACE $<TARGET_OBJECTS:tessera_cuda>)
list(APPEND ENGINE_LIBRARIES CUDA::cudart_static CUDA::cublasLt)
target_link_libraries(tessera_engine PUBLIC CUDA::cudart_static CUDA::cublasLt)
