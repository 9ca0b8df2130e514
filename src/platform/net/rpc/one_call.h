// One unary call over its own connection, started and answered on the loop. For servers that we
// call rarely and that may be another process the next time.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <chrono>
#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <utility>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"
#include "src/platform/net/rpc/channel.h"
#include "src/platform/net/rpc/status_map.h"

namespace kgpu::rpc {

// A call in progress; destroying it drops the reply.
class PendingCall {
 public:
  virtual ~PendingCall() = default;
};

// A call that could not be started: `done` gets the reason on the loop, unless the call is dropped
// first.
class RefusedCall final : public PendingCall {
 public:
  // `loop` must outlive the call.
  RefusedCall(EventLoop& loop, const Status& why, std::function<void(const Status&)> done)
      : timer_(loop) {
    timer_.Arm({}, [why, done = std::move(done)] { done(why); });
  }

 private:
  Timer timer_;
};

// Lives until gRPC is done with the call.
template <typename Request, typename Reply>
struct OneCall {
  std::unique_ptr<grpc::TemplatedGenericStub<Request, Reply>> stub;
  grpc::ClientContext context;
  Request request;
  Reply reply;
  // Loop thread only; empty once nobody needs the reply.
  std::function<void(StatusOr<Reply>)> done;
  // Released when gRPC's thread has posted to the loop; shared, since that thread may outlive us.
  std::shared_ptr<std::binary_semaphore> ended = std::make_shared<std::binary_semaphore>(0);
};

template <typename Request, typename Reply>
class PendingOneCall final : public PendingCall {
 public:
  explicit PendingOneCall(std::shared_ptr<OneCall<Request, Reply>> call) : call_(std::move(call)) {}
  ~PendingOneCall() override {
    call_->done = nullptr;
    call_->context.TryCancel();
    // Returns soon after the cancel: the loop may be destroyed once we have returned.
    call_->ended->acquire();
  }

 private:
  std::shared_ptr<OneCall<Request, Reply>> call_;
};

// Calls `method` ("/v1.PodResourcesLister/List") over `fd`, a non-blocking connection, and then
// `done` on the loop with the result; never before this function returns. Errors: those of the
// peer, DeadlineExceeded, or Unavailable (the connection is lost).
template <typename Request, typename Reply>
std::unique_ptr<PendingCall> StartCall(EventLoop& loop, UniqueFd fd, const std::string& method,
                                       Request request, std::chrono::milliseconds deadline,
                                       std::function<void(StatusOr<Reply>)> done) {
  using Stub = grpc::TemplatedGenericStub<Request, Reply>;
  auto call = std::make_shared<OneCall<Request, Reply>>();
  call->stub = std::make_unique<Stub>(ChannelOver(std::move(fd)));
  call->request = std::move(request);
  call->done = std::move(done);
  call->context.set_deadline(std::chrono::system_clock::now() + deadline);
  // gRPC's thread moves everything it holds to the loop: it must not destroy the last reference to
  // a channel, since gRPC would then wait for that same thread.
  call->stub->UnaryCall(
      &call->context, method, grpc::StubOptions(), &call->request, &call->reply,
      [&loop, call](const grpc::Status& status) mutable {
        const std::shared_ptr<std::binary_semaphore> ended = call->ended;
        loop.Post([call = std::move(call), status = FromGrpc(status)] {
          if (!call->done) {
            return;
          }
          const auto notify = std::exchange(call->done, nullptr);
          notify(status.ok() ? StatusOr<Reply>(std::move(call->reply)) : StatusOr<Reply>(status));
        });
        ended->release();
      });
  return std::make_unique<PendingOneCall<Request, Reply>>(std::move(call));
}

}  // namespace kgpu::rpc
