#include "ramet/pages.h"

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "ramet/store_writer.h"
#include "storage/row_reads.h"
#include "storage/smaps.h"
#include "support/marked_store.h"
#include "support/temp_dir.h"

using namespace ramet;

namespace {

constexpr const char* kSmaps =
    "7f0000000000-7f0000400000 r--s 00000000 fe:00 77    /data/a-b: Rss.npy\n"
    "Size:               4096 kB\n"
    "KernelPageSize:        4 kB\n"
    "Rss:                3072 kB\n"
    "Pss:                1024 kB\n"
    "AnonHugePages:         0 kB\n"
    "ShmemPmdMapped:        0 kB\n"
    "FilePmdMapped:      2048 kB\n"
    "VmFlags: rd sh mr mw me ms hg \n"
    "7f0000400000-7f0000600000 rw-p 00000000 00:00 0 \n"
    "Size:               2048 kB\n"
    "Rss:                2048 kB\n"
    "AnonHugePages:      2048 kB\n"
    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]\n"
    "Size:                  4 kB\n";

PageUse use_of(std::vector<Addresses> ranges, std::string_view smaps = kSmaps) {
  return parse_smaps(smaps, ranges);
}

}  // namespace

TEST_CASE("the mappings that hold an array are counted, and each once") {
  const PageUse file = use_of({{0x7f0000001000, 0x7f0000002000}, {0x7f0000003000, 0x7f0000400000}});
  CHECK(file.mapped == 4096 * 1024);
  CHECK(file.resident == 3072 * 1024);
  CHECK(file.huge == 2048 * 1024);
  const PageUse both = use_of({{0x7f00003fffff, 0x7f0000400001}});
  CHECK(both.mapped == 6144 * 1024);
  CHECK(both.huge == 4096 * 1024);
  CHECK(use_of({{0x7f0000600000, 0x7f0000700000}}).mapped == 0);
  CHECK(use_of({}).mapped == 0);
}

TEST_CASE("a text that is not understood counts nothing") {
  for (const char* text : {"", "\n\n", "-", "7f00-", "zz-7f00 r\nSize: 4 kB", "Size: 4 kB\n",
                           "0-7f0000600000 r\nSize:\nRss: kB\nHuge: 4 kB\nRss"}) {
    const PageUse use = use_of({{0x1000, 0x2000}}, text);
    CHECK(use.mapped + use.resident + use.huge == 0);
  }
  CHECK(parse_status("Name:\tx\nVmPTE:\t     120 kB\nVmPTEs:\t 5 kB\n", "VmPTE") == 120 * 1024);
  CHECK(parse_status("", "VmPTE") == 0);
}

TEST_CASE("a store in memory and one in a folder say which pages they are on") {
  const test::OwnedContents contents = test::marked(1);
  const test::TempDir folder;
  write_store(folder / "store", contents.contents);
  for (const auto& store : {make_segment(contents.contents), Store::open(folder / "store")}) {
    const PageUse use = page_use(*store);
    CHECK(use.huge <= use.resident);
    CHECK(use.resident <= use.mapped);
    CHECK((use.mapped == 0 || use.mapped >= contents.contents.bytes()));
    test::check_equal(*store, contents.contents);
  }
}

TEST_CASE(
    "memory gives up tables first, all where topology takes half of it, and small arrays never") {
  constexpr int64_t kMiB = 1 << 20;
  std::map<std::string, Array> arrays;
  const auto add = [&](const std::string& name, int64_t bytes) {
    arrays[name] = {nullptr, DType::kUInt8, {bytes}, nullptr, false};
  };
  add("node/paper/feat", 40 * kMiB);
  add("node/paper/year", 30 * kMiB);
  add("edge/a__to__b/weight", 25 * kMiB);
  add("edge/a__to__b/indices", 50 * kMiB);
  add("edge/a__to__b/indptr", 10 * kMiB);
  add("node/paper/label", kMiB);
  const auto given_up = [&](int64_t available) {
    return beyond_memory(arrays, [=] { return available; });
  };
  using Names = std::set<std::string>;
  const Names feat{"node/paper/feat"};
  const Names large{"node/paper/feat", "node/paper/year", "edge/a__to__b/weight",
                    "edge/a__to__b/indices", "edge/a__to__b/indptr"};
  CHECK(given_up(156 * kMiB) == Names{});
  CHECK(given_up(156 * kMiB - 1) == feat);
  CHECK(given_up(120 * kMiB) == feat);  // of topology there are 60
  CHECK(given_up(119 * kMiB) == large);
  CHECK(given_up(0) == large);
  arrays.erase("node/paper/feat");
  arrays.erase("edge/a__to__b/indices");
  arrays.erase("node/paper/year");
  arrays.erase("edge/a__to__b/weight");
  CHECK(beyond_memory(arrays, []() -> int64_t {
          FAIL("asked");
          return 0;
        }).empty());
}

TEST_CASE("an array that is read by row has the kernel's flags of that, its neighbors have not") {
  const test::TempDir folder;
  test::OwnedContents contents;
  contents.add("node/a/x", DType::kUInt8, {5 << 20});
  contents.add("node/a/y", DType::kUInt8, {5 << 20});
  write_store(folder / "store", contents.contents);
  const auto store = Store::open(folder / "store");
  CHECK(store->read_by_row().empty());
  const auto flags_of = [&](const std::string& file) {
    std::ifstream smaps("/proc/self/smaps");
    bool inside = false;
    for (std::string line; std::getline(smaps, line);) {
      if (line.find(" r--s ") != line.npos) inside = line.find(file) != line.npos;
      if (inside && line.starts_with("VmFlags:")) return line + " ";
    }
    return std::string();
  };
  const Array& x = store->arrays().at("node/a/x");
  advise_row_reads(x);
  if (flags_of("x.npy").empty()) return;  // no /proc
  CHECK(flags_of("x.npy").find(" rr ") != std::string::npos);
  CHECK(flags_of("x.npy").find(" hg ") == std::string::npos);
  CHECK(flags_of("y.npy").find(" rr ") == std::string::npos);
  read_ahead(x.data, x.bytes());
  test::check_equal(*store, contents.contents);
}

TEST_CASE("moving memory to huge pages changes no byte, and memory that is not there is no error") {
  constexpr size_t kBytes = (size_t{6} << 20) + 777;
  std::vector<char> bytes(kBytes);
  for (size_t i = 0; i < kBytes; ++i)
    bytes[i] = static_cast<char>(i % 251);
  const std::vector<char> twin = bytes;
  static_cast<void>(collapse_pages(reinterpret_cast<uintptr_t>(bytes.data()), kBytes));
  CHECK(bytes == twin);
  CHECK(collapse_pages(reinterpret_cast<uintptr_t>(bytes.data()) + 5, 100));  // no whole page
  CHECK_FALSE(collapse_pages(uintptr_t{1} << 21, int64_t{8} << 20));
}
