#include "manifest.h"

#include <set>
#include <string_view>

#include "array_name.h"
#include "npy.h"
#include "ramet/error.h"
#include "ramet/version.h"
#include "shape.h"
#include "text.h"

namespace ramet {

namespace {

// "a,,b" has three parts, the second empty.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

class ManifestParser {
 public:
  ManifestParser(ManifestForm form, const std::string& location)
      : form_(form), location_(location) {}

  Manifest parse(std::string_view text) {
    if (text.substr(0, std::string_view(kManifestMagic).size()) != kManifestMagic)
      fail("it begins with ", quoted(text.substr(0, 20)), ", not with '", kManifestMagic,
           "<version>': not a store");
    // Without this, a file that was cut inside its last number would be read with another number.
    if (text.back() != '\n') fail("the last line does not end");
    text.remove_suffix(1);
    for (const std::string_view line : split(text, '\n')) {
      ++line_number_;
      if (line_number_ == 1)
        check_version(line.substr(std::string_view(kManifestMagic).size()));
      else
        parse_line(line);
    }
    return std::move(manifest_);
  }

 private:
  void check_version(std::string_view version) const {
    if (version != std::to_string(kStoreFormat))
      fail("format version ", quoted(version), ", but ramet ", kVersion, " reads version ",
           kStoreFormat, ": install a newer ramet, or make the store again with this one");
  }

  void parse_line(std::string_view line) {
    const auto words = split(line, ' ');
    if (words[0] == "node" && words.size() == 3)
      parse_node(std::string(words[1]), words[2]);
    else if (words[0] == "table" && words.size() == 3)
      parse_table(std::string(words[1]), words[2]);
    else if (words[0] == "sorted" && words.size() == 3)
      parse_sorted(std::string(words[1]), std::string(words[2]));
    else if (words[0] == "reverse" && (words.size() == 3 || words.size() == 4))
      parse_reverse(words);
    else if (words[0] == "part" && words.size() == 5 && words[2] == "of")
      parse_part(words);
    else if (words[0] == "id" && words.size() == 2)
      parse_id(words[1]);
    else if (words[0] == "array" && words.size() == 5 && form_ == ManifestForm::kSegment)
      parse_array(words);
    else
      fail("unknown line ", quoted(line), "; ramet ", kVersion, " may be too old for the store");
  }

  void parse_node(const std::string& type, std::string_view count_text) {
    check_type(type);
    const auto count = parse_count(count_text);
    if (!count) fail("number of nodes ", quoted(count_text), "; it needs to be one from 0 to 2^62");
    if (!manifest_.node_counts.emplace(type, *count).second)
      fail("node type ", quoted(type), " stands there twice");
  }

  void check_type(const std::string& type) const {
    try {
      static_cast<void>(decode_name(type));
    } catch (const Error& error) {
      fail(error.what());
    }
  }

  void parse_table(const std::string& name, std::string_view dtype_text) {
    check_array_name(name);
    if (name.starts_with("split/")) fail("array ", quoted(name), " is a split, not a table");
    DType dtype = DType::kInt8;
    if (dtype_text == "bfloat16")
      dtype = DType::kBFloat16;
    else if (dtype_text != "int8")
      fail("dtype ", quoted(dtype_text), " of a table; 'bfloat16' and 'int8' are possible");
    if (!manifest_.table_dtypes.emplace(name, dtype).second)
      fail("table ", quoted(name), " stands there twice");
  }

  // sorted <edge type> <array of the times>
  void parse_sorted(const std::string& edge_type, const std::string& by) {
    check_edge_type(edge_type);
    check_array_name(by);
    if (!manifest_.sorted_rows.emplace(edge_type, by).second)
      fail("a second line says how the rows of ", quoted(edge_type), " are sorted");
  }

  // reverse <edge type> <edge type> [<number of input edges>]
  void parse_reverse(const std::vector<std::string_view>& words) {
    const std::string edge_type(words[1]), reverse(words[2]);
    check_edge_type(edge_type);
    check_edge_type(reverse);
    const int64_t count = words.size() == 4 ? number(words[3]) : 0;
    if (!manifest_.reverses.emplace(edge_type, Reverse{reverse, count}).second)
      fail("a second line names the reverse type of ", quoted(edge_type));
  }

  // part <index> of <count> <fingerprint of the whole store>
  void parse_part(const std::vector<std::string_view>& words) {
    const auto index = parse_count(words[1]), count = parse_count(words[3]);
    const auto fingerprint = parse_hex(words[4]);
    if (!count || *count < 1 || *count > kMaxParts)
      fail("number of parts ", quoted(words[3]), "; 1 to ", kMaxParts, " are possible");
    if (!index || *index >= *count)
      fail("part ", quoted(words[1]), " is outside [0, ", *count, ")");
    if (!fingerprint)
      fail("fingerprint ", quoted(words[4]), "; it needs to have 16 hexadecimal digits");
    if (manifest_.part) fail("a second line says which part this is");
    manifest_.part = {*index, *count, *fingerprint};
  }

  void parse_id(std::string_view digits) {
    const auto id = parse_hex(digits);
    if (!id) fail("id ", quoted(digits), "; it needs to have 16 hexadecimal digits");
    if (manifest_.id) fail("a second line gives an id");
    manifest_.id = id;
  }

  void check_edge_type(const std::string& edge_type) const {
    check_array_name("edge/" + edge_type + "/indices");
  }

  void check_array_name(const std::string& name) const {
    const std::string problem = array_name_problem(name);
    if (!problem.empty()) fail("array name ", quoted(name), ": ", problem);
  }

  void parse_array(const std::vector<std::string_view>& words) {
    ArrayEntry entry;
    entry.name = words[1];
    check_array_name(entry.name);
    if (!names_.insert(entry.name).second)
      fail("array ", quoted(entry.name), " stands there twice");
    const auto dtype = parse_descr(words[2]);
    if (!dtype) fail("element type ", quoted(words[2]));
    entry.dtype = *dtype;
    for (const std::string_view extent : split(words[3], ','))
      entry.shape.push_back(number(extent));
    const std::string problem = shape_problem(entry.dtype, entry.shape);
    if (!problem.empty()) fail("array ", quoted(entry.name), " ", problem);
    entry.offset = number(words[4]);
    manifest_.arrays.push_back(std::move(entry));
  }

  [[nodiscard]] int64_t number(std::string_view text) const {
    const auto value = parse_count(text);
    if (!value) fail(quoted(text), " needs to be a number from 0 to 2^62");
    return *value;
  }

  template <typename... Parts>
  [[noreturn]] void fail(const Parts&... why) const {
    const std::string line = line_number_ ? concat(", line ", line_number_) : "";
    throw_corrupt(location_ + line, why...);
  }

  ManifestForm form_;
  const std::string& location_;
  int line_number_ = 0;
  Manifest manifest_;
  std::set<std::string> names_;
};

}  // namespace

std::string print_manifest(const Manifest& manifest) {
  std::string text = concat(kManifestMagic, kStoreFormat, "\n");
  for (const auto& [type, count] : manifest.node_counts)
    text += concat("node ", type, " ", count, "\n");
  for (const auto& [table, dtype] : manifest.table_dtypes)
    text += "table " + table + " " + name(dtype) + "\n";
  for (const auto& [edge_type, by] : manifest.sorted_rows)
    text += "sorted " + edge_type + " " + by + "\n";
  for (const auto& [edge_type, reverse] : manifest.reverses) {
    const int64_t count = reverse.num_input_edges;
    text += concat("reverse ", edge_type, " ", reverse.edge_type);
    text += (count > 0 ? concat(" ", count) : "") + "\n";
  }
  if (manifest.part)
    text += concat("part ", manifest.part->index, " of ", manifest.part->count, " ",
                   hex(manifest.part->whole_fingerprint), "\n");
  if (manifest.id) text += "id " + hex(*manifest.id) + "\n";
  for (const ArrayEntry& entry : manifest.arrays)
    text += concat("array ", entry.name, " ", descr(entry.dtype), " ", shape_text(entry.shape, ","),
                   " ", entry.offset, "\n");
  return text;
}

Manifest parse_manifest(const std::string& text, ManifestForm form, const std::string& location) {
  return ManifestParser(form, location).parse(text);
}

}  // namespace ramet
