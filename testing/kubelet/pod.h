// Pods as far as devices matter: the request (PodSpec) and the result (PodStatus).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "testing/kubelet/plugin_api.h"
#include "testing/kubelet/pod_devices.h"

namespace kgpu::kubelet {

// kInit runs to its end before the next starts; kSidecar is a restartable init container.
enum class ContainerKind : uint8_t { kInit, kSidecar, kApp };

// A device of a resource claim, as prepared by its driver.
struct ClaimedDevice {
  std::string claim;
  std::string driver;
  std::string pool;
  std::string device;
  std::vector<std::string> cdi_ids = {};
  std::optional<std::string> share_id = {};
  bool operator==(const ClaimedDevice&) const = default;
};

// A ResourceClaim that a pod uses.
struct PodClaim {
  std::string name;           // within the pod
  std::string claim;          // the object, in the pod's namespace
  bool is_generated = false;  // from a template: the pod must be its owner
};

// A container's use of one of them.
struct ClaimReference {
  std::string claim;         // the name within the pod
  std::string request = {};  // empty: all requests of the claim
};

struct ContainerSpec {
  std::string name;
  ContainerKind kind = ContainerKind::kApp;
  std::map<std::string, int64_t> limits = {};  // extended resources
  std::vector<std::string> command = {};
  std::vector<std::string> env = {};  // "NAME=value"
  // Reported by the pod resources API, as under a static CPU policy.
  std::vector<int64_t> exclusive_cpus = {};
  // Also reported by it: nobody prepares them, they simply exist.
  std::vector<ClaimedDevice> claims = {};
  std::vector<ClaimReference> claim_references = {};
  // Null runtime only: the container ends by itself with this code (init containers: 0).
  std::optional<int> exits_with = {};
};

enum class RestartPolicy : uint8_t { kAlways, kOnFailure, kNever };

struct PodSpec {
  std::string name;
  std::string name_space = "default";
  std::string uid = {};  // generated if empty
  RestartPolicy restart_policy = RestartPolicy::kAlways;
  std::vector<PodClaim> claims = {};           // prepared by their drivers
  std::vector<ContainerSpec> containers = {};  // in the order of the spec, init containers first
  bool is_image_missing = false;               // ImagePullBackOff forever
  // Stays pending until the node has enough allocatable resources, as with a scheduler. Otherwise
  // the pod is bound to the node at once.
  bool waits_for_resources = false;
};

enum class PodPhase : uint8_t { kPending, kRunning, kSucceeded, kFailed };
enum class ContainerState : uint8_t { kWaiting, kRunning, kTerminated };

// An entry of allocatedResourcesStatus.
struct ResourceHealth {
  std::string resource;
  std::string id;
  std::string health;
  std::string message = {};
  bool operator==(const ResourceHealth&) const = default;
};

struct ContainerStatus {
  std::string name;
  ContainerKind kind = ContainerKind::kApp;
  ContainerState state = ContainerState::kWaiting;
  std::string reason;  // "CrashLoopBackOff", "CreateContainerConfigError", …
  std::string message;
  std::optional<int> exit_code;  // of the last run that ended
  int restarts = 0;
  std::string id;         // of the last run, in the container runtime
  IdsByResource devices;  // assigned by the kubelet
  std::vector<ResourceHealth> health;
  ContainerOptions options;  // what device plugins gave the last run
};

// A problem that the kubelet reports about a pod.
struct PodEvent {
  std::string reason;  // "FailedPrepareDynamicResources"
  std::string message;
  int count = 1;
  bool operator==(const PodEvent&) const = default;
};

struct PodStatus {
  PodPhase phase = PodPhase::kPending;
  std::string reason;  // "UnexpectedAdmissionError", …
  std::string message;
  bool is_bound = false;                    // to this node
  bool is_admitted = false;                 // by the kubelet
  std::vector<ContainerStatus> containers;  // as in the spec
  std::vector<PodEvent> events;             // the oldest first; the last kMostEvents
};

struct Pod {
  PodSpec spec;
  PodStatus status;
  bool is_terminating = false;
  static constexpr size_t kMostEvents = 20;

  bool is_terminal() const {
    return status.phase == PodPhase::kSucceeded || status.phase == PodPhase::kFailed;
  }
};

const char* NameOf(PodPhase phase);
const char* NameOf(ContainerState state);
const char* NameOf(ContainerKind kind);
const char* NameOf(RestartPolicy policy);

// A pod of one app container, for tests: `limits` of one resource.
PodSpec SimplePod(const std::string& name, const std::string& resource, int64_t count);

// The pod's peak use of each resource: the largest init container with the sidecars before it, or
// all sidecars and apps together. Source: the scheduler's sum of requests.
std::map<std::string, int64_t> RequestsOf(const PodSpec& pod);

}  // namespace kgpu::kubelet
