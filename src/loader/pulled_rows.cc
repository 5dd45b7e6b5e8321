#include "pulled_rows.h"

#include <span>
#include <utility>
#include <vector>

#include "ramet/row_exchange.h"

namespace ramet {

void pull_rows(const LoaderParts& parts, Batch* batch, const Exchange& exchange) {
  const std::vector<TableRequest>& requests = parts.options.tables;
  if (batch != nullptr) batch->tables.resize(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    const TableRequest& request = requests[i];
    if (!request.is_pulled()) continue;
    const Table& table = *request.given;
    std::span<const int64_t> ids;
    if (batch != nullptr) ids = nodes_of(request, batch->minibatch);
    std::vector<int64_t> wanted(ids.size());
    request.places->look_up(ids, wanted.data());
    const RowPull pull(wanted, *request.places, request.reached, table.form(false));
    const NodeRange own = request.places->places_of(request.rank);
    const Message answers = exchange(RowPull::answer(exchange(pull.requests()), table, own));
    if (batch == nullptr) continue;
    const RowForm form = table.form(parts.options.decode);
    Array rows = parts.pool->allocate_array(form.dtype, form.shape_of(std::ssize(ids)));
    pull.finish(answers, table.rows(), rows);
    batch->tables[i] = std::move(rows);
  }
}

}  // namespace ramet
