#include "testing/kubelet/kubelet.h"

#include <optional>
#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "testing/kubelet/dra_manager.h"
#include "testing/kubelet/pod_loop.h"
#include "testing/kubelet/pod_resources_server.h"
#include "testing/kubelet/registrar.h"

namespace kgpu::kubelet {

// In the order of construction; destroyed the other way round.
struct Kubelet::Parts {
  explicit Parts(World& in_world)
      : world(in_world),
        client_setting{.loop = world.loop,
                       .calls = calls,
                       .log = world.calls,
                       .receive_limit = world.constants.receive_limit},
        manager(world.loop.clock(), world.layout,
                {.active_pods = [this] { return pods.ActivePods(); },
                 .on_health = [this](const std::string& uid) { pods.Sync(uid); },
                 .on_change = [this] { UpdateNode(); }}),
        dra(world, client_setting,
            {.active_pods =
                 [this] {
                   return manager.are_pods_known() ? std::optional(pods.ActivePods())
                                                   : std::nullopt;
                 },
             .on_health = [this](const std::string& uid) { pods.Sync(uid); }}),
        pods(world, manager, dra),
        clients(client_setting, world.constants, manager),
        registrar(world.loop, world.layout, clients, *world.calls, world.faults) {}

  Status Start();
  Status StartPodResources();
  std::vector<ListedPod> ListPods(const std::function<bool(const Pod&)>& is_wanted);
  // Writes what the kubelet knows to the node's status.
  void UpdateNode();
  void Tick();

  World& world;
  CallsInFlight calls;
  ClientSetting client_setting;
  DeviceManager manager;
  DraManager dra;
  PodLoop pods;
  PluginClients clients;
  Registrar registrar;
  std::unique_ptr<RegistrationServer> server;
  std::unique_ptr<PluginWatcher> watcher;
  std::unique_ptr<PodResourcesServer> pod_resources;
  TimerId timer = TimerId::kNone;
};

Status Kubelet::Parts::Start() {
  RETURN_IF_ERROR(MakeFolders(world.layout));
  ASSIGN_OR_RETURN(const bool had_checkpoint, manager.Restore());
  if (!had_checkpoint) {
    // The kubelet takes the node for a new one and starts all extended resources at zero.
    for (auto& [name, amount] : world.resources) {
      amount = {};
    }
  }
  RETURN_IF_ERROR(dra.Start());
  RETURN_IF_ERROR(RemoveSockets(world.layout.device_plugins()));
  ASSIGN_OR_RETURN(
      server, RegistrationServer::Start(
                  world.loop, world.layout.kubelet_socket(), world.listen_delay,
                  [this](const std::shared_ptr<RegisterCall>& call) { registrar.Handle(call); }));
  ASSIGN_OR_RETURN(watcher, PluginWatcher::Start({.client = client_setting,
                                                  .constants = world.constants,
                                                  .plugins = clients,
                                                  .dra = dra.plugins(),
                                                  .faults = world.faults,
                                                  .on_change = [this] { world.Changed(); }},
                                                 world.layout.plugins_registry()));
  RETURN_IF_ERROR(StartPodResources());
  Tick();
  pods.Start();
  return OkStatus();
}

std::vector<ListedPod> Kubelet::Parts::ListPods(const std::function<bool(const Pod&)>& is_wanted) {
  std::vector<ListedPod> listed;
  for (const Pod* pod : world.pods.All()) {
    if (pod->status.is_bound && is_wanted(*pod)) {
      listed.push_back(Listed(pod->spec, manager.pods(), [&](const ContainerSpec& container) {
        return dra.ClaimedBy(pod->spec, container);
      }));
    }
  }
  return listed;
}

Status Kubelet::Parts::StartPodResources() {
  PodResourcesServer::Source source;
  source.list = [this] {
    manager.FreeInactive();
    return ListPods([this](const Pod& pod) { return pods.IsActive(pod.spec.uid); });
  };
  source.list_all = [this] { return ListPods([](const Pod&) { return true; }); };
  source.allocatable = [this] { return ListAllocatable(manager.table()); };
  source.cpus = [this] { return world.exclusive_cpus; };
  source.script = [this] { return world.pod_resources_script; };
  ASSIGN_OR_RETURN(pod_resources, PodResourcesServer::Start({.loop = world.loop,
                                                             .constants = world.constants,
                                                             .log = world.calls,
                                                             .faults = world.faults},
                                                            world.layout.pod_resources_socket(),
                                                            std::move(source)));
  return OkStatus();
}

void Kubelet::Parts::Tick() {
  timer = world.loop.After(world.constants.node_status_period, [this] { Tick(); });
  UpdateNode();
}

void Kubelet::Parts::UpdateNode() {
  const Capacities now = manager.TakeCapacities(world.constants.stop_grace);
  NodeResources next = world.resources;
  for (const auto& [name, capacity] : now.capacity) {
    next[name] = {.capacity = capacity, .allocatable = now.allocatable.at(name)};
  }
  for (const std::string& name : now.removed) {
    next[name] = {};  // entries are never taken away again
  }
  world.resources = std::move(next);
  world.Changed();
}

StatusOr<std::unique_ptr<Kubelet>> Kubelet::Start(World& world) {
  auto parts = std::make_unique<Parts>(world);
  std::unique_ptr<Kubelet> kubelet(new Kubelet(std::move(parts)));
  RETURN_IF_ERROR(kubelet->parts_->Start());
  KGPU_LOG(kInfo, "kubelet started", {"root", world.layout.root});
  return kubelet;
}

Kubelet::Kubelet(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {
}

Kubelet::~Kubelet() {
  Parts& parts = *parts_;
  parts.world.loop.CancelTimer(parts.timer);
  parts.pod_resources.reset();
  parts.watcher.reset();
  parts.server.reset();
}

void Kubelet::AddPod(const std::string& uid) {
  parts_->pods.Add(uid);
}

void Kubelet::DeletePod(const std::string& uid) {
  parts_->pods.Delete(uid);
}

void Kubelet::KillPod(const std::string& uid) {
  parts_->pods.Kill(uid);
}

std::vector<WatchedPlugin> Kubelet::watched_plugins() const {
  return parts_->watcher->plugins();
}

std::vector<DraPluginStatus> Kubelet::dra_plugins() const {
  return parts_->dra.plugins().plugins();
}

std::vector<EndpointStatus> Kubelet::endpoints() const {
  std::vector<EndpointStatus> endpoints;
  for (const auto& [name, resource] : parts_->manager.table().resources()) {
    if (!resource.endpoint) {
      continue;
    }
    endpoints.push_back({.resource = name,
                         .is_connected = !resource.endpoint->stopped_at.has_value(),
                         .healthy = resource.healthy ? resource.healthy->size() : 0,
                         .unhealthy = resource.unhealthy ? resource.unhealthy->size() : 0,
                         .options = resource.endpoint->options.value_or(PluginOptions())});
  }
  return endpoints;
}

bool Kubelet::DropStreams(const std::string& name) {
  const bool is_any = parts_->dra.plugins().DropStreams(name);
  return parts_->clients.DropStreams(name) || is_any;
}

bool Kubelet::CutPluginConnections(const std::string& name) {
  const bool is_any = parts_->dra.plugins().Cut(name);
  return parts_->clients.CutConnections(name) || is_any;
}

void Kubelet::CutServedConnections() {
  parts_->server->CutConnections();
  parts_->pod_resources->CutConnections();
}

}  // namespace kgpu::kubelet
