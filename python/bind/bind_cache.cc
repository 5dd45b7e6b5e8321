#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "arrays.h"
#include "gil.h"
#include "ramet/cache_hits.h"
#include "ramet/error.h"

namespace ramet::bind {

namespace {

CacheRule rule_of(const std::string& name) {
  if (name == "recency") return CacheRule::kRecency;
  if (name == "held") return CacheRule::kHeld;
  if (name == "look-ahead") return CacheRule::kLookAhead;
  throw_invalid("there is no rule '", name, "'");
}

Array counts_of(const nb::object& counts) {
  return counts.is_none() ? Array{} : borrow(nb::cast<AnyArray>(counts));
}

}  // namespace

void bind_cache(nb::module_& m) {
  // Hits by batch. The arrays stay with the caller.
  m.def(
      "cache_hits",
      [](const std::vector<std::vector<AnyArray>>& epochs, int64_t num_rows,
         const std::string& rule, int64_t capacity, int window, const nb::object& counts,
         const nb::object& second_counts) {
        std::vector<std::vector<Array>> batches;
        for (const auto& epoch : epochs) {
          batches.emplace_back();
          for (const AnyArray& ids : epoch)
            batches.back().push_back(borrow(ids));
        }
        const CacheHitsOptions options{.rule = rule_of(rule),
                                       .capacity = capacity,
                                       .window = window,
                                       .counts = counts_of(counts),
                                       .second_counts = counts_of(second_counts)};
        const GilRelease release;
        return cache_hits(batches, num_rows, options);
      },
      nb::arg("epochs"), nb::arg("num_rows"), nb::kw_only(), nb::arg("rule"), nb::arg("capacity"),
      nb::arg("window") = 0, nb::arg("counts") = nb::none(), nb::arg("second_counts") = nb::none());
}

}  // namespace ramet::bind
