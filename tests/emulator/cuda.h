// The part of CUDA's driver API that Ramet uses, emulated: see cuda_runtime.h.
#pragma once

#include "emulator/driver_api.h"
