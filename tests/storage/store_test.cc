// Stores in folders and in segments: what is written is what is read. docs/format.md.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "ramet/store.h"
#include "ramet/store_writer.h"
#include "storage/memory_file.h"
#include "support/errors.h"
#include "support/fork.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"

namespace ramet::test {
namespace {

namespace fs = std::filesystem;

constexpr DType kAllDTypes[] = {DType::kBool,   DType::kInt8,    DType::kUInt8,   DType::kInt16,
                                DType::kUInt16, DType::kInt32,   DType::kUInt32,  DType::kInt64,
                                DType::kUInt64, DType::kFloat16, DType::kFloat32, DType::kFloat64};

// Every dtype, one to eight dimensions, empty arrays, and sizes around the chunk of 2 MiB.
OwnedContents everything() {
  OwnedContents all;
  all.contents.node_counts = {{"a", 5}, {"none", 0}, {"%5Fb", int64_t{1} << 62}};
  for (const DType dtype : kAllDTypes) {
    const std::string table = std::string("node/a/") + name(dtype);
    all.add(table, dtype, {5}, 1);
    all.add(table + ".matrix", dtype, {5, 3}, 2);
    all.add(table + ".empty", dtype, {0}, 3);
  }
  all.add("node/a/deep", DType::kInt16, {5, 1, 2, 1, 2, 1, 2, 3});
  all.add("node/a/no_columns", DType::kFloat32, {5, 0});
  all.add("node/none/no_rows", DType::kFloat32, {0, 7});
  const int64_t chunk = int64_t{2} << 20;
  for (const int64_t size : {chunk - 4097, chunk - 4096, chunk - 4095, chunk, 2 * chunk + 1})
    all.add("split/big/" + std::to_string(size), DType::kUInt8, {size}, 4);
  return all;
}

TEST_CASE("a folder holds what was written") {
  const TempDir dir;
  const OwnedContents all = everything();
  write_store(dir / "store", all.contents);
  const auto store = Store::open(dir / "store");
  check_equal(*store, all.contents);
  CHECK(store->path() == dir / "store");
  CHECK(store->segment_fd() == -1);
  CHECK(store->location("node/a/bool") == dir / "store/node/a/bool.npy");
  struct stat status{};
  REQUIRE(::stat((dir / "store").c_str(), &status) == 0);
  CHECK(store->identity() == std::pair<uint64_t, uint64_t>(status.st_dev, status.st_ino));
  CHECK(std::distance(fs::directory_iterator(dir.path()), {}) == 1);
}

TEST_CASE("a segment holds what was written") {
  const OwnedContents all = everything();
  const auto store = make_segment(all.contents);
  check_equal(*store, all.contents);
  CHECK(store->path().empty());
  CHECK(store->location("node/a/bool") == "segment:node/a/bool");
  const auto again = Store::open_segment(store->segment_fd());
  check_equal(*again, all.contents);
  CHECK(again->identity() == store->identity());
  CHECK(again->segment_fd() != store->segment_fd());
}

TEST_CASE("a store without arrays or nodes is a store") {
  const TempDir dir;
  write_store(dir / "store", {});
  CHECK(Store::open(dir / "store")->arrays().empty());
  CHECK(make_segment({})->node_counts().empty());
}

TEST_CASE("big arrays can have huge pages: their data lies as in the file, modulo 2 MiB") {
  const TempDir dir;
  OwnedContents big;
  big.add("node/a/feat", DType::kUInt8, {5 << 20});
  write_store(dir / "store", big.contents);
  const auto address = [](const Store& store) {
    return reinterpret_cast<uintptr_t>(store.arrays().at("node/a/feat").data) % (2 << 20);
  };
  CHECK(address(*Store::open(dir / "store")) == 4096);
  CHECK(address(*make_segment(big.contents)) == 0);
}

// That of an array is like it, and writable without an effect on it.
void check_private_copy(const Store& store, const std::string& name) {
  CAPTURE(name);
  const Array& array = store.arrays().at(name);
  const Array copy = store.copy_on_write(name);
  CHECK(copy.writable);
  CHECK(copy.describe() == array.describe());
  const std::string before = bytes_of(array);
  CHECK(bytes_of(copy) == before);
  std::memset(copy.data, 0xff, static_cast<size_t>(copy.bytes()));
  CHECK(bytes_of(array) == before);
}

TEST_CASE("copy-on-write is writable and private") {
  const TempDir dir;
  const OwnedContents graph = small_graph();
  write_store(dir / "store", graph.contents);
  const std::shared_ptr<const Store> stores[] = {Store::open(dir / "store"),
                                                 make_segment(graph.contents)};
  for (const auto& store : stores) {
    CHECK(!store->arrays().at("node/paper/feat").writable);
    for (const auto& [name, array] : store->arrays()) {
      check_private_copy(*store, name);
      check_private_copy(*store, name);
    }
    check_equal(*store, graph.contents);
    check_throws(ErrorCode::kNotFound, {"no array 'node/paper/ears'"},
                 [&] { return store->copy_on_write("node/paper/ears"); });
  }
  const auto opened = Store::open(dir / "store", OpenMode::kCopyOnWrite);
  CHECK(opened->arrays().at("node/paper/feat").writable);
  check_equal(*Store::open(dir / "store"), graph.contents);
}

TEST_CASE("arrays outlive the store, its files and its segment") {
  const TempDir dir;
  const OwnedContents graph = small_graph();
  write_store(dir / "store", graph.contents);
  auto folder = Store::open(dir / "store");
  auto segment = make_segment(graph.contents);
  const Array from_folder = folder->arrays().at("node/paper/feat");
  const Array from_segment = segment->arrays().at("node/paper/feat");
  fs::remove_all(dir / "store");
  check_equal(*folder, graph.contents);
  check_private_copy(*folder, "node/paper/feat");
  folder.reset();
  segment.reset();
  CHECK(bytes_of(from_folder) == bytes_of(graph.contents.arrays[0].second));
  CHECK(bytes_of(from_segment) == bytes_of(graph.contents.arrays[0].second));
}

TEST_CASE("a store that was moved still gives its copy-on-write view") {
  const TempDir dir;
  const OwnedContents graph = small_graph();
  write_store(dir / "store", graph.contents);
  const auto store = Store::open(dir / "store");
  fs::rename(dir / "store", dir / "elsewhere");
  check_private_copy(*store, "node/paper/feat");
}

TEST_CASE("a copy-on-write view of a file that is another by now is refused") {
  const TempDir dir;
  write_store(dir / "store", small_graph().contents);
  const auto store = Store::open(dir / "store");
  fs::copy_file(dir / "store/split/train/paper.npy", dir / "store/node/paper/feat.npy",
                fs::copy_options::overwrite_existing);
  check_throws(ErrorCode::kCorrupt, {"feat.npy", "int64[2]", "float32[4, 3]"},
               [&] { return store->copy_on_write("node/paper/feat"); });
}

TEST_CASE("every store that is written has an id of its own, and one without is read") {
  const TempDir dir;
  write_store(dir / "a", small_graph().contents);
  write_store(dir / "b", small_graph().contents);
  const auto id = Store::open(dir / "a")->id();
  CHECK(id.has_value());
  CHECK(id == Store::open(dir / "a")->id());
  CHECK(id != Store::open(dir / "b")->id());
  CHECK(!make_segment(small_graph().contents)->id().has_value());
  write_file(dir / "a/ramet.txt", "ramet-store 1\nnode paper 4\n");
  check_equal(*Store::open(dir / "a"), small_graph().contents);
  CHECK(!Store::open(dir / "a")->id().has_value());
}

TEST_CASE("links to stores and to arrays are followed") {
  const TempDir dir;
  const OwnedContents graph = small_graph();
  write_store(dir / "real", graph.contents);
  fs::rename(dir / "real/node/paper/feat.npy", dir / "feat.npy");
  fs::create_symlink(dir / "feat.npy", dir / "real/node/paper/feat.npy");
  fs::create_symlink("real", dir / "link");
  check_equal(*Store::open(dir / "link/"), graph.contents);
}

TEST_CASE("dot files and checksums.txt are not part of a store") {
  const TempDir dir;
  const OwnedContents graph = small_graph();
  write_store(dir / "store", graph.contents);
  for (const char* name : {"checksums.txt", ".note", "node/.note", "node/paper/.feat.npy.swp"})
    write_file(dir / "store/" + name, "anything");
  check_equal(*Store::open(dir / "store"), graph.contents);
}

// What numpy.save writes: a header as short as possible, padded to a multiple of 64 bytes.
std::string numpy_file(std::string dict, const std::string& data, char version) {
  const size_t prefix = version == 1 ? 10 : 12;
  dict.resize((prefix + dict.size() + 64) / 64 * 64 - prefix - 1, ' ');
  dict += '\n';
  std::string file("\x93NUMPY", 6);
  file +=
      {version, '\0', static_cast<char>(dict.size() & 255), static_cast<char>(dict.size() >> 8)};
  if (version == 2) file += {'\0', '\0'};
  return file + dict + data;
}

TEST_CASE("arrays that numpy wrote are read, in versions 1.0 and 2.0") {
  const TempDir dir;
  write_file(dir / "ramet.txt", "ramet-store 1\nnode paper 2\n");
  const std::string data = "abcdefgh";
  for (const char version : {'\x01', '\x02'}) {
    for (const std::string dict : {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
                                   "{\"shape\":(2,),'descr':'<f4','fortran_order':False}"}) {
      write_file(dir / "node/paper/feat.npy", numpy_file(dict, data, version));
      const auto store = Store::open(dir.path());
      const Array& feat = store->arrays().at("node/paper/feat");
      CHECK(feat.describe() == "float32[2]");
      CHECK(bytes_of(feat) == data);
    }
  }
  const std::string long_dict =
      "{'descr': '<f4'," + std::string(9000, ' ') + "'fortran_order': False, 'shape': (1, 2)}";
  write_file(dir / "node/paper/feat.npy", numpy_file(long_dict, data, 1));
  CHECK(Store::open(dir.path())->arrays().at("node/paper/feat").describe() == "float32[1, 2]");
}

TEST_CASE("a segment is sealed, read-only and gone in programs that are started") {
  const auto store = make_segment(small_graph().contents);
  const int fd = store->segment_fd();
  const int wanted =
      F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | (seals_against_writing() ? F_SEAL_WRITE : 0);
  CHECK((::fcntl(fd, F_GET_SEALS) & wanted) == wanted);
  CHECK((::fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
  CHECK((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("memory is sealed against writing, but where a GPU's driver may have to lock it") {
  const TempDir root;
  CHECK(seals_against_writing(root.path()));
  write_file(root / "proc/driver/nvidia/version", "NVRM version: 580");
  CHECK(!seals_against_writing(root.path()));
}

TEST_CASE("a forked child reads both forms") {
  const TempDir dir;
  const OwnedContents graph = small_graph();
  write_store(dir / "store", graph.contents);
  const auto folder = Store::open(dir / "store");
  const auto segment = make_segment(graph.contents);
  CHECK(holds_in_child([&] {
    const std::string expected = bytes_of(graph.contents.arrays[0].second);
    const std::shared_ptr<const Store> stores[] = {folder, segment,
                                                   Store::open_segment(segment->segment_fd())};
    return std::all_of(std::begin(stores), std::end(stores), [&](const auto& store) {
      return bytes_of(store->arrays().at("node/paper/feat")) == expected;
    });
  }));
}

}  // namespace
}  // namespace ramet::test
