#include "npy_stream.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "storage/chunked_write.h"
#include "storage/npy.h"

namespace ramet {
namespace {

void write_at(
    const Fd& file, int64_t offset, const void* data, int64_t bytes, const std::string& path) {
  const Progress nobody;
  ProgressCount count(nobody, 0);
  write_chunks(file.get(), offset, {}, data, bytes, path, count);
}

Fd create(const std::string& path) {
  check_path(path);
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file) throw_errno(errno, "create", path);
  return file;
}

}  // namespace

NpyStream::NpyStream(std::string path)
    : path_(std::move(path)), file_(create(path_)), end_(kNpyDataOffset) {}

NpyStream::~NpyStream() {
  if (!kept_) ::unlink(path_.c_str());
}

void NpyStream::append(const void* data, int64_t bytes) {
  write_at(file_, end_, data, bytes, path_);
  end_ += bytes;
}

void NpyStream::finish(DType dtype) {
  const std::string header = print_npy_header(dtype, {(end_ - kNpyDataOffset) / item_size(dtype)});
  write_at(file_, 0, header.data(), std::ssize(header), path_);
}

}  // namespace ramet
