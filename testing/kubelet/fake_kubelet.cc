#include "testing/kubelet/fake_kubelet.h"

#include <algorithm>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "src/platform/base/event_loop.h"
#include "testing/kubelet/checkpoint.h"
#include "testing/kubelet/dra_state.h"
#include "testing/kubelet/node.h"
#include "testing/kubelet/null_runtime.h"
#include "testing/kubelet/pod_resources_server.h"
#include "testing/kubelet/text_file.h"

namespace kgpu::kubelet {

struct FakeKubelet::State {
  explicit State(const Options& options)
      : layout{options.root},
        loop(EpollLoop::Create().value()),
        runtime(*loop),
        node(std::make_unique<Node>(*loop, runtime, options.root)) {
    World& world = node->world();
    world.constants = options.constants;
    world.topology = options.topology;
    world.seed = options.seed;
    world.exclusive_cpus = options.exclusive_cpus;
    world.claims = options.claims;
    node->OnChange([this] { Changed(); });
    world.calls->OnChange([this] { Changed(); });
    thread = std::jthread([this] { loop->Run(); });
  }

  // Runs `task` on the kubelet's thread and hands its result back.
  template <typename F>
  auto Run(F task) {
    std::packaged_task<decltype(task())()> packaged(std::move(task));
    auto result = packaged.get_future();
    loop->Post(
        [shared = std::make_shared<decltype(packaged)>(std::move(packaged))] { (*shared)(); });
    return result.get();
  }

  void Changed() {
    {
      const std::lock_guard lock(mutex);
      ++version;
    }
    changed.notify_all();
  }

  const Layout layout;
  std::unique_ptr<EpollLoop> loop;
  NullRuntime runtime;
  std::unique_ptr<Node> node;

  std::mutex mutex;
  std::condition_variable changed;
  uint64_t version = 0;

  std::jthread thread;
};

FakeKubelet::FakeKubelet(const Options& options) : state_(std::make_unique<State>(options)) {
}

FakeKubelet::~FakeKubelet() {
  state_->Run([this] { state_->node.reset(); });
  state_->loop->Quit();
  state_->thread.join();
}

const Layout& FakeKubelet::layout() const {
  return state_->layout;
}

Status FakeKubelet::Start(std::chrono::nanoseconds listen_delay) {
  return state_->Run([this, listen_delay] {
    state_->node->world().listen_delay = listen_delay;
    return state_->node->StartKubelet();
  });
}

void FakeKubelet::Stop() {
  state_->Run([this] { state_->node->StopKubelet(); });
}

Status FakeKubelet::Restart() {
  return state_->Run([this] {
    state_->node->StopKubelet();
    return state_->node->StartKubelet();
  });
}

void FakeKubelet::Reboot() {
  state_->Run([this] {
    state_->node->StopKubelet();
    state_->runtime.Reboot();
  });
}

Status FakeKubelet::AddPod(const PodSpec& spec) {
  return state_->Run([this, &spec] { return state_->node->AddPod(spec).status(); });
}

Status FakeKubelet::RemovePod(const std::string& key, bool is_forced) {
  return state_->Run([&] { return state_->node->DeletePod(key, is_forced); });
}

std::optional<Pod> FakeKubelet::FindPod(const std::string& key) const {
  return state_->Run([&] {
    const Pod* pod = state_->node->world().pods.FindKey(key);
    return pod == nullptr ? std::nullopt : std::optional(*pod);
  });
}

std::vector<Pod> FakeKubelet::Pods() const {
  return state_->Run([&] {
    std::vector<Pod> pods;
    for (const Pod* pod : state_->node->world().pods.All()) {
      pods.push_back(*pod);
    }
    return pods;
  });
}

Status FakeKubelet::ExitContainer(const std::string& key, const std::string& container,
                                  int exit_code) {
  return state_->Run([&]() -> Status {
    const Pod* pod = state_->node->world().pods.FindKey(key);
    if (pod == nullptr) {
      return NotFound("pod {}: not found", key);
    }
    const auto status =
        std::ranges::find(pod->status.containers, container, &ContainerStatus::name);
    if (status == pod->status.containers.end() || status->state != ContainerState::kRunning) {
      return FailedPrecondition("pod {}: container {} is not running", key, container);
    }
    state_->runtime.Exit(status->id, exit_code);
    return OkStatus();
  });
}

std::optional<ResourceAmount> FakeKubelet::Resource(const std::string& resource) const {
  return state_->Run([&] {
    const NodeResources& resources = state_->node->world().resources;
    const auto found = resources.find(resource);
    return found == resources.end() ? std::nullopt : std::optional(found->second);
  });
}

int64_t FakeKubelet::Capacity(const std::string& resource) const {
  const std::optional<ResourceAmount> amount = Resource(resource);
  return amount ? amount->capacity : -1;
}

int64_t FakeKubelet::Allocatable(const std::string& resource) const {
  const std::optional<ResourceAmount> amount = Resource(resource);
  return amount ? amount->allocatable : -1;
}

std::vector<EndpointStatus> FakeKubelet::Endpoints() const {
  return state_->Run([this] {
    const Kubelet* kubelet = state_->node->kubelet();
    return kubelet == nullptr ? std::vector<EndpointStatus>() : kubelet->endpoints();
  });
}

std::vector<WatchedPlugin> FakeKubelet::WatchedPlugins() const {
  return state_->Run([this] {
    const Kubelet* kubelet = state_->node->kubelet();
    return kubelet == nullptr ? std::vector<WatchedPlugin>() : kubelet->watched_plugins();
  });
}

std::string FakeKubelet::CheckpointText() const {
  return ReadTextFile(layout().checkpoint(), kCheckpointLimit).value_or("");
}

std::vector<DraPluginStatus> FakeKubelet::DraPlugins() const {
  return state_->Run([this] {
    const Kubelet* kubelet = state_->node->kubelet();
    return kubelet == nullptr ? std::vector<DraPluginStatus>() : kubelet->dra_plugins();
  });
}

std::string FakeKubelet::DraStateText() const {
  return ReadTextFile(layout().dra_state(), kDraStateLimit).value_or("");
}

std::vector<CallRecord> FakeKubelet::Calls() const {
  return state_->Run([this] {
    const auto& records = state_->node->world().calls->records();
    return std::vector<CallRecord>(records.begin(), records.end());
  });
}

uint64_t FakeKubelet::CallCount(const std::string& method) const {
  return state_->Run([&] { return state_->node->world().calls->Count(method); });
}

void FakeKubelet::ClearCalls() {
  state_->Run([this] { state_->node->world().calls->Clear(); });
}

Status FakeKubelet::ScriptPodResources(const std::string& list_reply) {
  if (!IsListReply(list_reply)) {
    return InvalidArgument("invalid ListPodResourcesResponse of {} bytes", list_reply.size());
  }
  state_->Run([&] { state_->node->world().pod_resources_script = list_reply; });
  return OkStatus();
}

void FakeKubelet::Inject(const std::string& point, const Fault& fault) {
  state_->Run([&] { state_->node->world().faults.Set(point, fault); });
}

void FakeKubelet::ClearFaults() {
  state_->Run([this] { state_->node->world().faults.Clear(); });
}

bool FakeKubelet::DropStream(const std::string& resource) {
  return state_->Run([&] {
    Kubelet* kubelet = state_->node->kubelet();
    return kubelet != nullptr && kubelet->DropStreams(resource);
  });
}

bool FakeKubelet::CutPluginConnection(const std::string& resource) {
  return state_->Run([&] {
    Kubelet* kubelet = state_->node->kubelet();
    return kubelet != nullptr && kubelet->CutPluginConnections(resource);
  });
}

void FakeKubelet::CutServedConnections() {
  state_->Run([this] {
    if (Kubelet* kubelet = state_->node->kubelet(); kubelet != nullptr) {
      kubelet->CutServedConnections();
    }
  });
}

bool FakeKubelet::WaitFor(const std::function<bool()>& condition,
                          std::chrono::milliseconds limit) const {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    uint64_t seen = 0;
    {
      const std::lock_guard lock(state_->mutex);
      seen = state_->version;
    }
    if (condition()) {
      return true;
    }
    std::unique_lock lock(state_->mutex);
    if (!state_->changed.wait_until(lock, end, [&] { return state_->version != seen; })) {
      return false;
    }
  }
}

bool FakeKubelet::WaitForResource(const std::string& resource, const ResourceAmount& amount,
                                  std::chrono::milliseconds limit) const {
  return WaitFor([&] { return Resource(resource) == amount; }, limit);
}

bool FakeKubelet::WaitForPhase(const std::string& key, PodPhase phase,
                               std::chrono::milliseconds limit) const {
  return WaitFor(
      [&] {
        const std::optional<Pod> pod = FindPod(key);
        return pod && pod->status.phase == phase;
      },
      limit);
}

bool FakeKubelet::WaitForCalls(const std::string& method, uint64_t count,
                               std::chrono::milliseconds limit) const {
  return WaitFor([&] { return CallCount(method) >= count; }, limit);
}

}  // namespace kgpu::kubelet
