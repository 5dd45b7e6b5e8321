// Headers of .npy files, ramet.txt, tables of contents of segments, and names. The first byte says
// which. What is accepted is printed, and must be read as the same again.
#include "input.h"
#include "ramet/graph.h"
#include "ramet/store.h"
#include "storage/array_name.h"
#include "storage/manifest.h"
#include "storage/npy.h"
#include "storage/shape.h"

using namespace ramet;
using namespace ramet::fuzz;

namespace {

void read_npy_header(Input& input) {
  const int64_t size = input.word();
  const std::string head(input.rest());
  NpyHeader header;
  if (!succeeds(
          [&] { header = parse_npy_header(head, std::max(size, int64_t(head.size())), "f"); }))
    return;
  const int64_t bytes = array_bytes(header.dtype, header.shape);
  const std::string printed = print_npy_header(header.dtype, header.shape);
  const NpyHeader again = parse_npy_header(printed, kNpyDataOffset + bytes, "printed");
  require(again.dtype == header.dtype && again.shape == header.shape);
}

void read_manifest(Input& input, ManifestForm form) {
  const std::string text(input.rest());
  Manifest manifest;
  if (!succeeds([&] { manifest = parse_manifest(text, form, "f"); })) return;
  const std::string printed = print_manifest(manifest);
  require(print_manifest(parse_manifest(printed, form, "printed")) == printed);
}

void read_names(Input& input) {
  const std::string text(input.rest());
  static_cast<void>(array_name_problem(text));
  succeeds([&] { require(decode_name(encode_name(text)) == text); });
  succeeds([&] { require(encode_name(decode_name(text)) == text); });
  succeeds([&] { require(EdgeTypeName::decode(text).encoded() == text); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  switch (input.byte()) {
    case 'n':
      read_npy_header(input);
      break;
    case 'm':
      read_manifest(input, ManifestForm::kFolder);
      break;
    case 's':
      read_manifest(input, ManifestForm::kSegment);
      break;
    default:
      read_names(input);
  }
  return 0;
}
