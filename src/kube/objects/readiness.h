// Whether an object does what it should, and why not: from its status, and from its pods.
#pragma once

#include <boost/json/fwd.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "src/kube/objects/blocking_client.h"
#include "src/kube/objects/kinds.h"
#include "src/platform/base/status.h"

namespace kgpu::kube {

struct Readiness {
  bool is_ready = false;
  bool is_failed = false;  // it does not become ready by itself
  std::string text{};      // "2 of 3 pods are available"
  bool operator==(const Readiness&) const = default;
};

// Of a DaemonSet, Deployment, Job or Pod; objects of other kinds are ready once they exist. Pure.
Readiness ReadinessOf(const boost::json::value& object);

// What keeps a pod from running: "container agent: ImagePullBackOff: …", "Unschedulable: …"; empty
// if nothing does, or nothing is known. Pure.
std::string ProblemOfPod(const boost::json::value& pod);

// The first problem of an object's pods, else its newest warning event; empty if there is none.
// Errors: those of Send.
StatusOr<std::string> FindProblem(BlockingClient& client, const boost::json::value& object);

struct WaitOptions {
  std::chrono::milliseconds time{300'000};  // for all of them together
  std::chrono::milliseconds reach_time{30'000};
  // Whenever the text of an object changes.
  std::function<void(const ObjectRef&, const Readiness&)> on_change{};
};

// Waits until all are ready. Errors: FailedPrecondition (one has failed) and DeadlineExceeded, each
// naming the object and its first problem; NotFound (one does not exist); those of Send.
Status WaitUntilReady(BlockingClient& client, Kinds& kinds, const std::vector<ObjectRef>& refs,
                      const WaitOptions& options);

}  // namespace kgpu::kube
