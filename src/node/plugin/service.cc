#include "src/node/plugin/service.h"

#include <deviceplugin_v1beta1.grpc.pb.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <list>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/platform/base/log.h"
#include "src/platform/base/mutex.h"
#include "src/platform/net/rpc/status_map.h"

namespace kgpu::plugin {
namespace {

using ::v1beta1::AllocateRequest;
using ::v1beta1::AllocateResponse;
using ::v1beta1::DevicePluginOptions;
using ::v1beta1::Empty;
using ::v1beta1::ListAndWatchResponse;
using ::v1beta1::PreferredAllocationRequest;
using ::v1beta1::PreferredAllocationResponse;
using ::v1beta1::PreStartContainerRequest;
using ::v1beta1::PreStartContainerResponse;

void FillList(const ResourceView& view, ListAndWatchResponse& list) {
  for (const Advertised& device : view.devices) {
    auto* entry = list.add_devices();
    entry->set_id(device.id);
    entry->set_health(device.is_healthy ? "Healthy" : "Unhealthy");
    if (device.numa_node) {
      entry->mutable_topology()->add_nodes()->set_id(*device.numa_node);
    }
  }
}

void FillAnswer(const Answer& answer, ::v1beta1::ContainerAllocateResponse& response) {
  for (const auto& [name, value] : answer.envs) {
    (*response.mutable_envs())[name] = value;
  }
  for (const auto& [key, value] : answer.annotations) {
    (*response.mutable_annotations())[key] = value;
  }
  for (const AnswerMount& mount : answer.mounts) {
    auto* entry = response.add_mounts();
    entry->set_container_path(mount.container_path);
    entry->set_host_path(mount.host_path);
    entry->set_read_only(mount.is_read_only);
  }
  for (const AnswerDevice& device : answer.devices) {
    auto* entry = response.add_devices();
    entry->set_container_path(device.container_path);
    entry->set_host_path(device.host_path);
    entry->set_permissions(device.permissions);
  }
  for (const std::string& name : answer.cdi_devices) {
    response.add_cdi_devices()->set_name(name);
  }
}

std::vector<std::string> ToVector(const google::protobuf::RepeatedPtrField<std::string>& list) {
  return {list.begin(), list.end()};
}

// Precondition: the view has answers.
Status Allocate(const ResourceView& view, const AllocateRequest& request,
                AllocateResponse& response) {
  if (request.container_requests().empty()) {
    return InvalidArgument("the request contains no container");
  }
  for (const auto& container : request.container_requests()) {
    const std::vector<std::string> ids = ToVector(container.devices_ids());
    StatusOr<Answer> answer = view.answers->For(ids);
    if (!answer.ok()) {
      return answer.status();
    }
    if (const Status prepared = view.prepare ? view.prepare(ids) : OkStatus(); !prepared.ok()) {
      return prepared;
    }
    FillAnswer(*answer, *response.add_container_responses());
  }
  return OkStatus();
}

Status Prefer(const ResourceView& view, const PreferredAllocationRequest& request,
              PreferredAllocationResponse& response) {
  for (const auto& container : request.container_requests()) {
    auto* chosen = response.add_container_responses();
    if (!view.preference) {
      continue;  // an empty choice: the kubelet takes any
    }
    if (container.allocation_size() < 0) {
      return InvalidArgument("{}: allocation_size {} must not be negative", view.resource,
                             container.allocation_size());
    }
    StatusOr<std::vector<std::string>> ids = view.preference(
        ToVector(container.available_deviceids()), ToVector(container.must_include_deviceids()),
        static_cast<size_t>(container.allocation_size()));
    if (!ids.ok()) {
      return ids.status();
    }
    for (std::string& id : *ids) {
      *chosen->add_deviceids() = std::move(id);
    }
  }
  return OkStatus();
}

Status Unanswered() {
  return Unavailable("the driver has not answered yet: run `kgpu devices` to see why");
}

Status Withdrawn() {
  return Unavailable(
      "the node no longer serves this resource: its configuration has changed, or kgpu is "
      "stopping: "
      "`kgpu status` shows what it serves");
}

// Whether Allocate can be answered, be it with a refusal.
bool IsDecided(const ResourceViewPtr& view) {
  return view && (view->answers || !view->obstacle.ok());
}

}  // namespace

class Service::Impl : public ::v1beta1::DevicePlugin::CallbackService,
                      public std::enable_shared_from_this<Service::Impl> {
 public:
  Impl(EventLoop& loop, Events events) : loop_(loop), events_(std::move(events)) {}

  // Loop thread: no event of ours is delivered after this.
  void Detach() {
    events_ = {};
    loop_.CancelTimer(patience_);
  }

  void SetView(const ResourceViewPtr& view);
  void EndStreams();
  bool Stop();
  unsigned open_streams() const { return open_streams_; }
  ServiceCounts counts() const {
    return {.allocations = allocations_,
            .failed_allocations = failed_allocations_,
            .preferences = preferences_,
            .lists_sent = lists_sent_,
            .allocation_latency = allocation_latency_.counts(),
            .preference_latency = preference_latency_.counts()};
  }

  grpc::ServerUnaryReactor* GetDevicePluginOptions(grpc::CallbackServerContext* context,
                                                   const Empty*,
                                                   DevicePluginOptions* options) override {
    options->set_get_preferred_allocation_available(true);
    return Finish(context, OkStatus());
  }
  grpc::ServerWriteReactor<ListAndWatchResponse>* ListAndWatch(grpc::CallbackServerContext*,
                                                               const Empty*) override;
  grpc::ServerUnaryReactor* GetPreferredAllocation(grpc::CallbackServerContext* context,
                                                   const PreferredAllocationRequest* request,
                                                   PreferredAllocationResponse* response) override;
  grpc::ServerUnaryReactor* Allocate(grpc::CallbackServerContext* context,
                                     const AllocateRequest* request,
                                     AllocateResponse* response) override;
  grpc::ServerUnaryReactor* PreStartContainer(grpc::CallbackServerContext* context,
                                              const PreStartContainerRequest*,
                                              PreStartContainerResponse*) override {
    return Finish(context, OkStatus());
  }

 private:
  class Stream;
  // An Allocate, which may have come before there were answers.
  struct Waiting {
    SteadyTime begun{};
    grpc::ServerUnaryReactor* reactor = nullptr;
    const AllocateRequest* request = nullptr;
    AllocateResponse* response = nullptr;
  };

  static grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext* context,
                                          const Status& status) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(rpc::ToGrpc(status));
    return reactor;
  }
  ResourceViewPtr view() const {
    const MutexLock lock(mutex_);
    return view_;
  }
  void Settle(const Waiting& call, const ResourceView* view, const Status& otherwise);
  void ArmPatience();
  // The number of calls that waited.
  size_t RefuseWaiting(const Status& reason);
  void PostOpened();
  void PostEnded();

  EventLoop& loop_;

  // Loop thread only.
  Events events_;
  unsigned open_streams_ = 0;
  TimerId patience_ = TimerId::kNone;

  mutable Mutex mutex_;
  ResourceViewPtr view_ ABSL_GUARDED_BY(mutex_);
  std::list<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  std::set<Stream*> streams_ ABSL_GUARDED_BY(mutex_);
  bool is_stopped_ ABSL_GUARDED_BY(mutex_) = false;

  std::atomic<uint64_t> allocations_ = 0;
  std::atomic<uint64_t> failed_allocations_ = 0;
  std::atomic<uint64_t> preferences_ = 0;
  std::atomic<uint64_t> lists_sent_ = 0;
  Latency allocation_latency_;
  Latency preference_latency_;
};

// One ListAndWatch call. At most one list is on its way; when views change meanwhile, the newest
// follows it: nothing queues up. Deletes itself when gRPC is done with it.
class Service::Impl::Stream final : public grpc::ServerWriteReactor<ListAndWatchResponse> {
 public:
  explicit Stream(std::shared_ptr<Impl> service) : service_(std::move(service)) {}

  // Sends the service's view unless it was sent already.
  void Push(const ResourceViewPtr& view) {
    const MutexLock lock(mutex_);
    next_ = view;
    SendNext();
  }

  void End() {
    const MutexLock lock(mutex_);
    if (!std::exchange(is_finished_, true)) {
      Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the plugin registers again"));
    }
  }

  void OnWriteDone(bool ok) override {
    const MutexLock lock(mutex_);
    is_writing_ = false;
    if (ok) {
      SendNext();
    } else if (!std::exchange(is_finished_, true)) {
      Finish(grpc::Status::CANCELLED);
    }
  }
  void OnCancel() override {
    const MutexLock lock(mutex_);
    if (!std::exchange(is_finished_, true)) {
      Finish(grpc::Status::CANCELLED);
    }
  }
  void OnDone() override {
    {
      const MutexLock lock(service_->mutex_);
      service_->streams_.erase(this);
    }
    service_->PostEnded();
    delete this;  // NOLINT(cppcoreguidelines-owning-memory): gRPC's contract for reactors
  }

 private:
  void SendNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (is_writing_ || is_finished_ || next_ == nullptr) {
      return;
    }
    const ResourceViewPtr view = std::exchange(next_, nullptr);
    if (sent_ != nullptr && sent_->devices == view->devices) {
      return;
    }
    const ResourceViewPtr before = std::exchange(sent_, view);  // goes once the list is on its way
    list_.Clear();
    FillList(*view, list_);
    is_writing_ = true;
    ++service_->lists_sent_;
    StartWrite(&list_);
  }

  const std::shared_ptr<Impl> service_;
  Mutex mutex_;
  ResourceViewPtr next_ ABSL_GUARDED_BY(mutex_);
  ResourceViewPtr sent_ ABSL_GUARDED_BY(mutex_);
  ListAndWatchResponse list_ ABSL_GUARDED_BY(mutex_);
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;
};

grpc::ServerWriteReactor<ListAndWatchResponse>* Service::Impl::ListAndWatch(
    grpc::CallbackServerContext*, const Empty*) {
  auto* stream = new Stream(shared_from_this());  // NOLINT(cppcoreguidelines-owning-memory): OnDone
  ResourceViewPtr current;
  {
    const MutexLock lock(mutex_);
    streams_.insert(stream);
    current = view_;
  }
  PostOpened();
  if (current) {
    stream->Push(current);
  }
  return stream;
}

grpc::ServerUnaryReactor* Service::Impl::GetPreferredAllocation(
    grpc::CallbackServerContext* context, const PreferredAllocationRequest* request,
    PreferredAllocationResponse* response) {
  ++preferences_;
  const SteadyTime begun = loop_.clock().Now();
  const ResourceViewPtr current = view();
  const Status status = current ? Prefer(*current, *request, *response)
                                : Unavailable("the GPUs are unknown so far: try again");
  preference_latency_.Add(loop_.clock().Now() - begun);
  return Finish(context, status);
}

grpc::ServerUnaryReactor* Service::Impl::Allocate(grpc::CallbackServerContext* context,
                                                  const AllocateRequest* request,
                                                  AllocateResponse* response) {
  const Waiting call{.begun = loop_.clock().Now(),
                     .reactor = context->DefaultReactor(),
                     .request = request,
                     .response = response};
  ResourceViewPtr current;
  bool is_waiting = false;
  {
    const MutexLock lock(mutex_);
    current = view_;
    is_waiting = !is_stopped_ && !IsDecided(current);
    if (is_waiting) {
      waiting_.push_back(call);
    }
  }
  if (is_waiting) {
    loop_.Post([self = shared_from_this()] { self->ArmPatience(); });
  } else {
    Settle(call, current.get(), Withdrawn());
  }
  return call.reactor;
}

// `otherwise`: the answer if the view has none.
void Service::Impl::Settle(const Waiting& call, const ResourceView* view, const Status& otherwise) {
  Status status = otherwise;
  if (view != nullptr && view->answers) {
    status = plugin::Allocate(*view, *call.request, *call.response);
  } else if (view != nullptr && !view->obstacle.ok()) {
    status = view->obstacle;
  }
  ++(status.ok() ? allocations_ : failed_allocations_);
  allocation_latency_.Add(loop_.clock().Now() - call.begun);
  if (!status.ok()) {
    KGPU_LOG(kWarning, "allocation rejected", {"reason", Message(status)});
  }
  call.reactor->Finish(rpc::ToGrpc(status));
}

void Service::Impl::ArmPatience() {
  if (patience_ == TimerId::kNone) {
    patience_ =
        loop_.After(kPatience, [self = shared_from_this()] { self->RefuseWaiting(Unanswered()); });
  }
}

size_t Service::Impl::RefuseWaiting(const Status& reason) {
  loop_.CancelTimer(std::exchange(patience_, TimerId::kNone));
  std::list<Waiting> waiting;
  {
    const MutexLock lock(mutex_);
    waiting.swap(waiting_);
  }
  for (const Waiting& call : waiting) {
    Settle(call, nullptr, reason);
  }
  return waiting.size();
}

void Service::Impl::SetView(const ResourceViewPtr& view) {
  std::list<Waiting> waiting;
  {
    const MutexLock lock(mutex_);
    view_ = view;
    if (IsDecided(view)) {
      waiting.swap(waiting_);
    }
    // Under the lock, so that no stream ends and goes in between. A stream's own lock is taken
    // inside ours here, and never the other way round.
    for (Stream* stream : streams_) {
      stream->Push(view);
    }
  }
  for (const Waiting& call : waiting) {
    Settle(call, view.get(), Unanswered());
  }
}

void Service::Impl::EndStreams() {
  const MutexLock lock(mutex_);
  for (Stream* stream : streams_) {
    stream->End();
  }
}

bool Service::Impl::Stop() {
  {
    const MutexLock lock(mutex_);
    is_stopped_ = true;
  }
  EndStreams();
  return RefuseWaiting(Withdrawn()) > 0;
}

void Service::Impl::PostOpened() {
  loop_.Post([self = shared_from_this()] {
    ++self->open_streams_;
    if (self->events_.on_stream_opened) {
      self->events_.on_stream_opened();
    }
  });
}

void Service::Impl::PostEnded() {
  loop_.Post([self = shared_from_this()] {
    --self->open_streams_;
    if (self->events_.on_stream_ended) {
      self->events_.on_stream_ended();
    }
  });
}

Service::Service(EventLoop& loop, Events events)
    : impl_(std::make_shared<Impl>(loop, std::move(events))) {
}

Service::~Service() {
  impl_->Detach();
}

grpc::Service& Service::grpc_service() {
  return *impl_;
}

void Service::SetView(const ResourceViewPtr& view) {
  impl_->SetView(view);
}

void Service::EndStreams() {
  impl_->EndStreams();
}

bool Service::Stop() {
  return impl_->Stop();
}

unsigned Service::open_streams() const {
  return impl_->open_streams();
}

ServiceCounts Service::counts() const {
  return impl_->counts();
}

}  // namespace kgpu::plugin
