// One connection of the kubelet to a plugin. Only for the files that use gRPC.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/net/rpc/status_map.h"
#include "testing/kubelet/calls_in_flight.h"

namespace kgpu::kubelet {

// Lives on the loop's thread. Every call ends there exactly once, also after Close.
class RpcConnection {
 public:
  struct Settings {
    std::string authority;  // what the peer sees as :authority
    size_t receive_limit = 0;
  };

  // `fd` is connected and non-blocking. `loop` and `calls` must outlive every call.
  RpcConnection(EventLoop& loop, CallsInFlight& calls, UniqueFd fd, const Settings& settings);
  ~RpcConnection();
  RpcConnection(const RpcConnection&) = delete;
  RpcConnection& operator=(const RpcConnection&) = delete;

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  EventLoop& loop() const { return loop_; }
  CallsInFlight& calls() const { return calls_; }

  // Cancels every call and closes the connection.
  void Close();
  // Cuts the connection, like a network failure: both sides notice by
  // themselves.
  void Cut() const;
  // Runs `on_lost` once, on the loop, when the plugin has closed the connection or it was cut; not
  // after the end of this. Errors: ResourceExhausted.
  Status WatchLoss(std::function<void()> on_lost);

  // The context of a new call, cancelled by Close. No `limit`: no deadline.
  std::shared_ptr<grpc::ClientContext> NewContext(std::optional<std::chrono::nanoseconds> limit);

  // `start(context, request, response, callback)` starts the call on a stub.
  template <typename Request, typename Response, typename Start>
  void Call(Request request, std::optional<std::chrono::nanoseconds> limit, const Start& start,
            std::function<void(const Status&, const Response&)> done) {
    CallIn(NewContext(limit), std::move(request), start, std::move(done));
  }
  // The same in a context of NewContext, by which the caller can cancel it.
  template <typename Request, typename Response, typename Start>
  void CallIn(std::shared_ptr<grpc::ClientContext> context, Request request, const Start& start,
              std::function<void(const Status&, const Response&)> done) {
    struct Messages {
      Request request;
      Response response;
    };
    auto messages = std::make_shared<Messages>();
    messages->request = std::move(request);
    calls_.Begin();
    start(context.get(), &messages->request, &messages->response,
          // What `done` holds must not be destroyed on gRPC's thread: everything moves to the loop.
          [&loop = loop_, &calls = calls_, context, messages,
           done = std::move(done)](const grpc::Status& status) mutable {
            loop.Post([context = std::move(context), messages = std::move(messages),
                       done = std::move(done),
                       status] { done(rpc::FromGrpc(status), messages->response); });
            calls.End();
          });
  }

 private:
  EventLoop& loop_;
  CallsInFlight& calls_;
  UniqueFd cut_;      // a second descriptor of the connection
  UniqueFd hang_up_;  // an epoll(7) set: readable once the connection is lost
  WatchId watch_ = WatchId::kNone;
  std::shared_ptr<grpc::Channel> channel_;
  std::vector<std::weak_ptr<grpc::ClientContext>> contexts_;
};

}  // namespace kgpu::kubelet
