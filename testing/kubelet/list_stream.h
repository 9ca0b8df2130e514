// The ListAndWatch stream as the kubelet reads it. Only for the files that use gRPC.
#pragma once

#include <deviceplugin_v1beta1.grpc.pb.h>
#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "testing/kubelet/calls_in_flight.h"
#include "testing/kubelet/plugin_api.h"

namespace kgpu::kubelet {

// Owns itself from Start to the stream's end. Reads a message only after the loop has taken the
// previous one, so that a plugin cannot fill the memory.
class ListStream final : public grpc::ClientReadReactor<v1beta1::ListAndWatchResponse> {
 public:
  struct Handlers {
    std::function<void(const std::vector<Device>&)> on_list;
    std::function<void(const Status&)> on_end;
  };

  // Both handlers run on the loop. `loop` and `calls` must outlive the stream.
  static std::shared_ptr<ListStream> Start(EventLoop& loop, CallsInFlight& calls,
                                           v1beta1::DevicePlugin::Stub& stub,
                                           std::shared_ptr<grpc::ClientContext> context,
                                           Handlers handlers);

  // Cancels the stream; `on_end` is still called. Loop thread.
  void Close();

  void OnReadDone(bool is_message) override;
  void OnDone(const grpc::Status& status) override;

 private:
  ListStream(EventLoop& loop, CallsInFlight& calls, std::shared_ptr<grpc::ClientContext> context,
             Handlers handlers);
  void Deliver();

  EventLoop& loop_;
  CallsInFlight& calls_;
  std::shared_ptr<grpc::ClientContext> context_;
  Handlers handlers_;
  v1beta1::Empty request_;
  v1beta1::ListAndWatchResponse message_;
  std::shared_ptr<ListStream> self_;

  std::mutex mutex_;
  bool is_closed_ = false;
  bool is_delivering_ = false;  // a message waits for the loop: no read is in progress
};

}  // namespace kgpu::kubelet
