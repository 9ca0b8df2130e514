// The kubelet's work on pods: admission one by one, workers, deletion.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "testing/kubelet/allocator.h"
#include "testing/kubelet/device_manager.h"
#include "testing/kubelet/dra_manager.h"
#include "testing/kubelet/lifeline.h"
#include "testing/kubelet/pod_worker.h"
#include "testing/kubelet/preparer.h"
#include "testing/kubelet/serial_queue.h"
#include "testing/kubelet/world.h"

namespace kgpu::kubelet {

// Lives on the loop's thread.
class PodLoop {
 public:
  // All arguments must outlive this.
  PodLoop(World& world, DeviceManager& manager, DraManager& dra);
  ~PodLoop();
  PodLoop(const PodLoop&) = delete;
  PodLoop& operator=(const PodLoop&) = delete;

  // Takes over the existing pods: admits those again that were admitted before, and ends containers
  // of deleted pods.
  void Start();
  // A pod was bound to the node.
  void Add(const std::string& uid);
  // A pod should end; it leaves the store when its containers have ended.
  void Delete(const std::string& uid);
  // A pod has already left the store: only its containers remain to be ended.
  void Kill(const std::string& uid);
  // Updates the status of one pod.
  void Sync(const std::string& uid);

  // Pods whose devices must not be freed: those admitted that have not ended, or in admission.
  std::set<std::string> ActivePods() const;
  bool IsActive(const std::string& uid) const { return ActivePods().contains(uid); }

 private:
  void Admit(const std::string& uid, SerialQueue::Done done);
  void OnAllocated(const std::string& uid, const Status& status);
  void Reject(Pod& pod, const Status& status);
  void OnExit(const std::string& id, int exit_code);
  void SyncAll();
  void KillStrangers();
  bool IsRunning(const std::string& uid, const std::string& container) const;

  World& world_;
  DeviceManager& manager_;
  DraManager& dra_;
  Allocator allocator_;
  Preparer preparer_;
  std::map<std::string, std::unique_ptr<PodWorker>> workers_;
  std::set<std::string> killed_;  // their pods are gone from the store
  std::string in_admission_;
  SerialQueue queue_;
  TimerId sync_timer_ = TimerId::kNone;
  Lifeline lifeline_;
};

}  // namespace kgpu::kubelet
