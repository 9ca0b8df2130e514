// For commands without a loop of their own: sends a request and waits for the response.
#pragma once

#include <boost/json/fwd.hpp>

#include <functional>
#include <optional>
#include <utility>

#include "src/kube/api/client.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"

namespace kgpu::kube {

// Runs `loop` until the callback that `begin` gets is called, and returns what it was called with.
// What `begin` returns (a call, say) lives until then. Several may run one after another:
//   RunUntilDone<json::value>(loop, [&](auto done) { return client.Send(request, done); })
template <typename T, typename Begin>
StatusOr<T> RunUntilDone(EpollLoop& loop, Begin begin) {
  std::optional<StatusOr<T>> result;
  [[maybe_unused]] const auto keeps = begin([&](StatusOr<T> answer) {
    result = std::move(answer);
    loop.Quit();
  });
  // A Quit from an earlier run may still be posted.
  while (!result) {
    loop.Run();
  }
  return *std::move(result);
}

// One request.
StatusOr<boost::json::value> Fetch(EpollLoop& loop, Client& client, ApiRequest request);

}  // namespace kgpu::kube
