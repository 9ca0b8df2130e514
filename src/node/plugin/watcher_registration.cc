#include "src/node/plugin/watcher_registration.h"

#include <grpcpp/grpcpp.h>
#include <pluginregistration_v1.grpc.pb.h>

#include <utility>

namespace kgpu::plugin {

using ::pluginregistration::InfoRequest;
using ::pluginregistration::PluginInfo;
using ::pluginregistration::Registration;
using ::pluginregistration::RegistrationStatus;
using ::pluginregistration::RegistrationStatusResponse;

class WatcherRegistration::Service final : public Registration::CallbackService {
 public:
  Service(EventLoop& loop, PluginIdentity identity)
      : loop_(loop), identity_(std::move(identity)), notice_(std::make_shared<Notice>()) {}
  ~Service() override { *notice_ = nullptr; }

  void SetNotice(Notice notice) { *notice_ = std::move(notice); }

  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context, const InfoRequest*,
                                    PluginInfo* info) override {
    info->set_type(identity_.type);
    info->set_name(identity_.name);
    for (const std::string& version : identity_.versions) {
      info->add_supported_versions(version);
    }
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerUnaryReactor* NotifyRegistrationStatus(grpc::CallbackServerContext* context,
                                                     const RegistrationStatus* status,
                                                     RegistrationStatusResponse*) override {
    loop_.Post(
        [notice = notice_, is_registered = status->plugin_registered(), error = status->error()] {
          if (*notice) {
            (*notice)(is_registered, error);
          }
        });
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  EventLoop& loop_;
  const PluginIdentity identity_;
  std::shared_ptr<Notice> notice_;  // loop thread only
};

WatcherRegistration::WatcherRegistration(EventLoop& loop, PluginIdentity identity)
    : service_(std::make_unique<Service>(loop, std::move(identity))) {
}

WatcherRegistration::~WatcherRegistration() = default;

void WatcherRegistration::SetNotice(Notice notice) {
  service_->SetNotice(std::move(notice));
}

grpc::Service& WatcherRegistration::grpc_service() {
  return *service_;
}

}  // namespace kgpu::plugin
