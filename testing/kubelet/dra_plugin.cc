#include "testing/kubelet/dra_plugin.h"

#include <dra_health_v1alpha1.grpc.pb.h>
#include <dra_v1.pb.h>
#include <fmt/ranges.h>
#include <grpcpp/generic/generic_stub.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "src/platform/sys/unix_socket.h"
#include "testing/kubelet/go_text.h"
#include "testing/kubelet/lifeline.h"
#include "testing/kubelet/reply_stream.h"
#include "testing/kubelet/rpc_connection.h"

namespace kgpu::kubelet {
namespace {

namespace drapb = ::k8s::io::kubelet::pkg::apis::dra::v1;
using HealthStream =
    ReplyStream<::v1alpha1::NodeWatchResourcesRequest, ::v1alpha1::NodeWatchResourcesResponse>;

std::string KeysText(const std::vector<ClaimKey>& claims) {
  std::vector<std::string> names;
  names.reserve(claims.size());
  for (const ClaimKey& claim : claims) {
    names.push_back(fmt::format("{}/{} {}", claim.name_space, claim.name, claim.uid));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string RepliesText(const ClaimReplies& replies) {
  std::string text;
  for (const auto& [uid, reply] : replies) {
    text += fmt::format("{}{}: ", text.empty() ? "" : ", ", uid);
    text += reply.error.empty() ? fmt::format("{} devices", reply.devices.size())
                                : fmt::format("error {}", reply.error);
  }
  return text;
}

ClaimReply ReplyFrom(const drapb::NodePrepareResourceResponse& message) {
  ClaimReply reply{.error = message.error()};
  for (const drapb::Device& device : message.devices()) {
    PreparedDevice& prepared = reply.devices.emplace_back();
    prepared.requests = {device.request_names().begin(), device.request_names().end()};
    prepared.pool = device.pool_name();
    prepared.device = device.device_name();
    prepared.cdi_ids = {device.cdi_device_ids().begin(), device.cdi_device_ids().end()};
    if (device.has_share_id()) {
      prepared.share_id = device.share_id();
    }
  }
  return reply;
}

ClaimReply ReplyFrom(const drapb::NodeUnprepareResourceResponse& message) {
  return {.error = message.error()};
}

const char* HealthName(::v1alpha1::HealthStatus health) {
  switch (health) {
    case ::v1alpha1::HEALTHY:
      return kHealthy;
    case ::v1alpha1::UNHEALTHY:
      return kUnhealthy;
    default:
      return kUnknownHealth;
  }
}

std::vector<HealthReport> ReportsFrom(const ::v1alpha1::NodeWatchResourcesResponse& message) {
  std::vector<HealthReport> reports;
  for (const auto& device : message.devices()) {
    reports.push_back({.pool = device.device().pool_name(),
                       .device = device.device().device_name(),
                       .health = HealthName(device.health()),
                       .timeout = std::chrono::seconds(device.health_check_timeout_seconds()),
                       .message = device.message()});
  }
  return reports;
}

std::string ReportsText(const std::vector<HealthReport>& reports) {
  std::vector<std::string> texts;
  texts.reserve(reports.size());
  for (const HealthReport& report : reports) {
    texts.push_back(fmt::format("{}/{}={}", report.pool, report.device, report.health));
  }
  return fmt::format("{}", fmt::join(texts, " "));
}

}  // namespace

struct DraPlugin::State {
  State(const ClientSetting& in_setting, const Constants& in_constants, Identity in_identity,
        Events in_events)
      : setting(in_setting),
        constants(in_constants),
        identity(std::move(in_identity)),
        events(std::move(in_events)) {}

  void Connect();
  void OnLost();
  void Watch();
  template <typename Request, typename Response>
  Cancel Call(const char* method, const std::vector<ClaimKey>& claims, Done done);

  ClientSetting setting;
  const Constants& constants;
  Identity identity;
  Events events;
  std::unique_ptr<RpcConnection> connection;
  std::unique_ptr<RpcConnection> lost;  // the one before: its calls end by themselves
  std::shared_ptr<HealthStream> stream;
  std::chrono::nanoseconds back_off{0};
  TimerId connect_timer = TimerId::kNone;
  TimerId watch_timer = TimerId::kNone;
  Lifeline lifeline;
};

// As gRPC does it: the delays grow by 1.6.
void DraPlugin::State::Connect() {
  StatusOr<UniqueFd> fd = sys::ConnectUnix(identity.endpoint);
  Status status = fd.status();
  if (status.ok()) {
    connection = std::make_unique<RpcConnection>(
        setting.loop, setting.calls, *std::move(fd),
        RpcConnection::Settings{.authority = "localhost", .receive_limit = setting.receive_limit});
    status = connection->WatchLoss([this] { OnLost(); });
  }
  if (!status.ok()) {
    connection.reset();
    back_off = back_off.count() == 0 ? constants.reconnect_first
                                     : std::min(back_off * 8 / 5, constants.reconnect_longest);
    connect_timer = setting.loop.After(back_off, [this] { Connect(); });
    return;
  }
  back_off = {};
  events.on_connection();
}

void DraPlugin::State::OnLost() {
  lost = std::move(connection);
  Connect();
  if (connection == nullptr) {
    events.on_connection();
  }
}

void DraPlugin::State::Watch() {
  watch_timer = TimerId::kNone;
  const auto again = [this] {
    watch_timer = setting.loop.After(constants.health_retry, [this] { Watch(); });
  };
  if (connection == nullptr) {
    again();
    return;
  }
  const uint64_t number = setting.log->Begin("NodeWatchResources", identity.driver, "");
  HealthStream::Handlers handlers;
  handlers.on_message =
      lifeline.Guard([this](const ::v1alpha1::NodeWatchResourcesResponse& message) {
        const std::vector<HealthReport> reports = ReportsFrom(message);
        setting.log->Note("NodeWatchResourcesResponse", identity.driver, ReportsText(reports));
        events.on_health(reports);
      });
  handlers.on_end = [log = setting.log, number, end = lifeline.Guard([this, again] {
    stream.reset();
    events.on_health_end();
    again();
  })](const Status& status) mutable {
    log->End(number, status.ok() ? "the plugin ended the stream" : GoText(status));
    end();
  };
  const auto stub = ::v1alpha1::DRAResourceHealth::NewStub(connection->channel());
  stream = HealthStream::Start(
      setting.loop, setting.calls, connection->NewContext(std::nullopt),
      [&stub](auto... arguments) { stub->async()->NodeWatchResources(arguments...); },
      std::move(handlers));
}

template <typename Request, typename Response>
DraPlugin::Cancel DraPlugin::State::Call(const char* method, const std::vector<ClaimKey>& claims,
                                         Done done) {
  const std::shared_ptr<CallLog> log = setting.log;
  const uint64_t number = log->Begin(method, identity.driver, KeysText(claims));
  if (connection == nullptr) {
    const Status status = Unavailable("connection error: nobody listens at {}", identity.endpoint);
    log->End(number, GoText(status));
    setting.loop.Post(
        [done = std::move(done), status] { done(MakeStatus(status.code(), GoText(status))); });
    return [] {};
  }
  Request request;
  for (const ClaimKey& claim : claims) {
    auto& added = *request.add_claims();
    added.set_namespace_(claim.name_space);
    added.set_uid(claim.uid);
    added.set_name(claim.name);
  }
  // The messages of v1beta1 are the same, except that they have no share_id.
  const bool has_shares = identity.service == kDraV1;
  const std::string path =
      fmt::format("/k8s.io.kubelet.pkg.apis.dra.{}/{}", identity.service, method);
  grpc::TemplatedGenericStub<Request, Response> stub(connection->channel());
  const std::shared_ptr<grpc::ClientContext> context =
      connection->NewContext(constants.claim_limit);
  connection->CallIn<Request, Response>(
      context, std::move(request),
      [&](grpc::ClientContext* in, const Request* from, Response* to, auto callback) {
        stub.UnaryCall(in, path, grpc::StubOptions(), from, to, std::move(callback));
      },
      [log, number, has_shares, done = std::move(done)](const Status& status,
                                                        const Response& response) {
        if (!status.ok()) {
          log->End(number, GoText(status));
          done(MakeStatus(status.code(), GoText(status)));
          return;
        }
        ClaimReplies replies;
        for (const auto& [uid, message] : response.claims()) {
          ClaimReply& reply = replies[uid] = ReplyFrom(message);
          for (PreparedDevice& device : reply.devices) {
            device.share_id = has_shares ? device.share_id : std::nullopt;
          }
        }
        log->End(number, RepliesText(replies));
        done(replies);
      });
  return [context = std::weak_ptr(context)] {
    if (const auto call = context.lock()) {
      call->TryCancel();
    }
  };
}

DraPlugin::DraPlugin(const ClientSetting& setting, const Constants& constants, Identity identity,
                     Events events)
    : state_(std::make_unique<State>(setting, constants, std::move(identity), std::move(events))) {
}

DraPlugin::~DraPlugin() {
  state_->setting.loop.CancelTimer(state_->connect_timer);
  state_->setting.loop.CancelTimer(state_->watch_timer);
  DropStream();
}

void DraPlugin::Start() {
  state_->Connect();
  state_->Watch();
}

const DraPlugin::Identity& DraPlugin::identity() const {
  return state_->identity;
}

bool DraPlugin::is_connected() const {
  return state_->connection != nullptr;
}

DraPlugin::Cancel DraPlugin::Prepare(const std::vector<ClaimKey>& claims, Done done) {
  return state_->Call<drapb::NodePrepareResourcesRequest, drapb::NodePrepareResourcesResponse>(
      "NodePrepareResources", claims, std::move(done));
}

DraPlugin::Cancel DraPlugin::Unprepare(const std::vector<ClaimKey>& claims, Done done) {
  return state_->Call<drapb::NodeUnprepareResourcesRequest, drapb::NodeUnprepareResourcesResponse>(
      "NodeUnprepareResources", claims, std::move(done));
}

bool DraPlugin::Cut() {
  if (state_->connection == nullptr) {
    return false;
  }
  state_->connection->Cut();
  return true;
}

bool DraPlugin::DropStream() {
  if (state_->stream == nullptr) {
    return false;
  }
  state_->stream->Close();
  return true;
}

}  // namespace kgpu::kubelet
