// Names of arrays: "node/<type>/<table>", "edge/<type>/<table>", "out/<type>/<array>",
// "split/<name>/<type>", "ids/<type>/<array>", "about/<array>"; and of parts "owner/<type>" and
// "owned/<type>".
#pragma once

#include <string>
#include <string_view>

namespace ramet {

// The folders of a store that hold arrays.
[[nodiscard]] bool is_array_folder(std::string_view name);
// Those of them whose arrays lie in no further folder.
[[nodiscard]] bool is_flat_folder(std::string_view name);

// Why `name` cannot be the name of an array, or "". Looks at its form alone: three parts, or
// two, that are safe as file names and as words of a text file.
[[nodiscard]] std::string array_name_problem(std::string_view name);

}  // namespace ramet
