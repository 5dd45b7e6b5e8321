// docs/semantics.md, section 7.
#include "ramet/fingerprint.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "edges_of.h"
#include "ramet/cuda_sampler.h"
#include "ramet/error.h"
#include "ramet/random.h"

namespace ramet {
namespace {

void hash_relation(const Graph& graph,
                   const Minibatch& batch,
                   const Block& block,
                   const Relation& relation,
                   uint64_t hop,
                   std::vector<uint64_t>& hashes) {
  const EdgeType& edges = graph.edge_types()[static_cast<size_t>(relation.edge_type)];
  const auto domain = static_cast<uint64_t>(Domain::kFingerprint);
  const uint64_t key = absorb(absorb(domain, hop), edges.name_hash);
  const auto dst = static_cast<size_t>(edges.dst);
  const auto n_id =
      batch.n_id[dst].as<int64_t>().subspan(static_cast<size_t>(block.first_dst[dst]));
  const Array ids = edge_ids(graph, relation);
  const auto id = ids.as<int64_t>();
  for_each_destination(relation, [&](size_t i, int64_t begin, int64_t end) {
    const uint64_t destination_key = absorb(key, static_cast<uint64_t>(n_id[i]));
    for (int64_t p = begin; p < end; ++p) {
      hashes.push_back(absorb(destination_key, static_cast<uint64_t>(id[static_cast<size_t>(p)])));
    }
  });
}

std::string digest(std::vector<uint64_t> hashes) {
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  uint64_t high = 0, low = hashes.size();
  for (const uint64_t f : hashes) {
    high += mix64(f);
    low += mix64(f ^ kGolden);
  }
  char text[33];
  std::snprintf(text, sizeof(text), "%016llx%016llx", static_cast<unsigned long long>(high),
                static_cast<unsigned long long>(low));
  return text;
}

}  // namespace

std::string fingerprint(std::span<const SampledFrom> minibatches) {
  std::vector<uint64_t> hashes;
  for (const auto& [graph, minibatch] : minibatches) {
    const Minibatch batch = to_host(*minibatch);
    const size_t num_hops = batch.blocks.size();
    if (num_hops != minibatches.front().minibatch->blocks.size()) {
      throw_invalid("fingerprint of minibatches with ", num_hops, " and ",
                    minibatches.front().minibatch->blocks.size(), " hops");
    }
    for (size_t b = 0; b < num_hops; ++b) {
      for (const Relation& relation : batch.blocks[b].relations) {
        hash_relation(*graph, batch, batch.blocks[b], relation, num_hops - 1 - b, hashes);
      }
    }
  }
  return digest(std::move(hashes));
}

}  // namespace ramet
