#include "src/node/claims/service.h"

#include <dra_health_v1alpha1.grpc.pb.h>
#include <dra_v1.grpc.pb.h>
#include <dra_v1beta1.grpc.pb.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "src/platform/base/mutex.h"
#include "src/platform/base/utf8.h"

namespace kgpu::claims {
namespace {

namespace v1 = ::k8s::io::kubelet::pkg::apis::dra::v1;
namespace v1beta1 = ::k8s::io::kubelet::pkg::apis::dra::v1beta1;
using ::v1alpha1::DRAResourceHealth;
using ::v1alpha1::NodeWatchResourcesRequest;
using ::v1alpha1::NodeWatchResourcesResponse;

constexpr size_t kMaxMessage = 1024;
// An entry counts that long, in seconds: three of our messages.
constexpr int64_t kHealthTime = 30;

// Claims of one pod, and a request may name no more than the kubelet's messages hold.
template <typename Request>
std::vector<ClaimRef> RefsOf(const Request& request) {
  std::vector<ClaimRef> refs;
  for (const auto& claim : request.claims()) {
    refs.push_back({.space = claim.namespace_(), .name = claim.name(), .uid = claim.uid()});
  }
  return refs;
}

template <typename Device>
void Fill(const dra::PreparedDevice& from, Device& to) {
  if (!from.request.empty()) {
    to.add_request_names(from.request);
  }
  to.set_pool_name(from.pool);
  to.set_device_name(from.device);
  for (const std::string& id : from.cdi_ids) {
    to.add_cdi_device_ids(id);
  }
  if constexpr (requires { to.set_share_id(from.share_id); }) {
    if (!from.share_id.empty()) {
      to.set_share_id(from.share_id);
    }
  }
}

}  // namespace

// Shared by the services; its `preparer` is for the loop's thread alone.
class ClaimService::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(EventLoop& loop, Preparer& preparer) : loop_(loop), preparer_(&preparer) {}

  template <typename Request, typename Response>
  grpc::ServerUnaryReactor* Prepare(grpc::CallbackServerContext* context, const Request* request,
                                    Response* response) {
    return Begin(context, *request, [this, response](uint64_t call, const ClaimRef& ref) {
      preparer_->Prepare(ref, [self = shared_from_this(), call, response,
                               uid = ref.uid](StatusOr<std::vector<dra::PreparedDevice>> devices) {
        self->Answer(call, [&] {
          auto& answer = (*response->mutable_claims())[uid];
          if (!devices.ok()) {
            return answer.set_error(std::string(Message(devices.status())));
          }
          for (const dra::PreparedDevice& device : *devices) {
            Fill(device, *answer.add_devices());
          }
        });
      });
    });
  }

  template <typename Request, typename Response>
  grpc::ServerUnaryReactor* Unprepare(grpc::CallbackServerContext* context, const Request* request,
                                      Response* response) {
    return Begin(context, *request, [this, response](uint64_t call, const ClaimRef& ref) {
      preparer_->Unprepare(
          ref, [self = shared_from_this(), call, response, uid = ref.uid](const Status& status) {
            self->Answer(call, [&] {
              auto& answer = (*response->mutable_claims())[uid];
              if (!status.ok()) {
                answer.set_error(std::string(Message(status)));
              }
            });
          });
    });
  }

  grpc::ServerWriteReactor<NodeWatchResourcesResponse>* Watch();
  void SendHealth(std::vector<DeviceHealth> devices);
  void Stop();
  void Detach() { preparer_ = nullptr; }

  std::vector<grpc::Service*> services() { return {&v1_, &v1beta1_, &health_}; }

 private:
  class Stream;

  template <typename Base, typename PrepareRequest, typename PrepareResponse,
            typename UnprepareRequest, typename UnprepareResponse>
  class Plugin final : public Base::CallbackService {
   public:
    explicit Plugin(Impl& impl) : impl_(impl) {}
    grpc::ServerUnaryReactor* NodePrepareResources(grpc::CallbackServerContext* context,
                                                   const PrepareRequest* request,
                                                   PrepareResponse* response) override {
      return impl_.Prepare(context, request, response);
    }
    grpc::ServerUnaryReactor* NodeUnprepareResources(grpc::CallbackServerContext* context,
                                                     const UnprepareRequest* request,
                                                     UnprepareResponse* response) override {
      return impl_.Unprepare(context, request, response);
    }

   private:
    Impl& impl_;
  };

  class Health final : public DRAResourceHealth::CallbackService {
   public:
    explicit Health(Impl& impl) : impl_(impl) {}
    grpc::ServerWriteReactor<NodeWatchResourcesResponse>* NodeWatchResources(
        grpc::CallbackServerContext*, const NodeWatchResourcesRequest*) override {
      return impl_.Watch();
    }

   private:
    Impl& impl_;
  };

  // A call that waits for the answers of its claims.
  struct OpenCall {
    grpc::ServerUnaryReactor* reactor = nullptr;
    size_t left = 0;
  };

  // Runs `act` on the loop for each claim of the request.
  template <typename Request, typename Act>
  grpc::ServerUnaryReactor* Begin(grpc::CallbackServerContext* context, const Request& request,
                                  Act act) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    std::vector<ClaimRef> refs = RefsOf(request);
    uint64_t id = 0;
    {
      const MutexLock lock(mutex_);
      if (!refs.empty() && !is_stopped_) {
        id = ++last_call_;
        calls_[id] = {.reactor = reactor, .left = refs.size()};
      }
    }
    if (id == 0) {
      reactor->Finish(refs.empty() ? grpc::Status::OK : Ending());
      return reactor;
    }
    loop_.Post([self = shared_from_this(), id, refs = std::move(refs), act = std::move(act)] {
      for (const ClaimRef& ref : refs) {
        if (self->preparer_ != nullptr) {
          act(id, ref);
        }
      }
    });
    return reactor;
  }

  // `fill` writes one claim's part of the response, which is there as long as the call is open.
  template <typename FillPart>
  void Answer(uint64_t call, FillPart fill) {
    grpc::ServerUnaryReactor* ended = nullptr;
    {
      const MutexLock lock(mutex_);
      const auto found = calls_.find(call);
      if (found == calls_.end()) {
        return;
      }
      fill();
      if (--found->second.left == 0) {
        ended = found->second.reactor;
        calls_.erase(found);
      }
    }
    if (ended != nullptr) {
      ended->Finish(grpc::Status::OK);
    }
  }

  static grpc::Status Ending() {
    return {grpc::StatusCode::UNAVAILABLE, "kgpu agent ends: try again"};
  }

  EventLoop& loop_;
  Preparer* preparer_;  // loop thread only; null: the service ends
  Plugin<v1::DRAPlugin, v1::NodePrepareResourcesRequest, v1::NodePrepareResourcesResponse,
         v1::NodeUnprepareResourcesRequest, v1::NodeUnprepareResourcesResponse>
      v1_{*this};
  Plugin<v1beta1::DRAPlugin, v1beta1::NodePrepareResourcesRequest,
         v1beta1::NodePrepareResourcesResponse, v1beta1::NodeUnprepareResourcesRequest,
         v1beta1::NodeUnprepareResourcesResponse>
      v1beta1_{*this};
  Health health_{*this};

  Mutex mutex_;
  std::shared_ptr<const NodeWatchResourcesResponse> list_ ABSL_GUARDED_BY(mutex_);
  std::set<Stream*> streams_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, OpenCall> calls_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_call_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

// At most one list is on its way; the newest follows it. Deletes itself when gRPC is done with it.
class ClaimService::Impl::Stream final
    : public grpc::ServerWriteReactor<NodeWatchResourcesResponse> {
 public:
  explicit Stream(std::shared_ptr<Impl> service) : service_(std::move(service)) {}

  void Push(std::shared_ptr<const NodeWatchResourcesResponse> list) {
    const MutexLock lock(mutex_);
    next_ = std::move(list);
    SendNext();
  }
  void End(const grpc::Status& status) {
    const MutexLock lock(mutex_);
    if (!std::exchange(is_finished_, true)) {
      Finish(status);
    }
  }
  void OnWriteDone(bool ok) override {
    const MutexLock lock(mutex_);
    sent_.reset();
    if (ok) {
      SendNext();
    } else if (!std::exchange(is_finished_, true)) {
      Finish(grpc::Status::CANCELLED);
    }
  }
  void OnCancel() override { End(grpc::Status::CANCELLED); }
  void OnDone() override {
    {
      const MutexLock lock(service_->mutex_);
      service_->streams_.erase(this);
    }
    delete this;  // NOLINT(cppcoreguidelines-owning-memory): gRPC's contract for reactors
  }

 private:
  void SendNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (sent_ != nullptr || is_finished_ || next_ == nullptr) {
      return;
    }
    sent_ = std::exchange(next_, nullptr);
    StartWrite(sent_.get());
  }

  const std::shared_ptr<Impl> service_;
  Mutex mutex_;
  std::shared_ptr<const NodeWatchResourcesResponse> next_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const NodeWatchResourcesResponse> sent_ ABSL_GUARDED_BY(mutex_);
  bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;
};

grpc::ServerWriteReactor<NodeWatchResourcesResponse>* ClaimService::Impl::Watch() {
  auto* stream = new Stream(shared_from_this());  // NOLINT(cppcoreguidelines-owning-memory): OnDone
  std::shared_ptr<const NodeWatchResourcesResponse> list;
  bool is_stopped = false;
  {
    const MutexLock lock(mutex_);
    streams_.insert(stream);
    list = list_;
    is_stopped = is_stopped_;
  }
  if (is_stopped) {
    stream->End(Ending());
  } else if (list) {
    stream->Push(std::move(list));
  }
  return stream;
}

void ClaimService::Impl::SendHealth(std::vector<DeviceHealth> devices) {
  auto list = std::make_shared<NodeWatchResourcesResponse>();
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(loop_.clock().WallNow().time_since_epoch());
  for (DeviceHealth& from : devices) {
    auto& to = *list->add_devices();
    to.mutable_device()->set_pool_name(std::move(from.pool));
    to.mutable_device()->set_device_name(std::move(from.device));
    to.set_health(from.is_healthy ? ::v1alpha1::HEALTHY : ::v1alpha1::UNHEALTHY);
    to.set_message(std::string(CutUtf8(from.message, kMaxMessage)));
    to.set_last_updated_time(seconds.count());
    to.set_health_check_timeout_seconds(kHealthTime);
  }
  const MutexLock lock(mutex_);
  list_ = list;
  // A stream's own lock is taken inside ours here, and never the other way round.
  for (Stream* stream : streams_) {
    stream->Push(list);
  }
}

void ClaimService::Impl::Stop() {
  preparer_ = nullptr;
  std::map<uint64_t, OpenCall> calls;
  {
    const MutexLock lock(mutex_);
    is_stopped_ = true;
    calls.swap(calls_);
    for (Stream* stream : streams_) {
      stream->End(Ending());
    }
  }
  for (const auto& [id, call] : calls) {
    call.reactor->Finish(Ending());
  }
}

ClaimService::ClaimService(EventLoop& loop, Preparer& preparer)
    : impl_(std::make_shared<Impl>(loop, preparer)) {
}

ClaimService::~ClaimService() {
  impl_->Detach();
}

std::vector<grpc::Service*> ClaimService::grpc_services() {
  return impl_->services();
}

void ClaimService::SendHealth(std::vector<DeviceHealth> devices) {
  impl_->SendHealth(std::move(devices));
}

void ClaimService::Stop() {
  impl_->Stop();
}

}  // namespace kgpu::claims
