// The GPUs of a cluster: how many are free, used and unhealthy, and who uses them. From objects of
// the API server to a value. Pure; fields that are missing or malformed count as absent.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/cluster/fleet/node_facts.h"

namespace kgpu::gpus {

// total = used + free + unhealthy + cordoned. In devices of a pool: GPUs, MIG devices, or slots of
// shared GPUs.
struct Counts {
  uint64_t total = 0;
  uint64_t used = 0;
  uint64_t free = 0;
  uint64_t unhealthy = 0;  // unused, and no pod can get them now
  uint64_t cordoned = 0;   // unused and healthy, on a node that takes no pods
  bool operator==(const Counts&) const = default;
  Counts& operator+=(const Counts& other);
};

// The devices of one pool on one node.
struct NodePool {
  std::string node{};
  std::string resource{};  // "nvidia.com/gpu"; empty: the node has GPUs and offers none
  std::string model{};     // several: "A100-SXM4-80GB, T4"; empty: unknown
  Counts counts{};
  std::string problem{};  // of the node; empty: none
};

// A pod, or a claim that no pod uses yet, and its devices.
struct Holder {
  std::string space{};
  std::string pod{};
  std::string claim{};      // empty: by a counted resource
  uint64_t other_pods = 0;  // that share the claim with this one
  std::string node{};       // empty: it waits for a node
  std::string resource{};
  uint64_t count = 0;
};

// A GPU as its agent measures it. Figures that the driver does not report are empty.
struct GpuUse {
  std::string node{};
  std::string model{};
  std::string resource{};               // of its pool; empty: in none
  std::optional<double> utilization{};  // percent
  std::optional<uint64_t> memory_used{};
  std::optional<uint64_t> memory_total{};
};

struct Summary {
  std::vector<NodePool> pools{};          // by node and resource
  std::vector<Holder> holders{};          // by namespace, pod, claim
  std::vector<Holder> pending{};          // pods that request devices and are on no node
  std::vector<GpuUse> uses{};             // of the agents that were asked
  std::vector<std::string> unreadable{};  // what could not be read, and why
};

// Counts objects in any order. An object that comes twice counts twice.
class SummaryBuilder {
 public:
  SummaryBuilder();
  ~SummaryBuilder();
  SummaryBuilder(const SummaryBuilder&) = delete;
  SummaryBuilder& operator=(const SummaryBuilder&) = delete;

  void AddNode(const boost::json::value& node);
  // Of a pod as TrimGpuPod leaves it.
  void AddPod(const boost::json::value& pod);
  // Resources in `by_claim` are those that the scheduler serves by a claim, which counts instead.
  void AddPod(const fleet::PodFacts& pod, const std::vector<std::string>& by_claim);
  void AddSlice(const boost::json::value& slice);
  void AddClaim(const boost::json::value& claim);
  void AddUnreadable(std::string what);

  Summary Build();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Leave of an object only the fields that a builder reads: lists of a cluster are large.
void TrimGpuNode(boost::json::value& node);
void TrimGpuPod(boost::json::value& pod);
void TrimGpuSlice(boost::json::value& slice);
void TrimGpuClaim(boost::json::value& claim);
// Whether a builder takes anything from the object.
bool IsGpuNode(const boost::json::value& node);
bool IsGpuPod(const boost::json::value& pod);
bool IsGpuSlice(const boost::json::value& slice);
bool IsGpuClaim(const boost::json::value& claim);

}  // namespace kgpu::gpus
