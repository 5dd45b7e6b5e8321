#include "cuda_id_exchange.h"

#include <string>
#include <utility>

#include "exchange/incoming_ids.h"
#include "ramet/error.h"
#include "sampling/relation_builder.h"

namespace ramet {

template <typename Id>
CudaIdExchange<Id>::CudaIdExchange(const CudaWork& work,
                                   std::vector<CudaNodes>& nodes,
                                   const Membership& membership,
                                   const std::vector<AskedNodes>& names,
                                   BufferPool& host)
    : work_(work),
      nodes_(nodes),
      membership_(membership),
      names_(names),
      host_(host),
      ranks_(static_cast<size_t>(membership.ranks())),
      types_(nodes.size()),
      report_(work, ends(nodes.size())) {
  for (size_t t = 0; t < types_.size(); ++t)
    copy_owners(types_[t], membership.owners[t]);
}

template <typename Id>
void CudaIdExchange<Id>::copy_owners(OfType& type, const Ownership& ownership) const {
  const Array& vector = ownership.vector();
  const Array begins = borrow(ownership.begins());
  const Array& copied = vector.data != nullptr ? vector : begins;
  void* there = type.owners_memory.reserve(work_, copied.bytes());
  work_.copy(there, copied.data, copied.bytes());
  type.owners.parts = ownership.parts();
  if (vector.data != nullptr) {
    type.owners.vector = there;
    type.owners.wide_vector = vector.dtype == DType::kUInt16;
  } else if (ownership.is_ranges()) {
    type.owners.begins = static_cast<const int64_t*>(there);
    type.owners.num_begins = begins.rows();
  } else {
    type.owners.is_hash = true;
    type.owners.key = ownership.hash_key();
  }
}

template <typename Id>
Message CudaIdExchange<Id>::ask(std::span<const int64_t> num_own) {
  report_.clear_bad(bad(0), types_.size());
  for (size_t t = 0; t < types_.size(); ++t)
    sort(t, num_own[t]);
  report_.wait();
  for (size_t t = 0; t < types_.size(); ++t)
    count(t, num_own[t]);
  return write();
}

template <typename Id>
void CudaIdExchange<Id>::sort(size_t t, int64_t num_own) {
  OfType& type = types_[t];
  type.num_found = nodes_[t].size() - num_own;
  type.sorted = work_.allocate(kDTypeOf<Id>, type.num_found);
  if (type.num_found > 0) {
    const int64_t num_counts = cuda_route_counts(type.num_found, type.owners.parts);
    work_.kernels.route(work_.device,
                        {.owners = type.owners,
                         .nodes = nodes_[t].ids() + num_own,
                         .id_bits = names_[t].id_bits,
                         .num_nodes = type.num_found,
                         .owner = owner_.reserve(work_, type.num_found),
                         .before = before_.reserve(work_, type.num_found),
                         .counts = counts_.reserve(work_, num_counts),
                         .positions = type.positions.reserve(work_, type.num_found),
                         .sorted = type.sorted.data,
                         .wide_sorted = sizeof(Id) == sizeof(int64_t),
                         .ends = report_.at(ends(t)),
                         .bad = report_.bad(bad(t))},
                        sums_.reserve(work_, num_counts), work_.stream);
  }
  nodes_[t].keep(num_own);
  nodes_[t].append({});
}

// Known now: how many each rank owns.
template <typename Id>
void CudaIdExchange<Id>::count(size_t t, int64_t num_own) {
  OfType& type = types_[t];
  if (report_.is_bad(bad(t))) {
    const int64_t node = work_.read(nodes_[t].ids() + num_own + report_[bad(t)]);
    membership_.owners[t].throw_bad_entry(names_[t].id(node));
  }
  type.counts.assign(ranks_, 0);
  for (size_t rank = 0; rank < ranks_ && type.num_found > 0; ++rank)
    type.counts[rank] = report_[ends(t) + rank] - (rank == 0 ? 0 : report_[ends(t) + rank - 1]);
}

template <typename Id>
Message CudaIdExchange<Id>::write() const {
  const size_t types = types_.size();
  Message message;
  const Array heads = host_.allocate_array(DType::kInt64, {static_cast<int64_t>(ranks_ * types)});
  auto* head = static_cast<int64_t*>(heads.data);
  int64_t total = 0;
  for (size_t rank = 0; rank < ranks_; ++rank) {
    int64_t bytes = static_cast<int64_t>(types) * kMessageUnit;
    for (size_t t = 0; t < types; ++t) {
      head[rank * types + t] = types_[t].counts[rank];
      bytes += padded_to_message_unit(types_[t].counts[rank] * int64_t{sizeof(Id)});
    }
    message.bytes.push_back(bytes);
    total += bytes;
  }
  message.data = work_.allocate(DType::kUInt8, total);
  work_.fill(message.data.data, 0, total);
  auto* out = static_cast<char*>(message.data.data);
  std::vector<int64_t> first(types);
  for (size_t rank = 0; rank < ranks_; ++rank) {
    const int64_t head_bytes = static_cast<int64_t>(types) * kMessageUnit;
    work_.copy(out, head + rank * types, head_bytes);
    out += head_bytes;
    for (size_t t = 0; t < types; ++t) {
      const int64_t count = types_[t].counts[rank], bytes = count * int64_t{sizeof(Id)};
      work_.copy(out, static_cast<const Id*>(types_[t].sorted.data) + first[t], bytes);
      first[t] += count;
      out += padded_to_message_unit(bytes);
    }
  }
  work_.wait();
  return message;
}

// Of ranks up to the first whose bytes are too few or too many, which the reader finds, too.
template <typename Id>
Array CudaIdExchange<Id>::heads_of(const Message& from_ranks) const {
  if (from_ranks.data.device != work_.device || from_ranks.bytes.size() != ranks_)
    throw_invalid("a message of ", from_ranks.bytes.size(), " ranks on device ",
                  from_ranks.data.device, ", expected ", ranks_, " and ", work_.device);
  const auto head_bytes = static_cast<int64_t>(types_.size()) * kMessageUnit;
  const Array heads = host_.allocate_array(
      DType::kInt64, {static_cast<int64_t>(ranks_), static_cast<int64_t>(types_.size())});
  const auto* at = static_cast<const char*>(from_ranks.data.data);
  int64_t left = from_ranks.data.bytes();
  for (size_t rank = 0; rank < ranks_; ++rank) {
    const int64_t bytes = from_ranks.bytes[rank];
    if (bytes < head_bytes || bytes > left) break;
    work_.copy(static_cast<int64_t*>(heads.data) + rank * types_.size(), at, head_bytes);
    at += bytes;
    left -= bytes;
  }
  work_.wait();
  return heads;
}

template <typename Id>
void CudaIdExchange<Id>::receive(const Message& from_ranks) {
  const Array heads = heads_of(from_ranks);
  const MessageReader<Id> from(from_ranks, ranks_, types_.size(),
                               static_cast<const int64_t*>(heads.data));
  report_.clear_bad(bad(0), types_.size());
  for (size_t t = 0; t < types_.size(); ++t)
    append(from, t);
  report_.wait();
  for (size_t t = 0; t < types_.size(); ++t) {
    require_own(t);
    nodes_[t].set_size(report_[size(t)]);
  }
}

template <typename Id>
void CudaIdExchange<Id>::append(const MessageReader<Id>& from, size_t t) {
  OfType& type = types_[t];
  CudaNodes& nodes = nodes_[t];
  const AskedNodes& names = names_[t];
  type.asked.clear();
  type.asked_counts.clear();
  int64_t total = 0;
  for (size_t rank = 0; rank < ranks_; ++rank) {
    const std::span<const Id> asked = from.values(t, rank);
    type.asked.push_back(asked.data());
    type.asked_counts.push_back(std::ssize(asked));
    total += std::ssize(asked);
  }
  if (total > kCudaMaxEdges) throw_too_many_nodes();
  type.send_rows = work_.allocate(DType::kInt32, total);
  nodes.reserve(total);
  int64_t* sources = sources_.reserve(work_, total);
  int64_t first = 0;
  for (size_t rank = 0; rank < ranks_; ++rank) {
    work_.kernels.load_asked(work_.device,
                             {.nodes = type.asked[rank],
                              .wide = sizeof(Id) == sizeof(int64_t),
                              .first = first,
                              .count = type.asked_counts[rank],
                              .begin = names.own.begin,
                              .end = names.own.end,
                              .id_bits = names.id_bits,
                              .num_trees = names.num_trees,
                              .sources = sources,
                              .table = nodes.table(),
                              .bad = report_.bad(bad(t))},
                             work_.stream);
    first += type.asked_counts[rank];
  }
  nodes.number({sources, total}, static_cast<int32_t*>(type.send_rows.data), sums_);
  report_.set(size(t), nodes.device_size());
}

template <typename Id>
void CudaIdExchange<Id>::require_own(size_t t) const {
  if (!report_.is_bad(bad(t))) return;
  const OfType& type = types_[t];
  int64_t at = report_[bad(t)];
  size_t rank = 0;
  while (at >= type.asked_counts[rank])
    at -= type.asked_counts[rank++];
  const Id node = work_.read(type.asked[rank] + at);
  IncomingIds<Id>::check({&node, 1}, names_[t], rank);
}

template <typename Id>
ExchangePlan CudaIdExchange<Id>::take_plan(size_t t) {
  OfType& type = types_[t];
  if (names_[t].have_trees()) {
    auto* const ids = static_cast<int64_t*>(type.sorted.data);
    work_.kernels.split_keys(
        work_.device,
        {.keys = ids, .count = type.num_found, .id_bits = names_[t].id_bits, .ids = ids},
        work_.stream);
  }
  return {.num_owned = nodes_[t].size(),
          .send_rows = std::exchange(type.send_rows, {}),
          .send_counts = type.asked_counts,
          .receive_counts = type.counts,
          .source_ids = std::exchange(type.sorted, {})};
}

template class CudaIdExchange<int32_t>;
template class CudaIdExchange<int64_t>;

}  // namespace ramet
