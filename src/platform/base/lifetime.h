// Callbacks that do nothing once the object they belong to is gone.
#pragma once

#include <memory>
#include <utility>

namespace kgpu {

// A member of the object, declared last: callbacks end before the members that they use. Callbacks
// are made, called and dropped on the thread that destroys the object.
class Lifetime {
 public:
  Lifetime() = default;
  Lifetime(const Lifetime&) = delete;
  Lifetime& operator=(const Lifetime&) = delete;

  // `callback` with a check in front; its result is dropped.
  template <typename Callback>
  auto Bind(Callback callback) const {
    return [token = std::weak_ptr<const char>(token_),
            callback = std::move(callback)](auto&&... arguments) mutable {
      if (!token.expired()) {
        callback(std::forward<decltype(arguments)>(arguments)...);
      }
    };
  }
  // Ends all callbacks bound so far, as the end of the object does.
  void End() { token_ = std::make_shared<const char>(); }

 private:
  std::shared_ptr<const char> token_ = std::make_shared<const char>();
};

}  // namespace kgpu
