// A unary call that arrives on gRPC's thread and is answered on the loop. Only for the files that
// use gRPC.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace kgpu::kubelet {

// Owns itself until gRPC is done with it. Thread: any.
class ServedCall final : public grpc::ServerUnaryReactor {
 public:
  static std::shared_ptr<ServedCall> Create() {
    std::shared_ptr<ServedCall> call(new ServedCall());
    call->self_ = call;
    return call;
  }

  // Runs `fill`, which writes the response, unless the call is over.
  void Fill(const std::function<void()>& fill) {
    const std::lock_guard lock(mutex_);
    if (!is_replied_) {
      fill();
    }
  }

  // Answers the call unless it has been answered.
  void Reply(const grpc::Status& status) {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(is_replied_, true)) {
        return;
      }
    }
    Finish(status);
  }

  // Runs once, on gRPC's thread, when the client gives up (also if it already has).
  void OnCancelled(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      if (!is_cancelled_) {
        on_cancelled_ = std::move(task);
        return;
      }
    }
    task();
  }

  void OnCancel() override {
    std::function<void()> task;
    {
      const std::lock_guard lock(mutex_);
      is_cancelled_ = true;
      task = std::exchange(on_cancelled_, nullptr);
    }
    if (task) {
      task();
    }
    Reply(grpc::Status(grpc::StatusCode::CANCELLED, "the client gave up"));
  }
  void OnDone() override {
    const std::shared_ptr<ServedCall> self = std::move(self_);
    on_cancelled_ = nullptr;  // may own what owns this
  }

 private:
  ServedCall() = default;

  std::shared_ptr<ServedCall> self_;
  std::mutex mutex_;
  bool is_replied_ = false;
  bool is_cancelled_ = false;
  std::function<void()> on_cancelled_;
};

// The calls of one service, so that none is left without an answer at its end: a gRPC server waits
// for all of them. Thread: any.
class ServedCalls {
 public:
  std::shared_ptr<ServedCall> Accept() {
    std::shared_ptr<ServedCall> call = ServedCall::Create();
    bool is_refused = false;
    {
      const std::lock_guard lock(mutex_);
      is_refused = is_closed_;
      std::erase_if(calls_, [](const auto& weak) { return weak.expired(); });
      calls_.push_back(call);
    }
    if (is_refused) {
      call->Reply(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server is going away"));
    }
    return call;
  }

  void Close() {
    std::vector<std::weak_ptr<ServedCall>> calls;
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
      calls.swap(calls_);
    }
    for (const auto& weak : calls) {
      if (const auto call = weak.lock()) {
        call->Reply(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server is going away"));
      }
    }
  }

 private:
  std::mutex mutex_;
  bool is_closed_ = false;
  std::vector<std::weak_ptr<ServedCall>> calls_;
};

}  // namespace kgpu::kubelet
