#include <atomic>
#include <charconv>

#include "base/parallel.h"
#include "graph/ids/id_views.h"

namespace ramet {
namespace {

constexpr int64_t kParseGrain = 1 << 14;

// Whether `text` is `value` as it is normally written.
template <typename Integer>
bool parse_id(std::string_view text, Integer& value) {
  const bool begins_with_zero = text.size() > 1 && (text[0] == '0' || text.starts_with("-0"));
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error == std::errc() && end == last && !begins_with_zero) return true;
  value = 0;
  return false;
}

}  // namespace

template <typename Integer>
bool parse_ids(const IdList& list,
               std::span<Integer> values,
               std::span<bool> is_parsed,
               int threads) {
  require_room(list, std::min(values.size(), is_parsed.size()));
  const TextIds ids = text_ids(list);
  std::atomic<bool> are_all_parsed = true;
  const auto parse_some = [&](int64_t first, int64_t end) {
    for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(end); ++i) {
      is_parsed[i] = parse_id(ids[i], values[i]);
      if (!is_parsed[i]) are_all_parsed = false;
    }
  };
  parallel_for(static_cast<int64_t>(ids.size()), kParseGrain, threads, parse_some);
  return are_all_parsed;
}

template bool parse_ids(const IdList&, std::span<int64_t>, std::span<bool>, int);
template bool parse_ids(const IdList&, std::span<uint64_t>, std::span<bool>, int);

}  // namespace ramet
