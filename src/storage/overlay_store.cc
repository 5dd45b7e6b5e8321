// Store with some edge types of another store: how a graph with fewer edges shares the rest.
#include <string_view>
#include <utility>

#include "ramet/error.h"
#include "ramet/store.h"

namespace ramet {
namespace {

// "edge/a__to__b/indptr" and "out/a__to__b/indptr" -> "a__to__b"; "" for an array of another kind.
std::string_view edge_type_of(std::string_view array_name) {
  if (!array_name.starts_with("edge/") && !array_name.starts_with("out/")) return {};
  array_name.remove_prefix(array_name.find('/') + 1);
  return array_name.substr(0, array_name.find('/'));
}

class OverlayStore final : public Store {
 public:
  OverlayStore(std::shared_ptr<const Store> base, std::shared_ptr<const Store> top)
      : base_(std::move(base)), top_(std::move(top)) {
    if (base_->part() || top_->part()) throw_invalid("a part of a graph has no edges laid over it");
    for (const auto& [name, array] : top_->arrays())
      replaced_.emplace(edge_type_of(name));
    for (const std::string& type : replaced_)
      if (base_->arrays().count(concat("edge/", type, "/indptr")) == 0)
        throw_invalid("there is no edge type '", type, "' to lay edges over");
    take(*base_, false);
    take(*top_, true);
    node_counts_ = base_->node_counts();
    sorted_rows_ = base_->sorted_rows();
    reverses_ = base_->reverses();
    identity_ = top_->identity();
  }

  [[nodiscard]] Array copy_on_write(const std::string& name) const override {
    static_cast<void>(array_of(name));
    return (is_replaced(name) ? top_ : base_)->copy_on_write(name);
  }

 private:
  [[nodiscard]] bool is_replaced(std::string_view array_name) const {
    return replaced_.count(std::string(edge_type_of(array_name))) > 0;
  }

  // What is in the replaced edge types, or what is not.
  void take(const Store& store, bool replaced) {
    for (const auto& [name, array] : store.arrays())
      if (is_replaced(name) == replaced) arrays_.emplace(name, array);
    for (const auto& [name, dtype] : store.table_dtypes())
      if (is_replaced(name) == replaced) table_dtypes_.emplace(name, dtype);
    for (const std::string& name : store.read_by_row())
      if (is_replaced(name) == replaced) read_by_row_.insert(name);
  }

  std::shared_ptr<const Store> base_, top_;
  std::set<std::string> replaced_;  // encoded edge types
};

}  // namespace

std::shared_ptr<const Store> Store::overlay(std::shared_ptr<const Store> base,
                                            std::shared_ptr<const Store> edges) {
  return std::make_shared<const OverlayStore>(std::move(base), std::move(edges));
}

}  // namespace ramet
