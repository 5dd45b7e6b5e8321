#include "array_name.h"

#include <algorithm>

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
    return "a part of it has " + std::to_string(part.size()) + " bytes, at most " +
           std::to_string(kMaxPartBytes) + " are possible";
  if (part.front() == '.') return "a part of it begins with a dot";
  if (!std::all_of(part.begin(), part.end(), is_name_byte))
    return "a part of it holds a byte other than [A-Za-z0-9_.%-]";
  return "";
}

}  // namespace

bool is_array_folder(std::string_view name) {
  return name == "node" || name == "edge" || name == "split";
}

std::string array_name_problem(std::string_view name) {
  const size_t first = name.find('/');
  const size_t second = first == name.npos ? name.npos : name.find('/', first + 1);
  if (second == name.npos || name.find('/', second + 1) != name.npos)
    return "it has not the three parts of node/<type>/<table>";
  if (!is_array_folder(name.substr(0, first))) return "it begins with neither node, edge nor split";
  const std::string middle = part_problem(name.substr(first + 1, second - first - 1));
  return middle.empty() ? part_problem(name.substr(second + 1)) : middle;
}

}  // namespace ramet
