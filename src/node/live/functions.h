// The functions of this host for people who watch it: the function service, another daemon, is
// asked while somebody does.
#pragma once

#include <boost/json/array.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/timer.h"
#include "src/platform/net/http/client.h"

namespace kgpu::live {

// Of the service's answer, what the page shows: names, states and the phases of starts, no
// environment. Empty for anything else. Pure.
boost::json::array FunctionsOf(std::string_view answer);

// Lives on the loop's thread.
class FunctionSource {
 public:
  static constexpr std::chrono::seconds kEvery{5};

  // `socket`: the service's. `loop` must outlive it.
  FunctionSource(EventLoop& loop, std::string socket, std::function<void()> changed);

  void SetWatched(bool is_watched);
  // Empty if there are none, or no service runs.
  const boost::json::array& functions() const { return functions_; }

 private:
  void Ask();

  EventLoop& loop_;
  const std::string socket_;
  const std::function<void()> changed_;
  boost::json::array functions_;
  std::unique_ptr<http::Call> call_;
  bool is_watched_ = false;
  Timer timer_{loop_};
};

}  // namespace kgpu::live
