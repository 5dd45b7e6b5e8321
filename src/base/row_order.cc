#include "ramet/row_order.h"

#include "ramet/error.h"

namespace ramet {

const char* name(RowOrder order) {
  switch (order) {
    case RowOrder::kAuto:
      return "auto";
    case RowOrder::kSorted:
      return "sorted";
    case RowOrder::kAsGiven:
      return "as_given";
  }
  return "";
}

RowOrder row_order_named(std::string_view wanted) {
  for (const RowOrder order : {RowOrder::kAuto, RowOrder::kSorted, RowOrder::kAsGiven})
    if (name(order) == wanted) return order;
  throw_invalid("order is '", wanted, "', expected one of 'auto', 'sorted', 'as_given'");
}

}  // namespace ramet
