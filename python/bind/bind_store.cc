#include <span>
#include <tuple>

#include "arrays.h"
#include "gil.h"
#include "paths.h"
#include "progress.h"
#include "ramet/buffer_pool.h"
#include "ramet/generate.h"
#include "ramet/graph.h"
#include "ramet/random.h"
#include "ramet/store.h"
#include "ramet/store_writer.h"
#include "reverses.h"

namespace ramet::bind {

namespace {

using Names = std::set<std::string>;
using NodeCounts = std::map<std::string, int64_t>;
using PartOf = std::tuple<int64_t, int64_t, uint64_t>;  // as Graph.part is
using SortedRows = std::map<std::string, std::string>;  // Store::sorted_rows()
using NamedArrays = std::vector<std::pair<std::string, AnyArray>>;

// `bfloat16`: names of arrays that hold the bits of bfloat16 as uint16.
StoreContents borrow_contents(const NodeCounts& node_counts,
                              const NamedArrays& arrays,
                              const Names& bfloat16,
                              const SortedRows& sorted_rows,
                              const Reverses& reverses) {
  StoreContents contents{.node_counts = node_counts,
                         .arrays = {},
                         .sorted_rows = sorted_rows,
                         .reverses = from_tuples(reverses)};
  for (const auto& [name, array] : arrays) {
    contents.arrays.emplace_back(name, borrow(array));
    if (bfloat16.count(name) > 0) contents.arrays.back().second.dtype = DType::kBFloat16;
  }
  return contents;
}

// `to_fill`: names of arrays of which one row was given, and how many rows there will be.
void leave_to_fill(StoreContents& contents, const std::map<std::string, int64_t>& to_fill) {
  for (auto& [name, array] : contents.arrays) {
    const auto found = to_fill.find(name);
    if (found == to_fill.end()) continue;
    array.data = nullptr;
    array.shape.front() = found->second;
    contents.to_fill.insert(name);
  }
}

// (node counts, [(name, array), ...], reverses), as write_store takes them.
auto as_tuple(const StoreContents& contents) {
  return std::tuple(contents.node_counts, contents.arrays, to_tuples(contents.reverses));
}

OpenMode mode_of(bool copy_on_write) {
  return copy_on_write ? OpenMode::kCopyOnWrite : OpenMode::kRead;
}

// To be filled.
template <typename T, size_t kDimensions = 1>
using ToFill = nb::ndarray<T, nb::ndim<kDimensions>, nb::c_contig, nb::device::cpu>;

template <typename Filled>
auto to_span(const Filled& array) {
  return std::span(array.data(), array.size());
}

// uint64[count]: a word for each node, by which ramet.build splits classes.
Array split_words(uint64_t seed, int64_t count) {
  Array words = BufferPool::create()->allocate_array(DType::kUInt64, {count});
  auto* word = static_cast<uint64_t*>(words.data);
  const uint64_t key = absorb(static_cast<uint64_t>(Domain::kSplitByClass), seed);
  for (int64_t node = 0; node < count; ++node)
    word[node] = absorb(key, static_cast<uint64_t>(node));
  return words;
}

}  // namespace

void bind_store(nb::module_& m) {
  m.def("split_words", &split_words, nb::arg("seed"), nb::arg("count"));
  m.def("encode_name", &encode_name);
  m.def("decode_name", &decode_name);

  m.def(
      "open",
      [](const nb::bytes& path, bool copy_on_write) {
        const std::string name = to_string(path);
        const GilRelease release;
        return Graph::from_store(Store::open(name, mode_of(copy_on_write)));
      },
      nb::arg("path"), nb::arg("copy_on_write") = false);

  m.def(
      "check_target", [](const nb::bytes& path) { check_target(to_string(path)); },
      nb::arg("path"));

  m.def(
      "open_segment", [](int fd) { return Graph::from_store(Store::open_segment(fd)); },
      nb::arg("fd"), nb::call_guard<GilRelease>());

  m.def(
      "write_store",
      [](const nb::bytes& path, const NodeCounts& node_counts, const NamedArrays& arrays,
         const Names& bfloat16, const SortedRows& sorted_rows, const Reverses& reverses,
         const std::optional<PartOf>& part, const NodeCounts& to_fill, const nb::object& progress,
         const nb::object& before_commit) {
        StoreContents contents =
            borrow_contents(node_counts, arrays, bfloat16, sorted_rows, reverses);
        leave_to_fill(contents, to_fill);
        if (part) {
          const auto& [index, count, whole_fingerprint] = *part;
          contents.part = Part{index, count, whole_fingerprint};
        }
        WriteOptions options{.progress = interruptible(progress), .before_commit = {}};
        if (!before_commit.is_none()) {
          options.before_commit = [hook = before_commit.ptr()](const std::string& folder) {
            const nb::gil_scoped_acquire acquire;
            const nb::handle call(hook);
            call(to_bytes(folder));
          };
        }
        const std::string name = to_string(path);
        const GilRelease release;
        write_store(name, contents, options);
      },
      nb::arg("path"), nb::arg("node_counts"), nb::arg("arrays"), nb::arg("bfloat16") = Names{},
      nb::arg("sorted_rows") = SortedRows{}, nb::arg("reverses") = Reverses{},
      nb::arg("part") = nb::none(), nb::arg("to_fill") = NodeCounts{},
      nb::arg("progress") = nb::none(), nb::arg("before_commit") = nb::none());

  nb::class_<PartsFolder>(m, "PartsFolder")
      .def(
          "__init__",
          [](PartsFolder* self, const nb::bytes& path) { new (self) PartsFolder(to_string(path)); },
          nb::arg("path"))
      .def_prop_ro("temp", [](const PartsFolder& folder) { return to_bytes(folder.temp()); })
      .def("commit", &PartsFolder::commit, nb::call_guard<GilRelease>())
      .def("close", &PartsFolder::close, nb::call_guard<GilRelease>());

  m.def(
      "overlay",
      [](const std::shared_ptr<const Graph>& base, const std::shared_ptr<const Graph>& edges) {
        return Graph::from_store(Store::overlay(base->store(), edges->store()));
      },
      nb::arg("base"), nb::arg("edges"), nb::call_guard<GilRelease>());

  m.def(
      "make_segment",
      [](const NodeCounts& node_counts, const NamedArrays& arrays, const Names& bfloat16,
         const SortedRows& sorted_rows, const Reverses& reverses, const nb::object& progress) {
        const StoreContents contents =
            borrow_contents(node_counts, arrays, bfloat16, sorted_rows, reverses);
        const GilRelease release;
        return Graph::from_store(make_segment(contents, interruptible(progress)));
      },
      nb::arg("node_counts"), nb::arg("arrays"), nb::arg("bfloat16") = Names{},
      nb::arg("sorted_rows") = SortedRows{}, nb::arg("reverses") = Reverses{},
      nb::arg("progress") = nb::none());

  nb::class_<PlantedOptions>(m, "Planted")
      .def(
          "__init__",
          [](PlantedOptions* self, int64_t num_nodes, int64_t num_edges, bool undirected,
             int64_t communities, int64_t classes, int64_t feature_width, int skew,
             double homophily, double signal, double train_fraction, double val_fraction,
             double labeled, uint64_t seed) {
            const PlantedOptions options{.num_nodes = num_nodes,
                                         .num_edges = num_edges,
                                         .undirected = undirected,
                                         .communities = communities,
                                         .classes = classes,
                                         .feature_width = feature_width,
                                         .skew = skew,
                                         .homophily = homophily,
                                         .signal = signal,
                                         .train_fraction = train_fraction,
                                         .val_fraction = val_fraction,
                                         .labeled = labeled,
                                         .seed = seed};
            check(options);
            new (self) PlantedOptions(options);
          },
          nb::kw_only(), nb::arg("num_nodes"), nb::arg("num_edges"), nb::arg("undirected"),
          nb::arg("communities"), nb::arg("classes"), nb::arg("feature_width"), nb::arg("skew"),
          nb::arg("homophily"), nb::arg("signal"), nb::arg("train_fraction"),
          nb::arg("val_fraction"), nb::arg("labeled"), nb::arg("seed"))
      .def(
          "edges",
          [](const PlantedOptions& self, int64_t first, const ToFill<int32_t>& src,
             const ToFill<int32_t>& dst,
             int threads) { planted_edges(self, first, to_span(src), to_span(dst), threads); },
          nb::arg("first"), nb::arg("src").noconvert(), nb::arg("dst").noconvert(),
          nb::arg("threads") = 0, nb::call_guard<GilRelease>())
      .def(
          "features",
          [](const PlantedOptions& self, int64_t first, const ToFill<float, 2>& out, int threads) {
            planted_features(self, first, to_span(out), threads);
          },
          nb::arg("first"), nb::arg("out").noconvert(), nb::arg("threads") = 0,
          nb::call_guard<GilRelease>())
      .def(
          "labels",
          [](const PlantedOptions& self, int64_t first, const ToFill<int64_t>& labels,
             const ToFill<uint8_t>& splits) {
            planted_labels(self, first, to_span(labels), to_span(splits));
          },
          nb::arg("first"), nb::arg("labels").noconvert(), nb::arg("splits").noconvert(),
          nb::call_guard<GilRelease>());

  m.def(
      "generate_rmat",
      [](int scale, int64_t edge_factor, double a, double b, double c, int64_t feature_width,
         double train_fraction, uint64_t seed, int threads) {
        return as_tuple(generate_rmat({.scale = scale,
                                       .edge_factor = edge_factor,
                                       .a = a,
                                       .b = b,
                                       .c = c,
                                       .feature_width = feature_width,
                                       .train_fraction = train_fraction,
                                       .seed = seed},
                                      threads));
      },
      nb::kw_only(), nb::arg("scale"), nb::arg("edge_factor"), nb::arg("a"), nb::arg("b"),
      nb::arg("c"), nb::arg("feature_width"), nb::arg("train_fraction"), nb::arg("seed"),
      nb::arg("threads") = 0, nb::call_guard<GilRelease>());

  m.def(
      "rmat_features",
      [](int scale, uint64_t seed, int64_t first_row, const ToFill<float, 2>& out, int threads) {
        rmat_features({.scale = scale, .feature_width = int64_t(out.shape(1)), .seed = seed},
                      first_row, to_span(out), threads);
      },
      nb::kw_only(), nb::arg("scale"), nb::arg("seed"), nb::arg("first_row"),
      nb::arg("out").noconvert(), nb::arg("threads") = 0, nb::call_guard<GilRelease>());
}

}  // namespace ramet::bind
