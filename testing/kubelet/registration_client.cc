#include "testing/kubelet/registration_client.h"

#include <fmt/ranges.h>
#include <pluginregistration_v1.grpc.pb.h>

#include <cctype>
#include <iterator>
#include <utility>

#include "testing/kubelet/go_text.h"
#include "testing/kubelet/rpc_connection.h"

namespace kgpu::kubelet {
namespace {

namespace pb = ::pluginregistration;

// The form in which the kubelet's gRPC puts the path of a socket into :authority.
std::string PercentEncoded(const std::string& path) {
  std::string text;
  for (const char c : path) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ||
                          c == '_' || c == '.' || c == '~';
    if (is_plain) {
      text += c;
    } else {
      fmt::format_to(std::back_inserter(text), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return text;
}

PluginInfo FromProto(const pb::PluginInfo& message) {
  return {.type = message.type(),
          .name = message.name(),
          .endpoint = message.endpoint(),
          .versions = {message.supported_versions().begin(), message.supported_versions().end()}};
}

}  // namespace

struct RegistrationClient::State {
  State(const ClientSetting& from, UniqueFd fd, const std::string& socket_path)
      : log(from.log),
        path(socket_path),
        connection(from.loop, from.calls, std::move(fd),
                   {.authority = PercentEncoded(socket_path), .receive_limit = from.receive_limit}),
        stub(pb::Registration::NewStub(connection.channel())) {}

  std::shared_ptr<CallLog> log;
  std::string path;
  RpcConnection connection;
  std::unique_ptr<pb::Registration::Stub> stub;
};

RegistrationClient::RegistrationClient(const ClientSetting& setting, UniqueFd fd,
                                       const std::string& path)
    : state_(std::make_unique<State>(setting, std::move(fd), path)) {
}

RegistrationClient::~RegistrationClient() = default;

void RegistrationClient::GetInfo(std::chrono::nanoseconds limit,
                                 std::function<void(const StatusOr<PluginInfo>&)> done) {
  const std::shared_ptr<CallLog> log = state_->log;
  const uint64_t number = log->Begin("GetInfo", state_->path, "");
  state_->connection.Call<pb::InfoRequest, pb::PluginInfo>(
      {}, limit,
      [this](auto... arguments) { state_->stub->async()->GetInfo(std::move(arguments)...); },
      [log, number, done = std::move(done)](const Status& status, const pb::PluginInfo& reply) {
        if (!status.ok()) {
          log->End(number, GoText(status));
          done(MakeStatus(status.code(), GoText(status)));
          return;
        }
        const PluginInfo info = FromProto(reply);
        log->End(number, fmt::format("type={} name={} endpoint={} versions=[{}]", info.type,
                                     info.name, info.endpoint, fmt::join(info.versions, " ")));
        done(info);
      });
}

void RegistrationClient::NotifyRegistrationStatus(const std::string& error,
                                                  std::chrono::nanoseconds limit,
                                                  std::function<void(const Status&)> done) {
  const std::shared_ptr<CallLog> log = state_->log;
  const uint64_t number =
      log->Begin("NotifyRegistrationStatus", state_->path,
                 error.empty() ? "registered" : fmt::format("not registered: {}", error));
  pb::RegistrationStatus message;
  message.set_plugin_registered(error.empty());
  message.set_error(error);
  state_->connection.Call<pb::RegistrationStatus, pb::RegistrationStatusResponse>(
      std::move(message), limit,
      [this](auto... arguments) {
        state_->stub->async()->NotifyRegistrationStatus(std::move(arguments)...);
      },
      [log, number, done = std::move(done)](const Status& status, const auto&) {
        log->End(number, status.ok() ? "taken" : GoText(status));
        done(status.ok() ? status : MakeStatus(status.code(), GoText(status)));
      });
}

}  // namespace kgpu::kubelet
