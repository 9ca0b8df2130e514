// Parts of the sample plugins: a server on a thread of its own, and the streams that it sends.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/net/rpc/server.h"
#include "src/platform/net/rpc/status_map.h"
#include "src/platform/sys/acceptor.h"

namespace kgpu::kubelet {

inline grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context,
                                        const Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(rpc::ToGrpc(status));
  return reactor;
}

// Serves gRPC services on one socket. Thread: any.
class SampleServer {
 public:
  // `services` must outlive this. The socket listens at the return.
  SampleServer(const std::vector<grpc::Service*>& services, const std::string& socket_path)
      : server_(rpc::Server::Start(services).value()),
        acceptor_(sys::Acceptor::Create(*loop_, sys::UnixListener::Listen(socket_path, {}).value(),
                                        [this](UniqueFd fd) {
                                          ++connections_;
                                          server_->Serve(std::move(fd));
                                        })
                      .value()),
        thread_([this] { loop_->Run(); }) {}
  // Waits for every call: the owner has answered them all.
  ~SampleServer() {
    StopListening();
    server_.reset();
  }
  SampleServer(const SampleServer&) = delete;
  SampleServer& operator=(const SampleServer&) = delete;

  // Removes the socket; connections stay.
  void StopListening() {
    if (thread_.joinable()) {
      loop_->Quit();
      thread_.join();
      acceptor_.reset();
    }
  }
  // How many were accepted so far.
  int connections() const { return connections_; }

 private:
  std::unique_ptr<EpollLoop> loop_ = EpollLoop::Create().value();
  std::unique_ptr<rpc::Server> server_;
  std::atomic<int> connections_ = 0;
  std::unique_ptr<sys::Acceptor> acceptor_;
  std::jthread thread_;
};

// One open stream: sends the newest message, whatever happened between. Deleted by `on_done`.
template <typename Message>
class LatestStream final : public grpc::ServerWriteReactor<Message> {
 public:
  explicit LatestStream(std::function<void(LatestStream*)> on_done)
      : on_done_(std::move(on_done)) {}

  void Send(Message message) {
    const std::lock_guard lock(mutex_);
    next_ = std::move(message);
    has_next_ = true;
    Write();
  }
  void End(const Status& status) {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(is_finished_, true)) {
        return;
      }
    }
    this->Finish(rpc::ToGrpc(status));
  }

  void OnWriteDone(bool is_ok) override {
    if (!is_ok) {
      End(MakeStatus(StatusCode::kCancelled, "the kubelet is gone"));
      return;
    }
    const std::lock_guard lock(mutex_);
    is_writing_ = false;
    Write();
  }
  void OnCancel() override { End(MakeStatus(StatusCode::kCancelled, "the kubelet gave up")); }
  void OnDone() override { on_done_(this); }

 private:
  void Write() {
    if (is_finished_ || is_writing_ || !std::exchange(has_next_, false)) {
      return;
    }
    is_writing_ = true;
    message_ = std::exchange(next_, {});
    this->StartWrite(&message_);
  }

  std::function<void(LatestStream*)> on_done_;
  std::mutex mutex_;
  Message message_;
  Message next_;
  bool has_next_ = false;
  bool is_writing_ = false;
  bool is_finished_ = false;
};

// The open streams of one method. Thread: any.
template <typename Message>
class LatestStreams {
 public:
  using Stream = LatestStream<Message>;

  // A new stream with `first`, or one that ends at once with an error.
  Stream* Open(Message first, const Status& status) {
    auto* stream = new Stream([this](Stream* done) {  // owned by gRPC until on_done
      {
        const std::lock_guard lock(mutex_);
        std::erase(streams_, done);
      }
      delete done;
    });
    const std::lock_guard lock(mutex_);
    streams_.push_back(stream);
    if (status.ok()) {
      stream->Send(std::move(first));
    } else {
      stream->End(status);
    }
    return stream;
  }
  void Send(const Message& message) {
    const std::lock_guard lock(mutex_);
    for (Stream* stream : streams_) {
      stream->Send(message);
    }
  }
  void End(const Status& status) {
    const std::lock_guard lock(mutex_);
    for (Stream* stream : streams_) {
      stream->End(status);
    }
  }
  size_t size() const {
    const std::lock_guard lock(mutex_);
    return streams_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Stream*> streams_;
};

}  // namespace kgpu::kubelet
