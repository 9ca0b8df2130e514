#include "src/node/claims/kubelet_link.h"

#include <grpcpp/impl/service_type.h>

#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/node/dra/offer.h"
#include "src/node/plugin/endpoint.h"
#include "src/node/plugin/kubelet.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/ticks.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu::claims {
namespace {

// The kubelet takes health that is older than 30 s as unknown. Folders are watched; this is also
// for what no watch reports.
constexpr std::chrono::milliseconds kTick{10'000};
// Of NVIDIA's driver: its framework puts the UID of the pod in between, where it may run twice.
// Source: k8s.io/dynamic-resource-allocation, kubeletplugin, RegistrarSocketFilename.
constexpr std::string_view kOtherEnd = "-reg.sock";

constexpr char kNotFound[] = "the kubelet has not discovered the DRA driver yet";

}  // namespace

KubeletLink::KubeletLink(EventLoop& loop, Preparer& preparer, std::string folder,
                         std::function<void()> changed)
    : loop_(loop),
      folder_(std::move(folder)),
      changed_(std::move(changed)),
      registration_(
          loop, {.type = "DRAPlugin",
                 .name = std::string(dra::kDriverName),
                 .versions = {"v1.DRAPlugin", "v1beta1.DRAPlugin", "v1alpha1.DRAResourceHealth"}}),
      service_(loop, preparer),
      problem_(kNotFound) {
}

StatusOr<std::unique_ptr<KubeletLink>> KubeletLink::Open(EventLoop& loop, Preparer& preparer,
                                                         const std::string& kubelet_dir,
                                                         std::function<void()> changed) {
  std::unique_ptr<KubeletLink> link(new KubeletLink(
      loop, preparer, plugin::KubeletPaths(kubelet_dir).plugins_registry, std::move(changed)));
  std::vector<grpc::Service*> services = link->service_.grpc_services();
  services.push_back(&link->registration_.grpc_service());
  ASSIGN_OR_RETURN(link->server_, rpc::Server::Start(services));
  link->registration_.SetNotice([self = link.get()](bool is_registered, const std::string& error) {
    self->Report(is_registered
                     ? ""
                     : fmt::format("the kubelet rejected the DRA driver: {}: Kubernetes 1.34 "
                                   "or later is needed",
                                   error));
  });
  link->Look();
  link->Tick();
  return link;
}

KubeletLink::~KubeletLink() {
  acceptor_.reset();
  service_.Stop();  // before the server, which waits for calls in progress
}

void KubeletLink::SetHealth(std::vector<DeviceHealth> health) {
  if (health != health_) {
    health_ = std::move(health);
    service_.SendHealth(health_);
  }
}

void KubeletLink::StopWatching() {
  if (watch_) {
    watch_->StopWatching();
  }
}

void KubeletLink::Tick() {
  tick_.Arm(UntilNextTick(loop_.clock(), kTick), [this] {
    service_.SendHealth(health_);
    Look();
    Tick();
  });
}

void KubeletLink::LookForOther() {
  is_other_there_ = false;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(dra::kDriverName) && name.ends_with(kOtherEnd)) {
      is_other_there_ = is_other_there_ || sys::IsListening(entry->path().string()).value_or(false);
    }
  }
}

void KubeletLink::Look() {
  if (!watch_) {
    auto watch = sys::FolderWatch::Create(loop_, folder_, [this] { Look(); });
    if (watch.ok()) {
      watch_ = *std::move(watch);
    }
  }
  LookForOther();
  if (is_other_there_) {
    acceptor_.reset();
    return Report("NVIDIA's DRA driver serves the kubelet: remove it, and kgpu takes over");
  }
  if (acceptor_ && acceptor_->IsInPlace()) {
    return;
  }
  acceptor_.reset();
  auto listener = sys::UnixListener::Listen(
      fmt::format("{}/{}", folder_, plugin::SocketName(dra::kDriverName)), {});
  auto acceptor =
      listener.ok() ? sys::Acceptor::Create(loop_, *std::move(listener),
                                            [this](UniqueFd fd) { server_->Serve(std::move(fd)); })
                    : StatusOr<std::unique_ptr<sys::Acceptor>>(listener.status());
  if (!acceptor.ok()) {
    return Report(std::string(Message(acceptor.status())));
  }
  acceptor_ = *std::move(acceptor);
  Report(kNotFound);  // a new socket is a new registration
}

void KubeletLink::Report(std::string problem) {
  if (problem == problem_) {
    return;
  }
  problem_ = std::move(problem);
  if (problem_.empty()) {
    KGPU_LOG(kInfo, "DRA driver registered", {"driver", dra::kDriverName});
  } else {
    KGPU_LOG(kInfo, "DRA driver not registered", {"reason", problem_});
  }
  loop_.Post(lifetime_.Bind([this] { changed_(); }));  // the owner may not have us yet
}

}  // namespace kgpu::claims
