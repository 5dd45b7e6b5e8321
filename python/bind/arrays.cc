#include "arrays.h"

#include <string>
#include <utility>

#include "ramet/cuda.h"
#include "ramet/error.h"

namespace ramet::bind {
namespace {

constexpr std::pair<DType, nb::dlpack::dtype> kDTypes[] = {
    {DType::kBool, nb::dtype<bool>()},       {DType::kInt8, nb::dtype<int8_t>()},
    {DType::kUInt8, nb::dtype<uint8_t>()},   {DType::kInt16, nb::dtype<int16_t>()},
    {DType::kUInt16, nb::dtype<uint16_t>()}, {DType::kInt32, nb::dtype<int32_t>()},
    {DType::kUInt32, nb::dtype<uint32_t>()}, {DType::kInt64, nb::dtype<int64_t>()},
    {DType::kUInt64, nb::dtype<uint64_t>()}, {DType::kFloat16, {2, 16, 1}},
    {DType::kBFloat16, {4, 16, 1}},          {DType::kFloat32, nb::dtype<float>()},
    {DType::kFloat64, nb::dtype<double>()},
};

DType from_dlpack(nb::dlpack::dtype wanted) {
  for (const auto& [ours, theirs] : kDTypes) {
    if (theirs == wanted) return ours;
  }
  throw_invalid("a store has no arrays of DLPack type code ", wanted.code, " with ", wanted.bits,
                " bits");
}

nb::dlpack::dtype to_dlpack(DType wanted) {
  for (const auto& [ours, theirs] : kDTypes) {
    if (ours == wanted) return theirs;
  }
  throw_invalid("no DLPack type for ", name(wanted));
}

template <typename NdArray>
nb::object wrap(const Array& array, void* data, int device_type, int device) {
  const std::vector<size_t> shape(array.shape.begin(), array.shape.end());
  nb::capsule owner(new std::shared_ptr<const void>(array.owner),
                    [](void* p) noexcept { delete static_cast<std::shared_ptr<const void>*>(p); });
  NdArray view(data, shape.size(), shape.data(), owner, nullptr, to_dlpack(array.dtype),
               device_type, device);
  return nb::cast(view);
}

template <typename NdArray>
nb::object wrap_host(const Array& array) {
  static char nothing[64];  // numpy wants an address even for no elements
  return wrap<NdArray>(array, array.data != nullptr ? array.data : nothing, nb::device::cpu::value,
                       0);
}

}  // namespace

Array borrow(const AnyArray& array) {
  Array result;
  result.data = const_cast<void*>(array.data());
  result.dtype = from_dlpack(array.dtype());
  for (size_t d = 0; d < array.ndim(); ++d) {
    result.shape.push_back(static_cast<int64_t>(array.shape(d)));
  }
  if (result.shape.empty()) {
    throw_invalid("expected an array, got a scalar");
  }
  return result;
}

StridedRows borrow_rows(const StridedArray& array) {
  if (array.ndim() == 0) throw_invalid("expected an array, got a scalar");
  StridedRows rows{array.data(), from_dlpack(array.dtype()), {}, 0};
  for (size_t d = 0; d < array.ndim(); ++d)
    rows.shape.push_back(static_cast<int64_t>(array.shape(d)));
  int64_t expected = 1;
  for (size_t d = array.ndim() - 1; d > 0; --d) {
    if (rows.shape[d] != 1 && array.stride(d) != expected)
      throw_invalid("dimension ", d, " has a stride of ", array.stride(d), " elements, expected ",
                    expected);
    expected *= rows.shape[d];
  }
  rows.stride = array.stride(0) * item_size(rows.dtype);
  return rows;
}

Array keep(const AnyArray& array, bool writable, bool bfloat16) {
  Array kept = borrow(array);
  if (bfloat16) kept.dtype = DType::kBFloat16;
  kept.writable = writable;
  kept.owner = {new AnyArray(array), [](const void* owner) {
                  if (!Py_IsInitialized()) return;
                  const nb::gil_scoped_acquire gil;
                  delete static_cast<const AnyArray*>(owner);
                }};
  return kept;
}

// numpy has no bfloat16: ramet.bfloat16 stands for it, a dtype over the bits.
nb::object to_numpy(const Array& array) {
  if (array.dtype == DType::kBFloat16) {
    Array words = array;
    words.dtype = DType::kUInt16;
    return to_numpy(words).attr("view")(nb::module_::import_("ramet.dtypes").attr("bfloat16"));
  }
  return array.writable ? wrap_host<nb::ndarray<nb::numpy>>(array)
                        : wrap_host<nb::ndarray<nb::numpy, nb::ro>>(array);
}

nb::object to_python(const Array& array) {
  if (array.shape.empty()) return nb::none();
  if (array.device == kHost) return to_numpy(array);
  return wrap<nb::ndarray<nb::pytorch>>(array, array.data, cuda_dlpack_device_type(), array.device);
}

}  // namespace ramet::bind

namespace nanobind::detail {

namespace {

// False of what no Array can be: a scalar, or a dtype that it has not.
template <typename View>
bool keep_argument(
    handle source, uint32_t flags, cleanup_list* cleanup, bool writable, ramet::Array& kept) {
  make_caster<View> caster;
  if (!caster.from_python(source, flags, cleanup)) return false;
  try {
    kept = ramet::bind::keep(ramet::bind::AnyArray(caster.value), writable);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

bool type_caster<ramet::Array>::from_python(handle source,
                                            uint32_t flags,
                                            cleanup_list* cleanup) noexcept {
  return keep_argument<ramet::bind::AnyArray>(source, flags, cleanup, false, value);
}

handle type_caster<ramet::Array>::from_cpp(const Value& array, rv_policy, cleanup_list*) noexcept {
  try {
    return ramet::bind::to_python(array).release();
  } catch (python_error& error) {
    error.restore();
  } catch (const std::bad_alloc& error) {
    PyErr_SetString(PyExc_MemoryError, error.what());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return {};
}

bool type_caster<ramet::bind::OutArray>::from_python(handle source,
                                                     uint32_t flags,
                                                     cleanup_list* cleanup) noexcept {
  const uint32_t as_it_is = flags & ~static_cast<uint32_t>(cast_flags::convert);
  return keep_argument<ramet::bind::Buffer>(source, as_it_is, cleanup, true, value);
}

}  // namespace nanobind::detail
