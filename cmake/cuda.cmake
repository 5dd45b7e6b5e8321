# The CUDA side of the library: compiled by nvcc, or as C++ for the emulator of tests/emulator/, or
# absent. Included before there is a target; sets cuda_sources, cuda_libraries, and cuda_options,
# which is what a .cu file is compiled with.

# One list, whoever compiles it: kernels with their launchers, and what the host alone runs.
set(kernel_files
  src/kernels/cuda/floyd_marks.cu
  src/kernels/cuda/gather.cu
  src/kernels/cuda/gather_decoded.cu
  src/kernels/cuda/importance.cu
  src/kernels/cuda/labor.cu
  src/kernels/cuda/marks.cu
  src/kernels/cuda/relabel.cu
  src/kernels/cuda/relation.cu
  src/kernels/cuda/row_bounds.cu
  src/kernels/cuda/scatter.cu
  src/kernels/cuda/uniform.cu
)
set(runtime_files
  src/kernels/cuda/backend.cc
  src/kernels/cuda/check.cc
  src/kernels/cuda/device_scope.cc
  src/kernels/cuda/devices.cc
  src/kernels/cuda/memory.cc
  src/kernels/cuda/streams.cc
)

if(RAMET_CUDA STREQUAL "OFF")
  set(cuda_sources src/kernels/cuda_absent.cc)

elseif(RAMET_CUDA STREQUAL "ON")
  if(RAMET_SANITIZE)
    message(FATAL_ERROR "RAMET_SANITIZE needs RAMET_CUDA=EMULATED or OFF; for a GPU there is compute-sanitizer")
  endif()
  # Machine code for the chips from Ampere on, and PTX that newer ones compile when they load it.
  # For this machine's chip alone: -DCMAKE_CUDA_ARCHITECTURES=native.
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 86-real 89-real 90-real 100-real 120)
  endif()
  set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  set(cuda_sources ${kernel_files} ${runtime_files})
  # Static, so that the library loads where there is no driver.
  set(cuda_libraries $<LINK_ONLY:CUDA::cudart_static>)
  # -std by hand: older versions of CMake know no C++20 of newer nvcc. Without fused multiplications
  # floating-point results are the CPU's.
  set(cuda_options -std=c++20 -fmad=false --expt-relaxed-constexpr -lineinfo
    -Xcompiler=-ffp-contract=off,-Wall,-Wextra)
  set_source_files_properties(${kernel_files} PROPERTIES COMPILE_OPTIONS "${cuda_options}")
  list(TRANSFORM CUDAToolkit_INCLUDE_DIRS PREPEND -isystem OUTPUT_VARIABLE toolkit_headers)
  set_source_files_properties(${runtime_files} PROPERTIES COMPILE_OPTIONS "${toolkit_headers}")
  set(cuda_backend_name cuda)
  set(dlpack_device_type 2)  # kDLCUDA

elseif(RAMET_CUDA STREQUAL "EMULATED")
  # This proves the algorithms and the order of streams, not the hardware.
  set(emulator_folder ${CMAKE_CURRENT_SOURCE_DIR}/tests/emulator)
  set(emulator_files
    tests/emulator/emulator/block.cc
    tests/emulator/emulator/context_x86.cc
    tests/emulator/emulator/device.cc
    tests/emulator/emulator/event.cc
    tests/emulator/emulator/fiber.cc
    tests/emulator/emulator/memory.cc
    tests/emulator/emulator/settings.cc
    tests/emulator/emulator/stream.cc)
  set(cuda_sources ${kernel_files} ${runtime_files} ${emulator_files})
  # What a lane loads under a condition, and uses under the same, GCC takes for uninitialized.
  set(cuda_options -x c++ -Wno-uninitialized -Wno-maybe-uninitialized)
  set_source_files_properties(${kernel_files} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "${cuda_options}")
  set_source_files_properties(${cuda_sources} PROPERTIES INCLUDE_DIRECTORIES ${emulator_folder})
  # The scheduler changes stacks under a sanitizer's feet, and tells it; sanitized itself, it would
  # make kernels ten times slower.
  if(RAMET_SANITIZE)
    set_source_files_properties(
      tests/emulator/emulator/block.cc
      tests/emulator/emulator/context_x86.cc
      tests/emulator/emulator/fiber.cc
      PROPERTIES
      COMPILE_OPTIONS "-O2;-fno-sanitize=all"
      COMPILE_DEFINITIONS EMULATOR_SANITIZER_${RAMET_SANITIZE})
  endif()
  set(cuda_backend_name emulated)
  set(dlpack_device_type 1)  # kDLCPU

else()
  message(FATAL_ERROR "RAMET_CUDA is '${RAMET_CUDA}', expected OFF, ON or EMULATED")
endif()

set_source_files_properties(src/kernels/cuda/backend.cc PROPERTIES
  COMPILE_DEFINITIONS
  "RAMET_BACKEND_NAME=\"${cuda_backend_name}\";RAMET_DLPACK_DEVICE_TYPE=${dlpack_device_type}")
