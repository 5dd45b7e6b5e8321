// An emulator of the part of CUDA that Ramet uses: the .cu files compiled as C++ and run on the
// CPU, so that they are tested where there is no GPU (CMake: RAMET_CUDA=EMULATED).
//
// It proves the algorithms and the order of streams, not the hardware. A stream is a thread with a
// queue, so that a missing wait is a real race; the threads of a block are fibers, in an order that
// RAMET_EMULATOR_ORDER chooses, and for the thread sanitizer threads, which barriers and warp
// functions alone order; device memory comes from malloc, so that the address sanitizer sees an
// access past its end. A stream can be captured into a graph, but no graph is run. Where CUDA
// leaves something undefined, this picks what hurts.
//
// Environment:
//   RAMET_EMULATOR_ORDER=forward|reverse|random[:SEED]  of blocks and threads; random also switches
//                                                       threads at atomics, and delays streams and
//                                                       answers
//   RAMET_EMULATOR_DEVICES=N      1; with 0 there is no device
//   RAMET_EMULATOR_MEMORY=BYTES   of each device, 4 GiB
//   RAMET_EMULATOR_PEERS=0        devices cannot read each other's memory
//   RAMET_EMULATOR_REFUSE_REGISTER=1  cudaHostRegister is not supported; with 2 it may lock no more
//   RAMET_EMULATOR_REGISTER_AT_ONCE=BYTES  that one call of cudaHostRegister may lock
//   RAMET_EMULATOR_REGISTER_IN_ALL=BYTES   that all calls may
//   RAMET_EMULATOR_REGISTER_READ_ONLY=0   cudaHostRegister takes no pages for reading alone
//   RAMET_EMULATOR_UNREGISTER_MS=MILLISECONDS  that one call of cudaHostUnregister takes
#pragma once

#include "emulator/atomics.h"
#include "emulator/device_code.h"
#include "emulator/launch.h"
#include "emulator/runtime_api.h"
#include "emulator/vector_types.h"
