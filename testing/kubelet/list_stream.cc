#include "testing/kubelet/list_stream.h"

#include <utility>

#include "src/platform/net/rpc/status_map.h"
#include "testing/kubelet/proto_codec.h"

namespace kgpu::kubelet {

ListStream::ListStream(EventLoop& loop, CallsInFlight& calls,
                       std::shared_ptr<grpc::ClientContext> context, Handlers handlers)
    : loop_(loop), calls_(calls), context_(std::move(context)), handlers_(std::move(handlers)) {
}

std::shared_ptr<ListStream> ListStream::Start(EventLoop& loop, CallsInFlight& calls,
                                              v1beta1::DevicePlugin::Stub& stub,
                                              std::shared_ptr<grpc::ClientContext> context,
                                              Handlers handlers) {
  std::shared_ptr<ListStream> stream(
      new ListStream(loop, calls, std::move(context), std::move(handlers)));
  stream->self_ = stream;
  calls.Begin();
  stub.async()->ListAndWatch(stream->context_.get(), &stream->request_, stream.get());
  // Reads start on the loop too, outside of gRPC's own reactions.
  stream->AddHold();
  stream->StartRead(&stream->message_);
  stream->StartCall();
  return stream;
}

void ListStream::Close() {
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
    RemoveHold();
  }
}

void ListStream::OnReadDone(bool is_message) {
  {
    const std::lock_guard lock(mutex_);
    if (is_message && !is_closed_) {
      is_delivering_ = true;
      loop_.Post([stream = self_] { stream->Deliver(); });
      return;
    }
    is_closed_ = true;
  }
  RemoveHold();
}

void ListStream::Deliver() {
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) {
      return;
    }
  }
  handlers_.on_list(FromProto(message_));
  {
    // The handler may have closed the stream.
    const std::lock_guard lock(mutex_);
    if (is_closed_) {
      return;
    }
    is_delivering_ = false;
  }
  StartRead(&message_);
}

void ListStream::OnDone(const grpc::Status& status) {
  CallsInFlight& calls = calls_;
  // The loop may destroy this at once.
  loop_.Post([stream = std::move(self_), status] {
    const Handlers handlers = std::exchange(stream->handlers_, {});
    handlers.on_end(rpc::FromGrpc(status));
  });
  calls.End();
}

}  // namespace kgpu::kubelet
