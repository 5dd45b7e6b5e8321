# What cmake/cuda.cmake sets, for the emulator in the place of CUDA: kernels are C++, and memory is
# the host's. It proves the algorithms and the order of streams, not the hardware.
add_subdirectory(${CMAKE_CURRENT_LIST_DIR} tests/emulator)
set(cuda_libraries $<BUILD_INTERFACE:$<LINK_ONLY:cuda_emulator>>)
set(cuda_header_options -I${CMAKE_CURRENT_LIST_DIR})
# What a lane loads under a condition, and uses under the same, GCC takes for uninitialized.
set(cuda_options ${cuda_header_options} -x c++ -Wno-uninitialized
  $<IF:$<CXX_COMPILER_ID:GNU>,-Wno-maybe-uninitialized,-Wno-sign-conversion>)
set(cuda_language CXX)
set(cuda_backend_name emulated)
set(dlpack_device_type 1)  # kDLCPU
set(for_tests_alone ON)
