#include "ramet/row_exchange.h"

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <vector>

#include "ramet/table_rows.h"
#include "support/listed.h"
#include "support/store_fixture.h"

using namespace ramet;
using ramet::test::check_throws;
using ramet::test::Listed;
using ramet::test::writable;

namespace {

constexpr int64_t kExchangedRows = 40, kExchangedWidth = 3;
constexpr size_t kParts = 4;

// Ranks of several machines: unequal shares, one of them empty.
struct Ranks {
  std::vector<int64_t> bounds = {0, 7, 7, 30, kExchangedRows};
  std::vector<int> machines;
  RowPositions positions;

  Ranks(std::vector<int> machine_of, bool strided)
      : machines(std::move(machine_of)), positions(make(strided)) {}

  [[nodiscard]] RowPositions make(bool strided) const {
    const Ownership owners = Ownership::ranges(borrow(bounds));
    return strided ? RowPositions::strided(owners, 64) : RowPositions::dense(owners);
  }
  [[nodiscard]] std::vector<bool> is_local(size_t rank) const {
    std::vector<bool> result;
    for (const int machine : machines)
      result.push_back(machine == machines[rank]);
    return result;
  }
  [[nodiscard]] std::vector<int64_t> position_of(std::span<const int64_t> ids) const {
    std::vector<int64_t> found(ids.size());
    positions.look_up(ids, found.data());
    return found;
  }
};

const std::vector<std::vector<int>> kMachines = {
    {0, 0, 0, 0}, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 2, 3}};

// What rank `to` gets where every rank sends one of `sent`.
Message received(const std::vector<Message>& sent, size_t to) {
  Message message;
  const auto bytes = std::make_shared<std::vector<std::byte>>();
  for (const Message& from : sent) {
    const auto* at = static_cast<const std::byte*>(from.data.data);
    for (size_t rank = 0; rank < to; ++rank)
      at += from.bytes[rank];
    message.bytes.push_back(from.bytes[to]);
    bytes->insert(bytes->end(), at, at + from.bytes[to]);
  }
  message.data = {bytes->data(), DType::kUInt8, {std::ssize(*bytes)}, bytes, false};
  return message;
}

template <typename Body>
void for_all_ranks(Body body) {
  for (const auto& machines : kMachines) {
    for (const bool strided : {false, true})
      body(Ranks(machines, strided));
  }
}

// Rows by position that say whose they are; only those of rank's machine.
std::vector<float> rows_of_machine(const Ranks& ranks, size_t rank) {
  std::vector<float> rows(static_cast<size_t>(ranks.positions.num_positions() * kExchangedWidth),
                          -1);
  for (int64_t id = 0; id < kExchangedRows; ++id) {
    const int64_t owner = ranks.positions.owners().owner(id);
    if (!ranks.is_local(rank)[static_cast<size_t>(owner)]) continue;
    const int64_t position = ranks.position_of(std::span(&id, 1))[0];
    for (int64_t c = 0; c < kExchangedWidth; ++c)
      rows[static_cast<size_t>(position * kExchangedWidth + c)] = static_cast<float>(id * 10 + c);
  }
  return rows;
}

}  // namespace

TEST_CASE("owners get the rows of all ranks, in order, and others get nothing") {
  for_all_ranks([](const Ranks& ranks) {
    for (const Repeats repeats : {Repeats::kAll, Repeats::kLast}) {
      std::vector<Listed> given;
      std::vector<std::vector<int64_t>> first, second;
      std::vector<std::vector<RowList>> lists;
      std::vector<Message> sent;
      for (size_t rank = 0; rank < kParts; ++rank)
        given.emplace_back(30, kExchangedRows, kExchangedWidth, rank + 1);
      for (size_t rank = 0; rank < kParts; ++rank) {
        first.push_back(ranks.position_of(given[rank].part(0, 20).ids));
        second.push_back(ranks.position_of(given[rank].part(20, 30).ids));
      }
      for (size_t rank = 0; rank < kParts; ++rank) {
        lists.push_back({{first[rank], given[rank].part(0, 20).rows},
                         {second[rank], given[rank].part(20, 30).rows}});
        sent.push_back(push(lists[rank], ranks.positions, ranks.is_local(rank), repeats, 2));
      }
      const auto total = static_cast<size_t>(ranks.positions.num_positions() * kExchangedWidth);
      for (size_t owner = 0; owner < kParts; ++owner) {
        const Message message = received(sent, owner);
        std::vector<RowList> all, expected;
        const auto* at = static_cast<const std::byte*>(message.data.data);
        for (size_t rank = 0; rank < kParts; ++rank) {
          const auto bytes = static_cast<size_t>(message.bytes[rank]);
          CHECK((bytes == 0) == ranks.is_local(owner)[rank]);
          if (bytes == 0) continue;
          const auto came = unpack({at, bytes}, {DType::kFloat32, {kExchangedWidth}},
                                   ranks.positions.num_positions(), "rank");
          all.insert(all.end(), came.begin(), came.end());
          expected.insert(expected.end(), lists[rank].begin(), lists[rank].end());
          at += bytes;
        }
        const NodeRange own = ranks.positions.positions_of(static_cast<int64_t>(owner));
        for (const auto& [ids, rows] : all)
          for (const int64_t id : ids)
            CHECK((id >= own.begin && id < own.end));
        std::vector<float> table(total), twin(total);
        const auto write = repeats == Repeats::kAll ? sum_rows : set_rows;
        write(writable(table, kExchangedWidth), all, own, 1);
        write(writable(twin, kExchangedWidth), expected, own, 1);
        CHECK(table == twin);
      }
    }
  });
}

TEST_CASE("of a row that is given many times the last travels, once") {
  const Ranks ranks({0, 0, 1, 1}, true);
  const Listed given(500, kExchangedRows, kExchangedWidth, 9);
  const auto positions = ranks.position_of(given.list().ids);
  const std::vector<RowList> lists = {{positions, given.list().rows}};
  const auto message = push(lists, ranks.positions, ranks.is_local(0), Repeats::kLast);
  CHECK(message.bytes[0] == 0);
  CHECK(message.bytes[1] == 0);
  const auto* at = static_cast<const std::byte*>(message.data.data);
  int64_t rows = 0;
  for (const size_t part : {2U, 3U}) {
    const auto bytes = static_cast<size_t>(message.bytes[part]);
    const auto came = unpack({at, bytes}, {DType::kFloat32, {kExchangedWidth}}, 256, "rank 0");
    rows += std::ssize(came[0].ids);
    at += bytes;
  }
  CHECK(rows == 33);  // ids 7 to 39
}

TEST_CASE("every rank pulls what a rank with all rows has, each row once") {
  for_all_ranks([](const Ranks& ranks) {
    const std::vector<bool> everyone(kParts, true);
    std::vector<std::vector<float>> rows;
    std::vector<std::vector<int64_t>> wanted;
    std::vector<RowPull> pulls;
    std::vector<Message> requests, answers;
    const RowForm form = {DType::kFloat32, {kExchangedWidth}};
    for (size_t rank = 0; rank < kParts; ++rank) {
      rows.push_back(rows_of_machine(ranks, rank));
      const Listed ids(static_cast<int64_t>(rank) * 50, kExchangedRows, 1, rank);
      wanted.push_back(ranks.position_of(ids.list().ids));
    }
    const auto table = [&](size_t rank) { return Table(writable(rows[rank], kExchangedWidth)); };
    for (size_t rank = 0; rank < kParts; ++rank) {
      pulls.emplace_back(wanted[rank], ranks.positions, ranks.is_local(rank), form);
      requests.push_back(pulls[rank].requests());
      for (size_t k = 0; k < kParts; ++k) {
        CHECK(requests[rank].bytes[k] <=
              8 * ranks.positions.positions_of(static_cast<int64_t>(k)).size());
        if (ranks.is_local(rank)[k]) CHECK(requests[rank].bytes[k] == 0);
      }
    }
    for (size_t rank = 0; rank < kParts; ++rank)
      answers.push_back(RowPull::answer(received(requests, rank), table(rank),
                                        ranks.positions.positions_of(static_cast<int64_t>(rank)),
                                        2));
    for (size_t rank = 0; rank < kParts; ++rank) {
      std::vector<float> out(wanted[rank].size() * kExchangedWidth);
      pulls[rank].finish(received(answers, rank), table(rank).rows(),
                         writable(out, kExchangedWidth), 2);
      const Listed ids(static_cast<int64_t>(rank) * 50, kExchangedRows, 1, rank);
      for (size_t i = 0; i < out.size(); ++i)
        CHECK(out[i] == static_cast<float>(ids.list().ids[i / kExchangedWidth] * 10 +
                                           static_cast<int64_t>(i % kExchangedWidth)));
    }
  });
}

TEST_CASE("narrow rows are pulled as they are, or as float32") {
  const Ranks ranks({0, 1, 1, 1}, true);
  std::vector<uint16_t> bits(static_cast<size_t>(ranks.positions.num_positions()));
  for (size_t i = 0; i < bits.size(); ++i)
    bits[i] = static_cast<uint16_t>(0x3f80 + i % 100);
  const Table table({bits.data(), DType::kBFloat16, {std::ssize(bits), 1}, nullptr, true});
  const std::vector<int64_t> wanted = {0, 130, 6, 130};
  const RowPull pull(wanted, ranks.positions, ranks.is_local(0), {DType::kBFloat16, {1}});
  const Message requests = pull.requests();
  CHECK(requests.bytes == std::vector<int64_t>{0, 0, 8, 0});
  Message mine{{8, 0, 0, 0}, requests.data};
  const Message rows = RowPull::answer(mine, table, ranks.positions.positions_of(2));
  const Message answers{{0, 0, 8, 0}, rows.data};
  std::vector<float> wide(4);
  pull.finish(answers, table.rows(), writable(wide, 1));
  for (size_t i = 0; i < 4; ++i) {
    const uint32_t word = uint32_t{bits[static_cast<size_t>(wanted[i])]} << 16;
    float value = 0;
    std::memcpy(&value, &word, sizeof value);
    CHECK(wide[i] == value);
  }
  std::vector<uint16_t> narrow(4);
  pull.finish(answers, table.rows(), {narrow.data(), DType::kBFloat16, {4, 1}, nullptr, true});
  CHECK(narrow[1] == bits[130]);
}

TEST_CASE("requests and answers that lie are refused") {
  const Ranks ranks({0, 0, 1, 1}, true);
  std::vector<float> rows = rows_of_machine(ranks, 0);
  const Table table(writable(rows, kExchangedWidth));
  const NodeRange own = ranks.positions.positions_of(0);
  const auto ask = [&](std::vector<int64_t> bytes, std::vector<int64_t> positions) {
    const Array data{positions.data(), DType::kUInt8, {std::ssize(positions) * 8}, nullptr, false};
    return RowPull::answer({std::move(bytes), data}, table, own);
  };
  for (const int64_t position : {int64_t{-1}, int64_t{7}, int64_t{1} << 62})
    check_throws(ErrorCode::kCorrupt, {"rank 2 asked for position", "lie in [0, 7)"},
                 [&] { ask({0, 0, 8, 0}, {position}); });
  for (const int64_t bytes : {-8, 4, 16})
    check_throws(ErrorCode::kCorrupt, {"rank 2 sent", "no requests"},
                 [&] { ask({0, 0, bytes, 0}, {0}); });
  const std::vector<int64_t> wanted = {128, 129};
  const RowPull pull(wanted, ranks.positions, ranks.is_local(0),
                     {DType::kFloat32, {kExchangedWidth}});
  std::vector<float> out(2 * kExchangedWidth);
  std::vector<int64_t> answer(3);
  const Array data{answer.data(), DType::kUInt8, {24}, nullptr, false};
  pull.finish({{0, 0, 24, 0}, data}, table.rows(), writable(out, kExchangedWidth));
  for (const std::vector<int64_t>& bytes : {std::vector<int64_t>{0, 0, 0, 24}, {0, 0, 16, 8}, {24}})
    check_throws(ErrorCode::kCorrupt, {"answered"},
                 [&] { pull.finish({bytes, data}, table.rows(), writable(out, kExchangedWidth)); });
}
