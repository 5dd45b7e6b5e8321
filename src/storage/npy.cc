#include "npy.h"

#include <algorithm>
#include <array>

#include "npy_dict.h"
#include "ramet/error.h"
#include "shape.h"
#include "text.h"

namespace ramet {

namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr int64_t kDataAlignment = 16;

struct DescrEntry {
  DType dtype;
  const char* text;
};
// In the order of DType. .npy has no bfloat16: such files say that they hold uint16, which is what
// parse_descr() finds first, and ramet.txt knows better.
constexpr std::array<DescrEntry, 13> kDescrs{{{DType::kBool, "|b1"},
                                              {DType::kInt8, "|i1"},
                                              {DType::kUInt8, "|u1"},
                                              {DType::kInt16, "<i2"},
                                              {DType::kUInt16, "<u2"},
                                              {DType::kInt32, "<i4"},
                                              {DType::kUInt32, "<u4"},
                                              {DType::kInt64, "<i8"},
                                              {DType::kUInt64, "<u8"},
                                              {DType::kFloat16, "<f2"},
                                              {DType::kBFloat16, "<u2"},
                                              {DType::kFloat32, "<f4"},
                                              {DType::kFloat64, "<f8"}}};

int64_t byte_at(std::string_view head, size_t i) {
  return static_cast<unsigned char>(head[i]);
}

// Bytes before the dictionary: magic, version and the dictionary's length, which is 2 or 4 bytes.
size_t prefix_size(std::string_view head, const std::string& location) {
  if (head.size() < 12)
    throw_corrupt(location, "the file has ", head.size(), " bytes, too few for .npy");
  if (head.substr(0, kMagic.size()) != kMagic)
    throw_corrupt(location, "not a .npy file: it begins with ",
                  quoted(head.substr(0, kMagic.size())));
  const int64_t major = byte_at(head, 6), minor = byte_at(head, 7);
  if ((major != 1 && major != 2) || minor != 0)
    throw_corrupt(location, ".npy version ", major, ".", minor, "; versions 1.0 and 2.0 are read");
  return major == 1 ? 10 : 12;
}

DType dtype_of(const std::string& text, const std::string& location) {
  if (const auto dtype = parse_descr(text)) return *dtype;
  if (!text.empty() && text[0] == '>')
    throw_corrupt(location, "element type ", quoted(text),
                  " is big-endian; a store is little-endian");
  std::string known;
  for (const DescrEntry& entry : kDescrs)
    if (entry.dtype != DType::kBFloat16) known += std::string(" ") + entry.text;
  throw_corrupt(location, "element type ", quoted(text), "; a store has", known);
}

}  // namespace

const char* descr(DType dtype) {
  return kDescrs[static_cast<size_t>(dtype)].text;
}

std::optional<DType> parse_descr(std::string_view text) {
  for (const DescrEntry& entry : kDescrs)
    if (text == entry.text) return entry.dtype;
  return std::nullopt;
}

std::string print_npy_header(DType dtype, const std::vector<int64_t>& shape) {
  constexpr size_t kDictBytes = kNpyDataOffset - 10;
  std::string header(kMagic);
  header +=
      {'\x01', '\x00', static_cast<char>(kDictBytes & 255), static_cast<char>(kDictBytes >> 8)};
  header += std::string("{'descr': '") + descr(dtype) + "', 'fortran_order': False, 'shape': (" +
            shape_text(shape, ", ") + (shape.size() == 1 ? ",), }" : "), }");
  header.resize(kNpyDataOffset - 1, ' ');
  return header + '\n';
}

int64_t npy_data_offset(std::string_view head, int64_t file_size, const std::string& location) {
  const size_t prefix = prefix_size(head, location);
  int64_t length = 0;
  for (size_t i = prefix; i-- > 8;)
    length = length * 256 + byte_at(head, i);
  const int64_t offset = int64_t(prefix) + length;
  if (offset > kMaxNpyHeaderBytes)
    throw_corrupt(location, ".npy header of ", offset, " bytes; at most ", kMaxNpyHeaderBytes,
                  " are read");
  if (offset > file_size)
    throw_corrupt(location, ".npy header of ", offset, " bytes in a file of ", file_size, " bytes");
  if (offset % kDataAlignment != 0)
    throw_corrupt(location, "the data starts at byte ", offset, ", not at a multiple of ",
                  kDataAlignment);
  return offset;
}

NpyHeader parse_npy_header(std::string_view head, int64_t file_size, const std::string& location) {
  const int64_t offset = npy_data_offset(head, file_size, location);
  const size_t prefix = prefix_size(head, location);
  NpyDict dict = parse_npy_dict(head.substr(prefix, size_t(offset) - prefix), location);
  const DType dtype = dtype_of(dict.descr, location);
  if (dict.fortran_order)
    throw_corrupt(location, "fortran_order is True; a store is row-major (C order)");
  const std::string problem = shape_problem(dtype, dict.shape);
  if (!problem.empty()) throw_corrupt(location, "the array ", problem);
  // Subtracting cannot overflow, adding could.
  const int64_t bytes = array_bytes(dtype, dict.shape);
  if (bytes != file_size - offset)
    throw_corrupt(location, "the file has ", file_size - offset, " bytes of data, ", descr(dtype),
                  " (", shape_text(dict.shape, ", "), ") needs ", bytes);
  return {dtype, std::move(dict.shape), offset};
}

NpyHeader read_npy_header(const InputFile& file) {
  std::string head = file.read(0, std::min(file.size(), kNpyDataOffset));
  const int64_t data_offset = npy_data_offset(head, file.size(), file.location());
  if (data_offset > int64_t(head.size())) head = file.read(0, data_offset);
  return parse_npy_header(head, file.size(), file.location());
}

}  // namespace ramet
