#include <string>
#include <tuple>
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

}  // namespace

void bind_cache(nb::module_& m) {
  // By batch: rows that hit, and the requests and bytes of the others, 0 without a reader. The
  // arrays stay with the caller.
  m.def(
      "cache_hits",
      [](const std::vector<std::vector<Array>>& epochs, int64_t num_rows, const std::string& rule,
         int64_t capacity, int window, const std::optional<Array>& counts,
         const std::optional<Array>& second_counts, const RowReader* reader,
         int64_t first_planned) {
        const CacheHitsOptions options{.rule = rule_of(rule),
                                       .capacity = capacity,
                                       .window = window,
                                       .counts = counts.value_or(Array{}),
                                       .second_counts = second_counts.value_or(Array{}),
                                       .reader = reader,
                                       .first_planned = first_planned};
        std::vector<std::tuple<int64_t, int64_t, int64_t>> found;
        for (const auto& [hits, read] : cache_hits(epochs, num_rows, options))
          found.emplace_back(hits, read.requests, read.bytes);
        return found;
      },
      nb::arg("epochs"), nb::arg("num_rows"), nb::kw_only(), nb::arg("rule"), nb::arg("capacity"),
      nb::arg("window") = 0, nb::arg("counts") = nb::none(), nb::arg("second_counts") = nb::none(),
      nb::arg("reader") = nb::none(), nb::arg("first_planned") = 0, nb::call_guard<GilRelease>());
}

}  // namespace ramet::bind
