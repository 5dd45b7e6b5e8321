// The pieces of the seam; kernels/cuda_pieces.h says what each call does.
#pragma once

#include "kernels/cuda_pieces.h"

namespace ramet {

extern const CudaPieces kCudaPieces;

}  // namespace ramet
