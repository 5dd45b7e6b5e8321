#include <algorithm>

#include "arrays.h"
#include "gil.h"
#include "ramet/dropout.h"
#include "ramet/mersenne_twister.h"
#include "ramet/random.h"
#include "ramet/store.h"

namespace ramet::bind {

using Mask = nb::ndarray<bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using TwisterWords =
    nb::ndarray<uint32_t, nb::shape<MersenneTwister::kWords>, nb::c_contig, nb::device::cpu>;

void bind_dropout(nb::module_& m) {
  m.def(
      "dropout_mask",
      [](const Ids& nodes, double p, const Mask& dropped, uint64_t seed, uint64_t epoch,
         uint64_t step, uint64_t hop, uint64_t salt, const std::string& node_type, int threads) {
        const GilRelease release;
        const DropoutKey key{.seed = seed,
                             .epoch = epoch,
                             .step = step,
                             .hop = hop,
                             .salt = salt,
                             .type_hash = hash_name(encode_name(node_type))};
        dropout_mask(key, borrow(nodes), static_cast<int64_t>(dropped.shape(1)), p,
                     {dropped.data(), dropped.size()}, threads);
      },
      nb::arg("nodes").noconvert(), nb::arg("p"), nb::arg("dropped").noconvert(), nb::kw_only(),
      nb::arg("seed"), nb::arg("epoch"), nb::arg("step"), nb::arg("hop"), nb::arg("salt"),
      nb::arg("node_type"), nb::arg("threads"));
  m.def(
      "skip_random",
      [](const TwisterWords& words, size_t next, uint64_t count) {
        const GilRelease release;
        MersenneTwister twister{.words = {}, .next = next};
        std::copy_n(words.data(), words.size(), twister.words.begin());
        twister.skip(count);
        std::copy_n(twister.words.begin(), words.size(), words.data());
        return twister.next;
      },
      nb::arg("words").noconvert(), nb::arg("next"), nb::arg("count"));
}

}  // namespace ramet::bind
