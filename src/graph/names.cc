#include "ramet/error.h"
#include "ramet/graph.h"

namespace ramet {

std::string EdgeTypeName::encoded() const {
  return encode_name(src) + "__" + encode_name(relation) + "__" + encode_name(dst);
}

EdgeTypeName EdgeTypeName::decode(const std::string& encoded) {
  const size_t first = encoded.find("__");
  const size_t second = first == std::string::npos ? first : encoded.find("__", first + 2);
  if (second == std::string::npos || encoded.find("__", second + 2) != std::string::npos) {
    throw_error(ErrorCode::kCorrupt, "edge type folder '", encoded,
                "' is not <source>__<relation>__<destination>");
  }
  return {decode_name(encoded.substr(0, first)),
          decode_name(encoded.substr(first + 2, second - first - 2)),
          decode_name(encoded.substr(second + 2))};
}

}  // namespace ramet
