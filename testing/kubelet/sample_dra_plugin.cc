#include "testing/kubelet/sample_dra_plugin.h"

#include <dra_health_v1alpha1.grpc.pb.h>
#include <dra_v1.grpc.pb.h>
#include <dra_v1beta1.grpc.pb.h>
#include <grpcpp/grpcpp.h>
#include <pluginregistration_v1.grpc.pb.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>

#include "src/platform/net/rpc/status_map.h"
#include "testing/kubelet/plugin_api.h"
#include "testing/kubelet/sample_server.h"

namespace kgpu::kubelet {
namespace {

namespace api = ::k8s::io::kubelet::pkg::apis::dra;
using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;
using HealthMessage = ::v1alpha1::NodeWatchResourcesResponse;

// Both versions of the API, and both methods: each message has what it needs of a reply.
template <typename Reply>
void FillReply(const ClaimReplies& replies, Reply& to) {
  for (const auto& [uid, reply] : replies) {
    auto& claim = (*to.mutable_claims())[uid];
    claim.set_error(reply.error);
    if constexpr (requires { claim.add_devices(); }) {
      for (const PreparedDevice& device : reply.devices) {
        auto& added = *claim.add_devices();
        added.mutable_request_names()->Assign(device.requests.begin(), device.requests.end());
        added.set_pool_name(device.pool);
        added.set_device_name(device.device);
        added.mutable_cdi_device_ids()->Assign(device.cdi_ids.begin(), device.cdi_ids.end());
        if constexpr (requires { added.set_share_id(""); }) {
          if (device.share_id) {
            added.set_share_id(*device.share_id);
          }
        }
      }
    }
  }
}

HealthMessage MessageOf(const std::vector<HealthReport>& reports) {
  HealthMessage message;
  for (const HealthReport& report : reports) {
    ::v1alpha1::DeviceHealth& device = *message.add_devices();
    device.mutable_device()->set_pool_name(report.pool);
    device.mutable_device()->set_device_name(report.device);
    device.set_health(report.health == kHealthy     ? ::v1alpha1::HEALTHY
                      : report.health == kUnhealthy ? ::v1alpha1::UNHEALTHY
                                                    : ::v1alpha1::UNKNOWN);
    device.set_health_check_timeout_seconds(report.timeout.count());
    device.set_message(report.message);
  }
  return message;
}

// The calls of both versions end here.
class Answerer {
 public:
  Answerer(SampleDraPlugin::Handler handler, bool holds)
      : handler_(std::move(handler)), holds_(holds) {}

  template <typename Request, typename Reply>
  Reactor* Take(Context* context, const Request* request, Reply* reply) {
    Reactor* reactor = context->DefaultReactor();
    auto answer = [this, request, reply, reactor] {
      std::vector<ClaimKey> claims;
      for (const auto& claim : request->claims()) {
        claims.push_back(
            {.name_space = claim.namespace_(), .uid = claim.uid(), .name = claim.name()});
      }
      const StatusOr<ClaimReplies> given = handler_(claims);
      if (given.ok()) {
        FillReply(*given, *reply);
      }
      reactor->Finish(rpc::ToGrpc(given.status()));
    };
    {
      const std::lock_guard lock(mutex_);
      if (holds_) {
        held_.emplace_back(answer);
        return reactor;
      }
    }
    answer();
    return reactor;
  }
  void Release() {
    std::vector<std::function<void()>> held;
    {
      const std::lock_guard lock(mutex_);
      holds_ = false;
      held.swap(held_);
    }
    for (const auto& answer : held) {
      answer();
    }
  }

 private:
  const SampleDraPlugin::Handler handler_;
  std::mutex mutex_;
  bool holds_;
  std::vector<std::function<void()>> held_;
};

template <typename Base, typename Prepare, typename PrepareReply, typename Unprepare,
          typename UnprepareReply>
class DraService final : public Base {
 public:
  DraService(Answerer& prepare, Answerer& unprepare) : prepare_(prepare), unprepare_(unprepare) {}
  Reactor* NodePrepareResources(Context* context, const Prepare* request,
                                PrepareReply* reply) override {
    return prepare_.Take(context, request, reply);
  }
  Reactor* NodeUnprepareResources(Context* context, const Unprepare* request,
                                  UnprepareReply* reply) override {
    return unprepare_.Take(context, request, reply);
  }

 private:
  Answerer& prepare_;
  Answerer& unprepare_;
};
using ServiceV1 =
    DraService<api::v1::DRAPlugin::CallbackService, api::v1::NodePrepareResourcesRequest,
               api::v1::NodePrepareResourcesResponse, api::v1::NodeUnprepareResourcesRequest,
               api::v1::NodeUnprepareResourcesResponse>;
using ServiceV1beta1 =
    DraService<api::v1beta1::DRAPlugin::CallbackService, api::v1beta1::NodePrepareResourcesRequest,
               api::v1beta1::NodePrepareResourcesResponse,
               api::v1beta1::NodeUnprepareResourcesRequest,
               api::v1beta1::NodeUnprepareResourcesResponse>;

}  // namespace

struct SampleDraPlugin::State final : public pluginregistration::Registration::CallbackService,
                                      public ::v1alpha1::DRAResourceHealth::CallbackService {
  State(const Options& in_options, const Behaviour& in_behaviour)
      : options(in_options),
        behaviour(in_behaviour),
        prepare(behaviour.prepare ? behaviour.prepare : OneDevice, behaviour.holds_calls),
        unprepare(behaviour.unprepare ? behaviour.unprepare : Nothing, behaviour.holds_calls) {}

  Reactor* GetInfo(Context* context, const pluginregistration::InfoRequest*,
                   pluginregistration::PluginInfo* info) override {
    info->set_type("DRAPlugin");
    info->set_name(options.driver);
    info->set_endpoint(options.service_path);
    info->mutable_supported_versions()->Assign(options.versions.begin(), options.versions.end());
    return Answer(context, behaviour.get_info ? behaviour.get_info() : OkStatus());
  }
  Reactor* NotifyRegistrationStatus(Context* context,
                                    const pluginregistration::RegistrationStatus* status,
                                    pluginregistration::RegistrationStatusResponse*) override {
    const bool is_asked = status->plugin_registered() && behaviour.notify != nullptr;
    return Answer(context, is_asked ? behaviour.notify() : OkStatus());
  }
  grpc::ServerWriteReactor<HealthMessage>* NodeWatchResources(
      Context*, const ::v1alpha1::NodeWatchResourcesRequest*) override {
    const std::lock_guard lock(mutex);
    return streams.Open(MessageOf(health), OkStatus());
  }

  bool Serves(const char* name) const {
    return std::ranges::find(options.versions, name) != options.versions.end();
  }
  std::vector<grpc::Service*> Services() {
    std::vector<grpc::Service*> services;
    if (Serves(kDraV1)) {
      services.push_back(&v1);
    }
    if (Serves(kDraV1beta1)) {
      services.push_back(&v1beta1);
    }
    if (options.reports_health) {
      services.push_back(static_cast<::v1alpha1::DRAResourceHealth::CallbackService*>(this));
    }
    return services;
  }

  const Options options;
  const Behaviour behaviour;
  Answerer prepare;
  Answerer unprepare;
  ServiceV1 v1{prepare, unprepare};
  ServiceV1beta1 v1beta1{prepare, unprepare};
  std::mutex mutex;
  std::vector<HealthReport> health;
  LatestStreams<HealthMessage> streams;
  std::unique_ptr<SampleServer> registration;
  std::unique_ptr<SampleServer> service;
};

SampleDraPlugin::SampleDraPlugin(const Options& options) : SampleDraPlugin(options, Behaviour()) {
}

SampleDraPlugin::SampleDraPlugin(const Options& options, const Behaviour& behaviour)
    : state_(std::make_unique<State>(options, behaviour)) {
  std::vector<grpc::Service*> services;
  if (options.service_path.empty() || options.service_path == options.registration_path) {
    services = state_->Services();
  } else if (!options.listens_later) {
    Listen();
  }
  services.push_back(static_cast<pluginregistration::Registration::CallbackService*>(state_.get()));
  state_->registration = std::make_unique<SampleServer>(services, options.registration_path);
}

SampleDraPlugin::~SampleDraPlugin() {
  state_->registration->StopListening();
  StopService();
  Release();
  EndStreams(MakeStatus(StatusCode::kUnavailable, "the plugin stops"));
  state_->registration.reset();
}

StatusOr<ClaimReplies> SampleDraPlugin::OneDevice(const std::vector<ClaimKey>& claims) {
  ClaimReplies replies;
  for (const ClaimKey& claim : claims) {
    replies[claim.uid].devices.push_back(
        {.pool = "node", .device = "gpu-0", .cdi_ids = {"example.com/gpu=" + claim.uid}});
  }
  return replies;
}

StatusOr<ClaimReplies> SampleDraPlugin::Nothing(const std::vector<ClaimKey>& claims) {
  ClaimReplies replies;
  for (const ClaimKey& claim : claims) {
    replies[claim.uid];
  }
  return replies;
}

void SampleDraPlugin::Listen() {
  state_->service =
      std::make_unique<SampleServer>(state_->Services(), state_->options.service_path);
}

void SampleDraPlugin::StopService() {
  if (state_->service != nullptr) {
    state_->service->StopListening();
    Release();
    EndStreams(MakeStatus(StatusCode::kUnavailable, "the service stops"));
    state_->service.reset();
  }
}

void SampleDraPlugin::SetHealth(const std::vector<HealthReport>& reports) {
  const std::lock_guard lock(state_->mutex);
  state_->health = reports;
  state_->streams.Send(MessageOf(reports));
}

void SampleDraPlugin::EndStreams(const Status& status) {
  state_->streams.End(status);
}

void SampleDraPlugin::Release() {
  state_->prepare.Release();
  state_->unprepare.Release();
}

int SampleDraPlugin::connections() const {
  const SampleServer* server =
      state_->service != nullptr ? state_->service.get() : state_->registration.get();
  return server->connections();
}

}  // namespace kgpu::kubelet
