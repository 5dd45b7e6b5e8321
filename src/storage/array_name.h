// Names of arrays: "node/<type>/<table>", "edge/<type>/<table>", "split/<name>/<type>".
#pragma once

#include <string>
#include <string_view>

namespace ramet {

// The folders of a store that hold arrays.
[[nodiscard]] bool is_array_folder(std::string_view name);

// Why `name` cannot be the name of an array, or "". Looks at its form alone: three parts that are
// safe as file names and as words of a text file.
[[nodiscard]] std::string array_name_problem(std::string_view name);

}  // namespace ramet
