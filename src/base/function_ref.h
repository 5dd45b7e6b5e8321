// FunctionRef: calls what the caller keeps until the call that takes it returns. std::function
// would copy that, and makes ten functions of each lambda, which take long to compile.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace ramet {

template <typename Signature>
class FunctionRef;

template <typename Result, typename... Args>
class FunctionRef<Result(Args...)> {
 public:
  template <typename Body>
    requires(!std::same_as<std::remove_cvref_t<Body>, FunctionRef>)
  FunctionRef(Body&& body)
      : body_(const_cast<void*>(static_cast<const void*>(std::addressof(body)))),
        call_([](void* of, Args... args) -> Result {
          return (*static_cast<std::remove_reference_t<Body>*>(of))(std::forward<Args>(args)...);
        }) {}

  Result operator()(Args... args) const { return call_(body_, std::forward<Args>(args)...); }

 private:
  void* body_;
  Result (*call_)(void* body, Args... args);
};

}  // namespace ramet
