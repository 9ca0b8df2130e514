#include "bench/probe_kubelet.h"

#include <deviceplugin_v1beta1.grpc.pb.h>
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "src/platform/net/rpc/channel.h"
#include "src/platform/net/rpc/server.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu::bench {
namespace {

using std::chrono::steady_clock;

[[noreturn]] void Fail(const std::string& what) {
  (void)std::fprintf(stderr, "agent-bench: %s\n", what.c_str());
  std::_Exit(1);
}

void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
}

}  // namespace

// One registered plugin: its connection, and the thread that reads its list.
struct Plugin {
  std::string resource;
  std::unique_ptr<v1beta1::DevicePlugin::Stub> stub;
  grpc::ClientContext stream_context;
  std::jthread reader;
};

class ProbeKubelet::Impl final : public v1beta1::Registration::Service {
 public:
  explicit Impl(std::string dir) : folder_(std::move(dir) + "/device-plugins") { Listen(); }
  ~Impl() override { Close(); }

  grpc::Status Register(grpc::ServerContext*, const v1beta1::RegisterRequest* request,
                        v1beta1::Empty*) override {
    const auto now = steady_clock::now();
    auto plugin = std::make_shared<Plugin>();
    plugin->resource = request->resource_name();
    auto fd = sys::ConnectUnix(folder_ + "/" + request->endpoint());
    if (!fd.ok()) {
      return {grpc::StatusCode::UNKNOWN, "dial"};
    }
    plugin->stub = v1beta1::DevicePlugin::NewStub(rpc::ChannelOver(*std::move(fd)));
    grpc::ClientContext context;
    SetDeadline(context);
    v1beta1::DevicePluginOptions options;
    if (!plugin->stub->GetDevicePluginOptions(&context, {}, &options).ok()) {
      return {grpc::StatusCode::UNKNOWN, "options"};
    }
    plugin->reader = std::jthread([this, plugin = plugin.get()] { Read(*plugin); });
    std::shared_ptr<Plugin> old;
    {
      const std::lock_guard lock(mutex_);
      old = std::exchange(plugins_[plugin->resource], plugin);
      newest_ = plugin;
      registered_ = now;
    }
    changed_.notify_all();
    if (old) {
      old->stream_context.TryCancel();
    }
    return grpc::Status::OK;
  }

  void Expect() {
    const std::lock_guard lock(mutex_);
    registered_.reset();
    counted_.reset();
    unhealthy_ = {};
  }

  template <typename Predicate>
  SteadyPoint Wait(const char* what, Predicate predicate) {
    std::unique_lock lock(mutex_);
    std::optional<SteadyPoint> point;
    if (!changed_.wait_for(lock, std::chrono::seconds(20), [&] {
          point = predicate();
          return point.has_value();
        })) {
      Fail(what);
    }
    return point.value_or(SteadyPoint());  // Fail ends the program
  }

  SteadyPoint WaitRegistered() {
    return Wait("no registration", [this] { return registered_; });
  }
  SteadyPoint WaitCounted() {
    return Wait("no list", [this] { return counted_; });
  }
  SteadyPoint WaitUnhealthy(size_t unhealthy) {
    return Wait("no such health", [this, unhealthy]() -> std::optional<SteadyPoint> {
      return unhealthy_.first == unhealthy && unhealthy_.second != SteadyPoint()
                 ? std::optional(unhealthy_.second)
                 : std::nullopt;
    });
  }

  SteadyPoint WaitHealthy(const std::function<bool(const HealthyIds&)>& condition) {
    return Wait("no such list", [&]() -> std::optional<SteadyPoint> {
      HealthyIds healthy;
      for (const auto& [resource, list] : lists_) {
        for (const auto& [id, is_healthy] : list) {
          if (is_healthy) {
            healthy[resource].insert(id);
          }
        }
      }
      return condition(healthy) ? std::optional(listed_) : std::nullopt;
    });
  }

  void Close() {
    acceptor_ = {};
    std::map<std::string, std::shared_ptr<Plugin>> plugins;
    {
      const std::lock_guard lock(mutex_);
      plugins.swap(plugins_);
      newest_.reset();
    }
    for (const auto& [resource, plugin] : plugins) {
      plugin->stream_context.TryCancel();
      plugin->reader.join();
    }
    server_.reset();
    listener_.reset();
  }

  void Listen() {
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.is_socket()) {
        std::filesystem::remove(entry.path());
      }
    }
    server_ = rpc::Server::Start({this}).value();
    listener_ = sys::UnixListener::Listen(folder_ + "/kubelet.sock", {}).value();
    acceptor_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        pollfd ready = {.fd = listener_->fd(), .events = POLLIN, .revents = 0};
        if (poll(&ready, 1, 50) > 0) {
          auto connection = listener_->Accept();
          if (connection.ok() && connection->has_value()) {
            server_->Serve(*std::move(*connection));
          }
        }
      }
    });
  }

  std::shared_ptr<Plugin> plugin() {
    const std::lock_guard lock(mutex_);
    return newest_;
  }
  std::vector<std::string> ids() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> ids;
    for (const auto& [resource, list] : lists_) {
      for (const auto& [id, is_healthy] : list) {
        ids.push_back(id);
      }
    }
    return ids;
  }

 private:
  void Read(Plugin& plugin) {
    const auto stream = plugin.stub->ListAndWatch(&plugin.stream_context, {});
    v1beta1::ListAndWatchResponse list;
    while (stream->Read(&list)) {
      const auto now = steady_clock::now();
      {
        const std::lock_guard lock(mutex_);
        if (!counted_) {
          counted_ = now;
        }
        auto& known = lists_[plugin.resource];
        known.clear();
        size_t unhealthy = 0;
        for (const auto& device : list.devices()) {
          const bool is_healthy = device.health() == "Healthy";
          known[device.id()] = is_healthy;
          unhealthy += is_healthy ? 0 : 1;
        }
        unhealthy_ = {unhealthy, now};
        listed_ = now;
      }
      changed_.notify_all();
    }
    (void)stream->Finish();
    {
      // Withdrawn, unless another registration has taken its place.
      const std::lock_guard lock(mutex_);
      const auto it = plugins_.find(plugin.resource);
      if (it != plugins_.end() && it->second.get() == &plugin) {
        lists_.erase(plugin.resource);
        listed_ = steady_clock::now();
      }
    }
    changed_.notify_all();
  }

  const std::string folder_;
  std::unique_ptr<rpc::Server> server_;
  std::optional<sys::UnixListener> listener_;
  std::jthread acceptor_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<Plugin>> plugins_;  // by resource
  std::shared_ptr<Plugin> newest_;
  std::optional<SteadyPoint> registered_;
  std::optional<SteadyPoint> counted_;
  std::pair<size_t, SteadyPoint> unhealthy_;
  std::map<std::string, std::map<std::string, bool>> lists_;  // id to health, by resource
  SteadyPoint listed_;
};

ProbeKubelet::ProbeKubelet(std::string dir) : impl_(std::make_unique<Impl>(std::move(dir))) {
}
ProbeKubelet::~ProbeKubelet() = default;

void ProbeKubelet::Expect() {
  impl_->Expect();
}
SteadyPoint ProbeKubelet::WaitRegistered() {
  return impl_->WaitRegistered();
}
SteadyPoint ProbeKubelet::WaitCounted() {
  return impl_->WaitCounted();
}
SteadyPoint ProbeKubelet::WaitUnhealthy(size_t unhealthy) {
  return impl_->WaitUnhealthy(unhealthy);
}

SteadyPoint ProbeKubelet::WaitHealthy(const std::function<bool(const HealthyIds&)>& condition) {
  return impl_->WaitHealthy(condition);
}

SteadyPoint ProbeKubelet::Restart() {
  impl_->Close();
  impl_->Expect();
  const auto begun = steady_clock::now();
  impl_->Listen();
  return begun;
}

CallTime ProbeKubelet::Allocate(const std::vector<std::string>& ids) {
  v1beta1::AllocateRequest request;
  auto* container = request.add_container_requests();
  for (const std::string& id : ids) {
    container->add_devices_ids(id);
  }
  v1beta1::AllocateResponse response;
  grpc::ClientContext context;
  SetDeadline(context);
  const auto plugin = impl_->plugin();
  const auto start = steady_clock::now();
  const grpc::Status status = plugin->stub->Allocate(&context, request, &response);
  const std::chrono::duration<double, std::micro> took = steady_clock::now() - start;
  return {took.count(), status.ok()};
}

CallTime ProbeKubelet::Options() {
  v1beta1::DevicePluginOptions options;
  grpc::ClientContext context;
  SetDeadline(context);
  const auto plugin = impl_->plugin();
  const auto start = steady_clock::now();
  const grpc::Status status = plugin->stub->GetDevicePluginOptions(&context, {}, &options);
  const std::chrono::duration<double, std::micro> took = steady_clock::now() - start;
  return {took.count(), status.ok()};
}

std::vector<std::string> ProbeKubelet::ids() const {
  return impl_->ids();
}

}  // namespace kgpu::bench
