#include "pulled_rows.h"

#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "exchange/message.h"
#include "exchange/routes.h"
#include "ramet/error.h"

namespace ramet {
namespace {

// The pull of one table's rows for one batch. Ranks ask each other for places.
class Pull {
 public:
  Pull(const TableRequest& request, std::span<const int64_t> ids, BufferPool& pool)
      : request_(request), pool_(pool) {
    routes_.build(ids, request.places->owners(), pool);
    places_.resize(ids.size());
    request.places->look_up(routes_.ids(), places_.data());
  }

  // Places of rows that are not in this process's addresses.
  [[nodiscard]] Message ask() const {
    std::vector<int64_t> counts, places;
    for_each_rank([&](size_t rank, std::span<const int64_t> of_rank) {
      const bool is_asked = !request_.reached[rank];
      counts.push_back(is_asked ? std::ssize(of_rank) : 0);
      if (is_asked) places.insert(places.end(), of_rank.begin(), of_rank.end());
    });
    const Values<int64_t> values[] = {{counts, places}};
    return write_message<int64_t>(values, counts.size(), pool_);
  }

  // The rows that others ask for.
  [[nodiscard]] Message answer(const Message& asked) const {
    const size_t ranks = request_.reached.size();
    const MessageReader<int64_t> places(asked, ranks, 1);
    Message rows;
    int64_t total = 0;
    for (size_t rank = 0; rank < ranks; ++rank) {
      rows.bytes.push_back(padded(std::ssize(places.values(0, rank)) * row_bytes()));
      total += rows.bytes.back();
    }
    rows.data = pool_.allocate_array(DType::kUInt8, {total});
    auto* out = static_cast<char*>(rows.data.data);
    for (size_t rank = 0; rank < ranks; ++rank) {
      require_own(places.values(0, rank), rank);
      request_.given->gather(places.values(0, rank), out);
      out += rows.bytes[rank];
    }
    return rows;
  }

  // All rows, in the order of the ids.
  [[nodiscard]] Array finish(const Message& answers, bool decode) const {
    const RowForm stored = request_.given->form(false), wanted = request_.given->form(decode);
    const auto count = static_cast<int64_t>(places_.size());
    const Array by_rank = pool_.allocate_array(stored.dtype, stored.shape_of(count));
    auto* to = static_cast<char*>(by_rank.data);
    const auto* from = static_cast<const char*>(answers.data.data);
    for_each_rank([&](size_t rank, std::span<const int64_t> places) {
      const int64_t bytes = std::ssize(places) * row_bytes();
      const int64_t expected = request_.reached[rank] ? 0 : padded(bytes);
      if (answers.bytes.at(rank) != expected)
        throw_error(ErrorCode::kCorrupt, "rank ", rank, " sent ", answers.bytes[rank],
                    " bytes of rows, expected ", expected);
      if (request_.reached[rank])
        request_.given->gather(places, to);
      else if (bytes > 0)
        std::memcpy(to, from, static_cast<size_t>(bytes));
      from += expected;
      to += bytes;
    });
    const std::vector<int64_t> order(routes_.place().begin(), routes_.place().end());
    Array rows = pool_.allocate_array(wanted.dtype, wanted.shape_of(count));
    const Table sorted(by_rank);
    if (wanted.dtype == stored.dtype)
      sorted.gather(order, rows.data);
    else
      sorted.gather_float32(order, static_cast<float*>(rows.data));
    return rows;
  }

 private:
  [[nodiscard]] int64_t row_bytes() const { return request_.given->rows().row_bytes(); }

  // body(rank, places of its rows).
  template <typename Body>
  void for_each_rank(Body&& body) const {
    size_t begin = 0;
    for (size_t rank = 0; rank < request_.reached.size(); ++rank) {
      const auto count = static_cast<size_t>(routes_.counts()[rank]);
      body(rank, std::span(places_).subspan(begin, count));
      begin += count;
    }
  }

  void require_own(std::span<const int64_t> places, size_t rank) const {
    const NodeRange own = request_.places->places_of(request_.rank);
    for (const int64_t place : places) {
      if (place >= own.begin && place < own.end) continue;
      throw_error(ErrorCode::kCorrupt, "rank ", rank, " asks for place ", place,
                  ", which is none of [", own.begin, ", ", own.end, "), the places of rank ",
                  request_.rank);
    }
  }

  const TableRequest& request_;
  BufferPool& pool_;
  Routes<int64_t> routes_;
  std::vector<int64_t> places_;  // in the order of routes_.ids()
};

}  // namespace

void pull_rows(const LoaderParts& parts, Batch* batch, const Exchange& exchange) {
  const std::vector<TableRequest>& requests = parts.options.tables;
  if (batch != nullptr) batch->tables.resize(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    if (!requests[i].is_pulled()) continue;
    const std::span<const int64_t> ids =
        batch == nullptr ? std::span<const int64_t>() : nodes_of(requests[i], batch->minibatch);
    const Pull pull(requests[i], ids, *parts.pool);
    const Message answers = exchange(pull.answer(exchange(pull.ask())));
    if (batch != nullptr) batch->tables[i] = pull.finish(answers, parts.options.decode);
  }
}

}  // namespace ramet
