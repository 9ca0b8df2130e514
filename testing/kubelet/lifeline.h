// Lets an object pass out callbacks that do nothing once it is destroyed: plugins may answer at any
// time.
#pragma once

#include <memory>
#include <utility>

namespace kgpu::kubelet {

// A member of the object that owns the callbacks, declared last. Used on its thread only.
class Lifeline {
 public:
  template <typename F>
  auto Guard(F task) const {
    return [alive = std::weak_ptr<const int>(token_),
            task = std::move(task)](auto&&... arguments) mutable {
      if (!alive.expired()) {
        task(std::forward<decltype(arguments)>(arguments)...);
      }
    };
  }

 private:
  std::shared_ptr<const int> token_ = std::make_shared<int>(0);
};

}  // namespace kgpu::kubelet
