# The CUDA side of the library: compiled by nvcc, or for what stands in for CUDA in tests, or absent.
# Sets cuda_libraries, what a .cu file is compiled as and with (cuda_language, cuda_options), what other
# files need to find CUDA's headers (cuda_header_options), how the backend calls itself and its memory
# (cuda_backend_name, dlpack_device_type), and for_tests_alone where nothing is to be installed.

if(RAMET_CUDA STREQUAL "OFF")
  # src/kernels/cuda_absent.cc

elseif(RAMET_CUDA STREQUAL "ON")
  if(RAMET_SANITIZE)
    message(FATAL_ERROR "RAMET_SANITIZE needs RAMET_CUDA=EMULATED or OFF; for a GPU there is compute-sanitizer")
  endif()
  # Machine code for the chips from Ampere on, and PTX that others compile when they load it: 11.0 that of
  # 10.0, newer ones that of 12.0.
  # For this machine's chip alone: -DCMAKE_CUDA_ARCHITECTURES=native.
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 86-real 89-real 90-real 100 120)
  endif()
  set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  # Static, so that the library loads where there is no driver.
  set(cuda_libraries $<LINK_ONLY:CUDA::cudart_static>)
  # -std by hand: older versions of CMake know no C++20 of newer nvcc. Without fused multiplications
  # floating-point results are the CPU's.
  set(cuda_options -std=c++20 -fmad=false --expt-relaxed-constexpr -lineinfo
    -Xcompiler=-ffp-contract=off,-Wall,-Wextra)
  list(TRANSFORM CUDAToolkit_INCLUDE_DIRS PREPEND -isystem OUTPUT_VARIABLE cuda_header_options)
  set(cuda_language CUDA)
  set(cuda_backend_name cuda)
  set(dlpack_device_type 2)  # kDLCUDA

elseif(RAMET_CUDA STREQUAL "EMULATED")
  include(tests/emulator/toolkit.cmake)

else()
  message(FATAL_ERROR "RAMET_CUDA is '${RAMET_CUDA}', expected OFF, ON or EMULATED")
endif()
