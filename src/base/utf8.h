// Whether bytes are text.
#pragma once

#include <string_view>

namespace ramet {

[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace ramet
