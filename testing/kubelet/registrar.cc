#include "testing/kubelet/registrar.h"

#include <filesystem>
#include <utility>

#include "src/platform/base/log.h"
#include "testing/kubelet/resource_name.h"

namespace kgpu::kubelet {
namespace {

Status Check(const RegisterRequest& request) {
  if (request.version != kApiVersion) {
    return InvalidArgument("version \"{}\" is not supported, only \"{}\" is", request.version,
                           kApiVersion);
  }
  if (!IsExtendedResourceName(request.resource)) {
    return InvalidArgument("resource name \"{}\" is invalid", request.resource);
  }
  return OkStatus();
}

}  // namespace

Registrar::Registrar(EventLoop& loop, const Layout& layout, PluginClients& clients, CallLog& log,
                     Faults& faults)
    : loop_(loop), layout_(layout), clients_(clients), log_(log), faults_(faults) {
}

Registrar::~Registrar() = default;

void Registrar::Handle(const std::shared_ptr<RegisterCall>& call) {
  const RegisterRequest& request = call->request();
  const uint64_t number =
      log_.Begin("Register", request.resource,
                 fmt::format("version={} endpoint={}", request.version, request.endpoint));
  call->on_cancelled =
      lifeline_.Guard([this, number] { log_.End(number, "no answer: the plugin gave up"); });
  const std::optional<Fault> fault = faults_.Take(kRegisterPoint);
  if (!fault) {
    Register(call, number);
    return;
  }
  switch (fault->kind) {
    case FaultKind::kError:
      Reply(call, number, Internal("{}", fault->text));
      break;
    case FaultKind::kSkip:
      Reply(call, number, OkStatus());
      break;
    case FaultKind::kDelay:
      loop_.After(fault->delay, lifeline_.Guard([this, call, number] { Register(call, number); }));
      break;
    case FaultKind::kHang:
      break;
  }
}

void Registrar::Register(const std::shared_ptr<RegisterCall>& call, uint64_t number) {
  const RegisterRequest& request = call->request();
  if (const Status status = Check(request); !status.ok()) {
    Reply(call, number, status);
    return;
  }
  const std::string path =
      (std::filesystem::path(layout_.device_plugins()) / std::filesystem::path(request.endpoint))
          .lexically_normal()
          .string();
  call->on_cancelled = clients_.Connect(
      request.resource, path,
      lifeline_.Guard([this, weak = std::weak_ptr(call), number](const Status& status) {
        if (const auto answered = weak.lock()) {
          Reply(answered, number, status);
        }
      }));
}

void Registrar::Reply(const std::shared_ptr<RegisterCall>& call, uint64_t number,
                      const Status& status) {
  log_.End(number, status.ok() ? "registered" : Message(status));
  call->on_cancelled = nullptr;
  call->Reply(status);
}

}  // namespace kgpu::kubelet
