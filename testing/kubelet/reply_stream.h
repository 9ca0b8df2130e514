// A stream of messages from a plugin, as the kubelet reads it. Only for the files that use gRPC.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/net/rpc/status_map.h"
#include "testing/kubelet/calls_in_flight.h"

namespace kgpu::kubelet {

// Owns itself from Start to the stream's end. Reads a message only after the loop has taken the
// previous one, so that a plugin cannot fill the memory.
template <typename Request, typename Response>
class ReplyStream final : public grpc::ClientReadReactor<Response> {
 public:
  struct Handlers {
    std::function<void(const Response&)> on_message;
    std::function<void(const Status&)> on_end;
  };

  // `begin(context, request, reactor)` starts the call on a stub. Both handlers run on the loop.
  // `loop` and `calls` must outlive the stream.
  template <typename Begin>
  static std::shared_ptr<ReplyStream> Start(EventLoop& loop, CallsInFlight& calls,
                                            std::shared_ptr<grpc::ClientContext> context,
                                            const Begin& begin, Handlers handlers) {
    std::shared_ptr<ReplyStream> stream(
        new ReplyStream(loop, calls, std::move(context), std::move(handlers)));
    stream->self_ = stream;
    calls.Begin();
    begin(stream->context_.get(), &stream->request_, stream.get());
    // Reads start on the loop too, outside of gRPC's own reactions.
    stream->AddHold();
    stream->StartRead(&stream->message_);
    stream->StartCall();
    return stream;
  }

  // Cancels the stream; `on_end` is still called. Loop thread.
  void Close() {
    bool is_idle = false;
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(is_closed_, true)) {
        return;
      }
      is_idle = is_delivering_;
    }
    context_->TryCancel();
    if (is_idle) {
      this->RemoveHold();
    }
  }

  void OnReadDone(bool is_message) override {
    {
      const std::lock_guard lock(mutex_);
      if (is_message && !is_closed_) {
        is_delivering_ = true;
        loop_.Post([stream = self_] { stream->Deliver(); });
        return;
      }
      is_closed_ = true;
    }
    this->RemoveHold();
  }

  void OnDone(const grpc::Status& status) override {
    CallsInFlight& calls = calls_;
    // The loop may destroy this at once.
    loop_.Post([stream = std::move(self_), status] {
      const Handlers handlers = std::exchange(stream->handlers_, {});
      handlers.on_end(rpc::FromGrpc(status));
    });
    calls.End();
  }

 private:
  ReplyStream(EventLoop& loop, CallsInFlight& calls, std::shared_ptr<grpc::ClientContext> context,
              Handlers handlers)
      : loop_(loop), calls_(calls), context_(std::move(context)), handlers_(std::move(handlers)) {}

  void Deliver() {
    {
      const std::lock_guard lock(mutex_);
      if (is_closed_) {
        return;
      }
    }
    handlers_.on_message(message_);
    {
      // The handler may have closed the stream.
      const std::lock_guard lock(mutex_);
      if (is_closed_) {
        return;
      }
      is_delivering_ = false;
    }
    this->StartRead(&message_);
  }

  EventLoop& loop_;
  CallsInFlight& calls_;
  std::shared_ptr<grpc::ClientContext> context_;
  Handlers handlers_;
  Request request_;
  Response message_;
  std::shared_ptr<ReplyStream> self_;

  std::mutex mutex_;
  bool is_closed_ = false;
  bool is_delivering_ = false;  // a message waits for the loop: no read is in progress
};

}  // namespace kgpu::kubelet
