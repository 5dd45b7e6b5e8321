#include "array_name.h"

#include <algorithm>

#include "ramet/error.h"

namespace ramet {

namespace {

// 255 is the longest file name of Linux file systems; a table's part is followed by ".npy".
constexpr size_t kMaxPartBytes = 255 - 4;

bool is_name_byte(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-' || c == '%';
}

std::string part_problem(std::string_view part) {
  if (part.empty()) return "a part of it is empty";
  if (part.size() > kMaxPartBytes)
    return concat("a part of it has ", part.size(), " bytes, at most ", kMaxPartBytes,
                  " are possible");
  if (part.front() == '.') return "a part of it begins with a dot";
  if (!std::all_of(part.begin(), part.end(), is_name_byte))
    return "a part of it holds a byte other than [A-Za-z0-9_.%-]";
  return "";
}

}  // namespace

bool is_array_folder(std::string_view name) {
  return name == "node" || name == "edge" || name == "out" || name == "split" || name == "ids" ||
         is_flat_folder(name);
}

bool is_flat_folder(std::string_view name) {
  return name == "owner" || name == "owned" || name == "about";
}

std::string array_name_problem(std::string_view name) {
  const size_t first = name.find('/');
  const std::string_view folder = name.substr(0, first);
  if (!is_array_folder(folder))
    return "it begins with neither node, edge, out, split, ids, about, owner nor owned";
  if (is_flat_folder(folder)) {
    const bool has_two = first != name.npos && name.find('/', first + 1) == name.npos;
    return has_two ? part_problem(name.substr(first + 1))
                   : "it has not the two parts of owner/<type>";
  }
  const size_t second = first == name.npos ? name.npos : name.find('/', first + 1);
  if (second == name.npos || name.find('/', second + 1) != name.npos)
    return "it has not the three parts of node/<type>/<table>";
  const std::string middle = part_problem(name.substr(first + 1, second - first - 1));
  return middle.empty() ? part_problem(name.substr(second + 1)) : middle;
}

}  // namespace ramet
