// Takes nodes over one after another, and hands them back. Every step can be repeated: a run that
// was killed at any request is continued by the next one.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "src/cluster/adopt/changes.h"
#include "src/cluster/adopt/plan.h"
#include "src/cluster/adopt/world.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu::adopt {

struct TakeoverOptions {
  std::string space = "kgpu";
  std::chrono::seconds node_limit{300};  // for each wait
  std::chrono::seconds poll{2};
  // For so long, everything must hold that is waited for: the kubelet reports a node's counts every
  // 10 s, so that an old one is not taken for a new one.
  std::chrono::seconds settle{15};
  // An agent looks for sockets of other plugins every minute; after that it stands back by itself.
  std::chrono::seconds agent_notice{75};
};

// What a takeover needs of its caller.
struct Deps {
  const Clock& clock;
  Ask ask{};
  std::function<void(std::chrono::seconds)> pause{};
  std::function<void(const std::string&)> say{};  // progress, for people
  // What must hold before anything is changed; `installs`: kgpu, too.
  std::function<Status(bool installs)> check{};
  // Installs kgpu with the carried-over configuration, and waits until its objects are accepted.
  std::function<Status(const Carried&)> install{};
  // Removes what `install` has made, and what agents have written to nodes.
  std::function<Status()> uninstall{};
  // Why `uninstall` would refuse; changes nothing.
  std::function<Status()> check_uninstall{};
  // What a namespace that Adopt made holds besides what is ours.
  std::function<StatusOr<std::vector<std::string>>()> find_others{};
};

struct NodeOutcome {
  std::string name{};
  bool is_done = false;
  std::string message{};
};

struct Outcome {
  std::vector<NodeOutcome> nodes{};
  Status status{};  // of the whole
};

class Takeover {
 public:
  // Both must outlive it.
  Takeover(const Deps& deps, TakeoverOptions options);

  // Installs kgpu if the cluster does not have it, then takes over every node of the plan. Stops at
  // the first node that does not work, and hands that one back. Errors (in status):
  // FailedPrecondition naming the node and what is missing; those of Deps::ask.
  Outcome Adopt(const Plan& plan);
  // The reverse, of all nodes that have been taken over; then removes kgpu if Adopt installed it.
  Outcome HandBack();
  // After the replaced software was removed: forgets how to hand back. Errors: FailedPrecondition
  // (some of it is still there).
  Outcome Finish(const Plan& plan);

 private:
  struct NodeNow;

  Status Begin(const Plan& plan);
  Status MakeNamespace();
  Status SaveState(bool installs);
  StatusOr<bool> InstalledByUs();
  Status RemoveState();
  Status ExcludeSets(const Plan& plan);
  Status RestoreSets();
  // Reads the DaemonSet and writes what `plan` makes of it; again when somebody else was faster.
  Status PatchSet(std::string_view space, std::string_view name, std::string_view what,
                  const std::function<StatusOr<Patch>(const boost::json::value&)>& plan);

  Status TakeNode(const NodePlan& plan);
  Status GiveNode(const std::string& name);
  Status ForgetNodes(bool keeps_owner);
  StatusOr<std::vector<std::string>> TakenNodes();

  StatusOr<NodeNow> ReadNow(const std::string& name);
  Status PatchNode(const std::string& name, const std::function<Patch(const NodeNow&)>& plan);
  // Waits until `missing` returns nothing, for `settle` without a break, but not much longer than
  // the limit for a node, however slow the server is.
  Status WaitUntil(const std::string& name, std::chrono::seconds settle,
                   const std::function<StatusOr<std::string>(const NodeNow&)>& missing);

  const Deps& deps_;
  TakeoverOptions options_;
};

}  // namespace kgpu::adopt
