// What the controller decided to do: requests as values, in the order of their urgency.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/kube/api/client.h"
#include "src/kube/api/event_recorder.h"
#include "src/kube/api/eviction.h"

namespace kgpu::controller {

// What the response is.
enum class AnswerKind : uint8_t { kNothing, kNode, kPolicy };

struct Work {
  // One at a time for each object: "node/n1", "pod/ns/p".
  std::string key{};
  std::string what{};  // for people: "cordon node n1"
  // The most urgent first: nodes return, and what they leave is removed, before others are taken.
  enum class Order : uint8_t { kReturn, kGoOn, kClean, kReserve, kStart, kLabel, kStatus };
  Order order = Order::kGoOn;
  std::optional<kube::EvictionTarget> eviction{};  // else `request`
  kube::ApiRequest request{};
  AnswerKind answer = AnswerKind::kNothing;
  bool may_exist = false;             // that it exists already, or is gone, is success
  std::string pod_for{};              // the node for which it creates a pod
  std::vector<kube::Event> events{};  // once it has succeeded
};

}  // namespace kgpu::controller
