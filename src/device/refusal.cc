#include "refusal.h"

#include <optional>
#include <string>

#include "base/system/mapping.h"

namespace ramet {
namespace {

std::string of_memory(const RefusedPages& pages) {
  if (!pages.why_read_only.empty())
    return "the usual reason: this driver locks no pages for reading alone; " + pages.why_read_only;
  return concat("the usual reason for memory without a file on a disk is its size: ", pages.locked,
                " bytes of this process are page-locked already, and the driver and the GPU keep "
                "tables of all such pages");
}

std::string of_private_file(const Mapping& mapping) {
  return concat("the usual reason: ", mapping.file,
                " is mapped privately (copy-on-write), and to lock such pages copies each of them; "
                "open the store read-only");
}

std::string of_file(const Mapping& mapping, bool writable) {
  const std::string on =
      mapping.file_system.empty() ? "an unknown file system" : mapping.file_system;
  return concat("the usual reason: ", mapping.file, " is on ", on, ", ",
                writable ? "and Linux does not lock pages of files on a disk for writing"
                         : "whose pages this driver or device cannot lock for reading alone",
                "; a store in /dev/shm may be locked");
}

std::string usual_reason(const RefusedPages& pages) {
  const std::optional<Mapping> mapping = mapping_at(pages.begin);
  if (!mapping) return "no memory is mapped there, as far as the kernel tells";
  if (mapping->is_private && !mapping->file.empty()) return of_private_file(*mapping);
  return mapping->is_memory() ? of_memory(pages) : of_file(*mapping, pages.array.writable);
}

}  // namespace

Error refusal(const RefusedPages& pages, const Error& reason) {
  return {reason.code(),
          concat("cannot page-lock ", pages.bytes, " bytes of ", pages.array.describe(),
                 " for kernels: ", reason.what(), "; ", usual_reason(pages))};
}

}  // namespace ramet
