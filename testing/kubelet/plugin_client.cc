#include "testing/kubelet/plugin_client.h"

#include <deviceplugin_v1beta1.grpc.pb.h>

#include <optional>
#include <utility>

#include "testing/kubelet/go_text.h"
#include "testing/kubelet/proto_codec.h"
#include "testing/kubelet/reply_stream.h"
#include "testing/kubelet/rpc_connection.h"
#include "testing/kubelet/summary.h"

namespace kgpu::kubelet {
namespace {

using v1beta1::DevicePlugin;
using Ids = std::vector<std::string>;
using ListStream = ReplyStream<v1beta1::Empty, v1beta1::ListAndWatchResponse>;

std::string ReplyText(const Status& status, const std::string& text) {
  return status.ok() ? text : GoText(status);
}

// As the kubelet's own texts carry it.
Status GoStatus(const Status& status) {
  return status.ok() ? status : MakeStatus(status.code(), GoText(status));
}

}  // namespace

struct PluginClient::State {
  State(const ClientSetting& from, UniqueFd fd, std::string name)
      : setting(from),
        resource(std::move(name)),
        connection(from.loop, from.calls, std::move(fd),
                   {.authority = "localhost", .receive_limit = from.receive_limit}),
        stub(DevicePlugin::NewStub(connection.channel())) {}

  ClientSetting setting;
  std::string resource;
  RpcConnection connection;
  std::unique_ptr<DevicePlugin::Stub> stub;
  std::shared_ptr<ListStream> stream;
};

PluginClient::PluginClient(const ClientSetting& setting, UniqueFd fd, std::string resource)
    : state_(std::make_unique<State>(setting, std::move(fd), std::move(resource))) {
}

PluginClient::~PluginClient() {
  Close();
}

void PluginClient::GetOptions(std::chrono::nanoseconds limit, Done<PluginOptions> done) {
  const std::shared_ptr<CallLog> log = state_->setting.log;
  const uint64_t number = log->Begin("GetDevicePluginOptions", state_->resource, "");
  state_->connection.Call<v1beta1::Empty, v1beta1::DevicePluginOptions>(
      {}, limit,
      [this](auto... arguments) {
        state_->stub->async()->GetDevicePluginOptions(std::move(arguments)...);
      },
      [log, number, done = std::move(done)](const Status& status, const auto& reply) {
        const PluginOptions options{reply.pre_start_required(),
                                    reply.get_preferred_allocation_available()};
        log->End(number, ReplyText(status, Summary(options)));
        if (!status.ok()) {
          done(GoStatus(status));
        } else {
          done(options);
        }
      });
}

void PluginClient::ListAndWatch(std::function<void(const std::vector<Device>&)> on_list,
                                std::function<void(const Status&)> on_end) {
  const std::shared_ptr<CallLog> log = state_->setting.log;
  const uint64_t number = log->Begin("ListAndWatch", state_->resource, "");
  ListStream::Handlers handlers;
  handlers.on_message = [log, resource = state_->resource, on_list = std::move(on_list)](
                            const v1beta1::ListAndWatchResponse& message) {
    const std::vector<Device> devices = FromProto(message);
    log->Note("ListAndWatchResponse", resource, Summary(devices));
    on_list(devices);
  };
  handlers.on_end = [log, number, on_end = std::move(on_end)](const Status& status) {
    log->End(number, ReplyText(status, "the plugin ended the stream"));
    on_end(status);
  };
  state_->stream = ListStream::Start(
      state_->setting.loop, state_->setting.calls, state_->connection.NewContext(std::nullopt),
      [this](auto... arguments) { state_->stub->async()->ListAndWatch(arguments...); },
      std::move(handlers));
}

void PluginClient::GetPreferredAllocation(const PreferredRequest& request, Done<Ids> done) {
  const std::shared_ptr<CallLog> log = state_->setting.log;
  const uint64_t number = log->Begin("GetPreferredAllocation", state_->resource, Summary(request));
  v1beta1::PreferredAllocationRequest message;
  v1beta1::ContainerPreferredAllocationRequest& container = *message.add_container_requests();
  container.mutable_available_deviceids()->Assign(request.available.begin(),
                                                  request.available.end());
  container.mutable_must_include_deviceids()->Assign(request.must_include.begin(),
                                                     request.must_include.end());
  container.set_allocation_size(request.size);
  state_->connection
      .Call<v1beta1::PreferredAllocationRequest, v1beta1::PreferredAllocationResponse>(
          std::move(message), std::nullopt,
          [this](auto... arguments) {
            state_->stub->async()->GetPreferredAllocation(std::move(arguments)...);
          },
          [log, number, done = std::move(done)](const Status& status, const auto& reply) {
            Ids ids;
            if (reply.container_responses_size() > 0) {
              const auto& preferred = reply.container_responses(0).deviceids();
              ids.assign(preferred.begin(), preferred.end());
            }
            log->End(number, ReplyText(status, Summary(ids)));
            if (!status.ok()) {
              done(GoStatus(status));
            } else {
              done(std::move(ids));
            }
          });
}

void PluginClient::Allocate(const Ids& ids, Done<ContainerOptions> done) {
  const std::shared_ptr<CallLog> log = state_->setting.log;
  const uint64_t number = log->Begin("Allocate", state_->resource, Summary(ids));
  v1beta1::AllocateRequest message;
  message.add_container_requests()->mutable_devices_ids()->Assign(ids.begin(), ids.end());
  state_->connection.Call<v1beta1::AllocateRequest, v1beta1::AllocateResponse>(
      std::move(message), std::nullopt,
      [this](auto... arguments) { state_->stub->async()->Allocate(std::move(arguments)...); },
      [log, number, done = std::move(done)](const Status& status, const auto& reply) {
        if (!status.ok()) {
          log->End(number, GoText(status));
          done(GoStatus(status));
        } else if (reply.container_responses_size() == 0) {
          log->End(number, "no container response");
          done(Internal("no containers return in allocation response"));
        } else {
          const ContainerOptions options = FromProto(reply.container_responses(0));
          log->End(number, Summary(options));
          done(options);
        }
      });
}

void PluginClient::PreStartContainer(const Ids& ids, std::chrono::nanoseconds limit,
                                     std::function<void(const Status&)> done) {
  const std::shared_ptr<CallLog> log = state_->setting.log;
  const uint64_t number = log->Begin("PreStartContainer", state_->resource, Summary(ids));
  v1beta1::PreStartContainerRequest message;
  message.mutable_devices_ids()->Assign(ids.begin(), ids.end());
  state_->connection.Call<v1beta1::PreStartContainerRequest, v1beta1::PreStartContainerResponse>(
      std::move(message), limit,
      [this](auto... arguments) {
        state_->stub->async()->PreStartContainer(std::move(arguments)...);
      },
      [log, number, done = std::move(done)](const Status& status, const auto&) {
        log->End(number, ReplyText(status, "done"));
        done(GoStatus(status));
      });
}

void PluginClient::Close() {
  DropStream();
  state_->connection.Close();
}

void PluginClient::DropStream() {
  if (state_->stream != nullptr) {
    state_->stream->Close();
    state_->stream.reset();
  }
}

void PluginClient::Cut() {
  state_->connection.Cut();
}

}  // namespace kgpu::kubelet
