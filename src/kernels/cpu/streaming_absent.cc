// Processors for which no vector gather is written.
#include "gather.h"

namespace ramet {

GatherRows streaming_gather() {
  return nullptr;
}

DecodingGathers decoding_gathers() {
  return {gather_decoded_portable, gather_decoded_portable};
}

}  // namespace ramet
