#include "ramet/pages.h"

#include <doctest/doctest.h>

#include <cstring>

#include "marked_store.h"
#include "ramet/store_writer.h"
#include "storage/smaps.h"
#include "temp_dir.h"

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

PageUse use_of(std::vector<AddressRange> ranges, std::string_view smaps = kSmaps) {
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
