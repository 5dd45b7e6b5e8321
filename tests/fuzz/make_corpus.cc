// make_corpus FOLDER: writes the inputs that fuzzing begins with, from real stores.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include "ramet/store.h"
#include "ramet/store_writer.h"
#include "segment_input.h"
#include "small_store.h"
#include "storage/segment.h"

using namespace ramet;
using namespace ramet::fuzz;
namespace fs = std::filesystem;

namespace {

void put(const fs::path& file, const std::string& bytes) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
}

std::string read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string word(size_t number) {
  return {static_cast<char>(number & 255), static_cast<char>(number >> 8 & 255)};
}

// A header of 64 bytes more than its text, as numpy writes them; ours are padded to a page.
std::string short_npy(const std::string& npy, size_t data_bytes) {
  const std::string text = npy.substr(10, npy.find('}') - 9);
  std::string head = npy.substr(0, 8) + std::string(2, '\0') + text;
  head.resize((head.size() / 64 + 1) * 64, ' ');
  head.back() = '\n';
  const size_t length = head.size() - 10;
  head.replace(8, 2, word(length));
  return 'n' + word(head.size() + data_bytes) + head;
}

void of_parser(const fs::path& corpus, const StoreContents& contents) {
  const fs::path store = fs::temp_directory_path() / ("ramet-corpus-" + std::to_string(getpid()));
  write_store(store, contents);
  for (const auto& [name, array] : contents.arrays) {
    std::string file = name;
    std::replace(file.begin(), file.end(), '/', '-');
    put(corpus / "parser" / (file + ".npy"),
        short_npy(read(store / (name + ".npy")), size_t(array.bytes())));
    put(corpus / "parser" / (file + ".name"), "a" + name.substr(name.find('/') + 1));
  }
  put(corpus / "parser/ramet.txt", "m" + read(store / "ramet.txt"));
  fs::remove_all(store);
}

void of_segment(const fs::path& corpus, const StoreContents& contents, const std::string& name) {
  const auto store = make_segment(contents);
  struct stat status{};
  ::fstat(store->segment_fd(), &status);
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  if (::pread(store->segment_fd(), bytes.data(), bytes.size(), 0) != status.st_size) std::abort();
  const size_t toc =
      static_cast<unsigned char>(bytes[8]) + 256 * static_cast<unsigned char>(bytes[9]);
  put(corpus / "segment" / name, pack(bytes, size_t(kSegmentTocOffset) + toc));
  put(corpus / "parser" / (name + ".toc"), "s" + bytes.substr(size_t(kSegmentTocOffset), toc));
}

void of_graph(const fs::path& corpus, const StoreContents& contents, const std::string& name) {
  std::string arrays;
  for (const auto& [_, array] : contents.arrays)
    arrays.append(static_cast<const char*>(array.data), static_cast<size_t>(array.bytes()));
  const bool part = contents.part.has_value();
  for (const int kind : {0, 2, 1, 3, 1 + 8 + 16})
    put(corpus / "graph" / (name + "-" + std::to_string(kind)),
        std::string{static_cast<char>(part), static_cast<char>(kind), 3, 4} + arrays);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_corpus FOLDER\n");
    return 2;
  }
  const fs::path corpus = argv[1];
  for (const auto& [name, contents] :
       {std::pair("whole", small_contents()), std::pair("part", part_contents())}) {
    of_parser(corpus, contents);
    of_segment(corpus, contents, name);
    of_graph(corpus, contents, name);
  }
  return 0;
}
