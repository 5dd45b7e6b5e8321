// CudaIdExchange: what a device does of the exchange of ids, where ranks cooperate. It sorts the
// sources that a hop found by owner, and appends the nodes that ranks ask for to this rank's: what
// Routes and IncomingIds are on the host. A message has the bytes of theirs, in the device's
// memory. The host waits four times in a hop: for the counts of owners and the message, and of what
// arrived for the counts and the number of nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cuda_nodes.h"
#include "cuda_work.h"
#include "exchange/asked_nodes.h"
#include "exchange/message.h"
#include "ramet/ownership.h"

namespace ramet {

// `Id`: int32_t or int64_t, as nodes have them in messages.
template <typename Id>
class CudaIdExchange {
 public:
  // By node type: `names`, and `nodes`, the lists of a CudaHop. What is given by reference must
  // outlive it. `host`: page-locked.
  CudaIdExchange(const CudaWork& work,
                 std::vector<CudaNodes>& nodes,
                 const Membership& membership,
                 const std::vector<AskedNodes>& names,
                 BufferPool& host);

  // Asks for the nodes that a hop found: those behind the first num_own[type], which leave the
  // lists.
  [[nodiscard]] Message ask(std::span<const int64_t> num_own);
  [[nodiscard]] int64_t num_found(size_t type) const { return types_[type].num_found; }
  // Of each of them, where it stands by owner. The device's memory, until the next ask().
  [[nodiscard]] std::span<const int32_t> positions(size_t type) const {
    return {types_[type].positions.data(), static_cast<size_t>(num_found(type))};
  }
  // Appends what ranks ask this one for.
  void receive(const Message& from_ranks);
  // Of what was asked in between.
  [[nodiscard]] ExchangePlan take_plan(size_t type);

 private:
  struct OfType {
    CudaOwners owners{};
    CudaScratchArray<char> owners_memory;
    int64_t num_found = 0;
    std::vector<int64_t> counts;        // by rank: of the nodes that it is asked for
    std::vector<int64_t> asked_counts;  // by rank: of the nodes that it asks for
    CudaScratchArray<int32_t> positions;
    Array sorted, send_rows;
    std::vector<const Id*> asked;  // by rank
  };

  // The numbers of the report.
  [[nodiscard]] size_t bad(size_t type) const { return type; }
  [[nodiscard]] size_t size(size_t type) const { return types_.size() + type; }
  [[nodiscard]] size_t ends(size_t type) const { return 2 * types_.size() + type * ranks_; }

  void copy_owners(OfType& type, const Ownership& ownership) const;
  void sort(size_t type, int64_t num_own);
  void count(size_t type, int64_t num_own);
  [[nodiscard]] Message write() const;
  [[nodiscard]] Array heads_of(const Message& from_ranks) const;
  void append(const MessageReader<Id>& from, size_t type);
  void require_own(size_t type) const;

  const CudaWork& work_;
  std::vector<CudaNodes>& nodes_;
  const Membership& membership_;
  const std::vector<AskedNodes>& names_;
  BufferPool& host_;
  const size_t ranks_;
  std::vector<OfType> types_;
  CudaReport report_;
  CudaScratchArray<uint16_t> owner_;  // what follows is scratch of a type at a time
  CudaScratchArray<uint8_t> before_;
  CudaScratchArray<uint32_t> counts_;
  CudaScratchArray<int64_t> sources_;
  CudaSumScratch sums_;
};

}  // namespace ramet
