#include "read_reverses.h"

#include <string>
#include <utility>

#include "ramet/error.h"

namespace ramet {
namespace {

// As PyG's ToUndirected names reverse types: ("item", "rev_buys", "user") has the reverses of
// ("user", "buys", "item").
bool is_called_reverse(const EdgeTypeName& reverse, const EdgeTypeName& name) {
  return reverse.src == name.dst && reverse.dst == name.src &&
         reverse.relation == "rev_" + name.relation;
}

class ReverseReader {
 public:
  ReverseReader(const Store& store, std::vector<EdgeType>& edge_types)
      : store_(store), types_(edge_types) {}

  void read() {
    for (const auto& [encoded, reverse] : store_.reverses())
      read_line(encoded, reverse);
    for (const EdgeType& a : types_)
      for (const EdgeType& b : types_)
        if (a.reverse < 0 && b.reverse < 0 && is_called_reverse(b.name, a.name))
          pair(position(a.encoded), position(b.encoded));
  }

 private:
  void read_line(const std::string& encoded, const Reverse& reverse) {
    const auto fail = [&](const auto&... why) {
      throw_corrupt(store_.location("edge/" + encoded + "/indices"), "ramet.txt says that '",
                    reverse.edge_type, "' has the reverses of its edges, but ", why...);
    };
    const int a = position(encoded), b = position(reverse.edge_type);
    if (a < 0 || b < 0) fail("there is no such edge type");
    if (type(a).src != type(b).dst || type(a).dst != type(b).src) fail("it has other node types");
    for (const auto& [one, other] : {std::pair{a, b}, std::pair{b, a}})
      if (type(one).reverse >= 0 && type(one).reverse != other)
        fail("'", type(one).encoded, "' has another reverse type, too");
    if (a != b && reverse.num_input_edges > 0) fail("it is another type, with a number of edges");
    pair(a, b);
    type(a).num_input_edges = reverse.num_input_edges;
  }

  void pair(int a, int b) {
    type(a).reverse = b;
    type(b).reverse = a;
  }

  [[nodiscard]] int position(const std::string& encoded) const {
    for (size_t t = 0; t < types_.size(); ++t)
      if (types_[t].encoded == encoded) return static_cast<int>(t);
    return -1;
  }

  EdgeType& type(int position) { return types_[static_cast<size_t>(position)]; }

  const Store& store_;
  std::vector<EdgeType>& types_;
};

}  // namespace

void read_reverses(const Store& store, std::vector<EdgeType>& edge_types) {
  ReverseReader(store, edge_types).read();
}

}  // namespace ramet
