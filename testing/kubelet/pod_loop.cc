#include "testing/kubelet/pod_loop.h"

#include <algorithm>
#include <utility>

#include "src/platform/base/log.h"

namespace kgpu::kubelet {
namespace {

constexpr int kKilled = 137;  // 128 + SIGKILL

std::string UidOf(const std::string& container_id) {
  return container_id.substr(0, container_id.find('_'));
}

}  // namespace

PodLoop::PodLoop(World& world, DeviceManager& manager, DraManager& dra)
    : world_(world),
      manager_(manager),
      dra_(dra),
      allocator_(manager, {.policy = world.topology, .seed = world.seed}),
      preparer_(manager, dra, allocator_, world.constants),
      queue_(world.loop) {
  world_.runtime.SetExitHandler(
      lifeline_.Guard([this](const std::string& id, int exit_code) { OnExit(id, exit_code); }));
}

PodLoop::~PodLoop() {
  world_.runtime.SetExitHandler(nullptr);
  world_.loop.CancelTimer(sync_timer_);
}

void PodLoop::Start() {
  KillStrangers();
  for (const Pod* pod : world_.pods.All()) {
    if (pod->status.is_bound && !pod->is_terminal()) {
      Add(pod->spec.uid);
      if (pod->is_terminating) {
        Delete(pod->spec.uid);
      }
    } else if (pod->is_terminating) {
      Delete(pod->spec.uid);
    }
  }
  // After the admission of the pods that existed at the start.
  queue_.Push([this](const SerialQueue::Done& done) {
    manager_.SetPodsKnown();
    done();
  });
  sync_timer_ = world_.loop.After(world_.constants.pod_sync_period, [this] { SyncAll(); });
}

void PodLoop::Add(const std::string& uid) {
  queue_.Push([this, uid](SerialQueue::Done done) { Admit(uid, std::move(done)); });
}

void PodLoop::Admit(const std::string& uid, SerialQueue::Done done) {
  const Pod* pod = world_.pods.FindUid(uid);
  if (pod == nullptr || workers_.contains(uid) || pod->is_terminal()) {
    done();
    return;
  }
  in_admission_ = uid;
  allocator_.AllocatePod(
      pod->spec, [this, uid](const std::string& name) { return IsRunning(uid, name); },
      lifeline_.Guard([this, uid, done = std::move(done)](const Status& status) {
        OnAllocated(uid, status);
        in_admission_.clear();
        done();
      }));
}

void PodLoop::OnAllocated(const std::string& uid, const Status& status) {
  Pod* pod = world_.pods.FindUid(uid);
  if (pod == nullptr) {
    return;  // deleted meanwhile
  }
  if (!status.ok()) {
    Reject(*pod, status);
    return;
  }
  pod->status.is_admitted = true;
  const PodWorker::Setting setting{.loop = world_.loop,
                                   .constants = world_.constants,
                                   .store = world_.pods,
                                   .runtime = world_.runtime,
                                   .manager = manager_,
                                   .dra = dra_,
                                   .preparer = preparer_};
  PodWorker& worker = *(workers_[uid] = std::make_unique<PodWorker>(setting, *pod));
  worker.Sync();
}

void PodLoop::Reject(Pod& pod, const Status& status) {
  const bool is_topology = status.code() == StatusCode::kFailedPrecondition;
  pod.status.phase = PodPhase::kFailed;
  pod.status.is_admitted = false;
  pod.status.reason = is_topology ? "TopologyAffinityError" : "UnexpectedAdmissionError";
  pod.status.message = Message(status);
  for (ContainerStatus& container : pod.status.containers) {
    if (container.state == ContainerState::kRunning) {
      container.state = ContainerState::kTerminated;
      container.exit_code = kKilled;
      world_.runtime.Remove(container.id);
    }
  }
  KGPU_LOG(kInfo, "pod rejected", {"pod", pod.spec.name}, {"reason", Message(status)});
  world_.Changed();
}

bool PodLoop::IsRunning(const std::string& uid, const std::string& container) const {
  const Pod* pod = world_.pods.FindUid(uid);
  if (pod == nullptr) {
    return false;
  }
  const auto status = std::ranges::find(pod->status.containers, container, &ContainerStatus::name);
  if (status == pod->status.containers.end() || status->id.empty()) {
    return false;
  }
  const std::optional<RunState> state = world_.runtime.Find(status->id);
  return state && state->is_running;
}

void PodLoop::Delete(const std::string& uid) {
  queue_.Push([this, uid](const SerialQueue::Done& done) {
    done();
    const auto worker = workers_.find(uid);
    if (worker == workers_.end()) {
      world_.pods.Erase(uid);
      return;
    }
    worker->second->Terminate([this, uid] {
      workers_.erase(uid);
      killed_.erase(uid);
      world_.pods.Erase(uid);
    });
  });
}

void PodLoop::Kill(const std::string& uid) {
  if (workers_.contains(uid)) {
    killed_.insert(uid);
  }
  Delete(uid);
}

void PodLoop::Sync(const std::string& uid) {
  if (const auto worker = workers_.find(uid); worker != workers_.end()) {
    worker->second->Sync();
  }
}

void PodLoop::SyncAll() {
  sync_timer_ = world_.loop.After(world_.constants.pod_sync_period, [this] { SyncAll(); });
  for (const auto& [uid, worker] : workers_) {
    worker->Sync();
  }
}

std::set<std::string> PodLoop::ActivePods() const {
  std::set<std::string> active = killed_;
  for (const auto& [uid, worker] : workers_) {
    if (!worker->is_over()) {
      active.insert(uid);
    }
  }
  if (!in_admission_.empty()) {
    active.insert(in_admission_);
  }
  return active;
}

void PodLoop::OnExit(const std::string& id, int exit_code) {
  // Through the queue: while the main loop hangs, nobody looks at containers.
  queue_.Push([this, id, exit_code](const SerialQueue::Done& done) {
    const auto worker = workers_.find(UidOf(id));
    if (worker == workers_.end() || !worker->second->OnExit(id, exit_code)) {
      world_.runtime.Remove(id);
    }
    done();
  });
}

void PodLoop::KillStrangers() {
  for (const std::string& id : world_.runtime.List()) {
    if (world_.pods.FindUid(UidOf(id)) == nullptr) {
      world_.runtime.Remove(id);
    }
  }
}

}  // namespace kgpu::kubelet
