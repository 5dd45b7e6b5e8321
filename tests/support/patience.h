// How long tests wait before they fail.
#pragma once

#include <chrono>

namespace ramet::test {

// For what is sure to come: longer than the busiest machine takes.
inline constexpr std::chrono::minutes kPatience{10};

}  // namespace ramet::test
