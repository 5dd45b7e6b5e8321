#include "base/row_groups.h"

#include <doctest/doctest.h>

#include <map>
#include <mutex>
#include <vector>

#include "support/errors.h"
#include "support/ids.h"

using namespace ramet;
using namespace ramet::test;

namespace {

using Positions = std::map<int64_t, std::vector<int64_t>>;  // of each row

Positions visited(RowGroups& groups, int threads) {
  Positions positions;
  std::mutex mutex;
  groups.visit(threads, [&](const RowBucket& bucket) {
    const std::lock_guard lock(mutex);
    for (size_t i = 0; i < bucket.entries.size(); ++i) {
      if (i > 0) CHECK(bucket.row(i - 1) <= bucket.row(i));
      positions[bucket.row(i)].push_back(bucket.position(i));
    }
  });
  return positions;
}

}  // namespace

TEST_CASE("the positions of every row, in order, for any threads, rows and owner") {
  for (const int64_t rows :
       {int64_t{1}, int64_t{7}, int64_t{3000}, int64_t{1} << 20, int64_t{1} << 40}) {
    const auto first = drawn_ids(5000, rows, 1), second = drawn_ids(3000, rows, 2);
    const std::vector<RowList> lists = {{first, {}}, {}, {second, {}}};
    for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, rows}, {rows / 3, rows / 2}}) {
      Positions expected;
      int64_t position = 0;
      for (const RowList& list : lists) {
        for (const int64_t id : list.ids) {
          if (id >= begin && id < end) expected[id].push_back(position);
          ++position;
        }
      }
      for (const int threads : {1, 3}) {
        RowGroups groups(lists, rows, begin, end);
        CHECK(visited(groups, threads) == expected);
      }
    }
  }
}

TEST_CASE("an id outside the rows is an error that names it") {
  const std::vector<int64_t> ids = {0, 4, -1};
  const RowList list = {ids, {}};
  check_throws(ErrorCode::kOutOfRange, {"ids[1] = 4 is outside the 4 rows"},
               [&] { RowGroups(std::span(&list, 1), 4, 0, 4); });
}
