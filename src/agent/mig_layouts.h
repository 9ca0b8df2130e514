// The MIG layouts of this node's GPUs: connects MigChanges with the agent's parts.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/agent/child_run.h"
#include "src/agent/mig_changes.h"
#include "src/gpu/device/snapshot.h"
#include "src/kube/api/event_recorder.h"
#include "src/node/config/node_config.h"
#include "src/node/pods/pod_map.h"
#include "src/node/pods/watch.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"
#include "src/platform/sys/root.h"

namespace kgpu::agent {

// In the run folder: the change that runs. A reboot ends it.
inline constexpr char kMigBegunFile[] = "mig-change.json";

// As the request to the helper that finishes it, and back. Errors: InvalidArgument.
std::string PrintBegun(const MigChanges::Begun& begun);
StatusOr<MigChanges::Begun> ParseBegun(std::string_view text);

struct MigLayoutsOptions {
  std::string program;       // kgpu, which is the helper, too; empty: nothing is changed
  mig::HelperHost host{};    // as the helper sees it
  std::string configs_file;  // of mig-parted; used if it exists
  std::string run_dir;
  std::string node_name;
  // GPUs that an earlier process had withdrawn for their layout.
  std::vector<std::string> withdrawn{};
};

// The GPUs of slots that MigChanges::Mark() marked.
std::vector<std::string> WithdrawnIn(const pools::Assignment& assignment);

// Lives on the loop's thread.
class MigLayouts {
 public:
  struct Sources {
    std::function<void(std::function<void()> closed)> close;  // see MigChanges::Sources
    std::function<void()> open;
    std::function<void(std::function<void()> done)> read;
    std::function<void(const std::string& gpu)> forget;
    std::function<std::string(const std::string& gpu)> borrower;
    std::function<pods::PodMapPtr()> pods;
    std::function<void()> look_at_pods;
    std::function<void(kube::Event)> notify;
    std::function<void()> changed;
    // Looks at files off the loop.
    pods::Background background;
    // SetInput must be called again: the file with named layouts has changed.
    std::function<void()> again;
  };
  struct Input {
    device::SnapshotPtr snapshot{};
    const config::NodeConfig* config = nullptr;
    // The node's labels; null: not known.
    const std::map<std::string, std::string>* labels = nullptr;
    bool stands_back = false;  // another plugin serves the GPUs
  };

  // `own` is "/" of this process, in which configs_file is. `loop` and `own` must outlive it, and
  // what `background` runs, too.
  MigLayouts(EventLoop& loop, const sys::Root& own, MigLayoutsOptions options, Sources sources);
  ~MigLayouts() = default;
  MigLayouts(const MigLayouts&) = delete;
  MigLayouts& operator=(const MigLayouts&) = delete;

  // What is known now: call it after every change.
  void SetInput(const Input& input);
  void Mark(pools::Assignment& assignment) const { changes_.Mark(assignment); }
  const std::vector<MigGoalReport>& reports() const { return changes_.reports(); }
  // The value of kMigStateLabel. Nothing: the node should not have the label. Empty: it is not
  // known yet.
  std::optional<std::string> label_state() const;
  // Why the label is not followed, for people; empty: it is, or there is none.
  const std::string& problem() const { return problem_; }

 private:
  void SetLabels(const std::map<std::string, std::string>& labels);
  void LookAtFile();
  void TakeFileMarks(std::string marks);
  std::string Holders(const std::string& gpu) const;
  void Report(const MigGoalReport& before, const MigGoalReport& now);
  void Ask(mig::HelperRequest request, std::chrono::seconds deadline, MigChanges::Done done);
  void Keep(const std::optional<MigChanges::Begun>& begun);

  const sys::Root& own_;
  const MigLayoutsOptions options_;
  const Sources sources_;
  ChildRun child_;
  MigChanges changes_;
  device::SnapshotPtr snapshot_;
  std::string marks_;  // of the layouts that were last seen
  // Of the file with named layouts, at the last look; empty: there is none. Nothing: not looked
  // yet.
  std::optional<std::string> file_marks_;
  bool is_looking_ = false;
  bool has_other_names_ = false;  // since the last plan
  std::string label_;             // as last seen
  bool is_label_known_ = false;
  bool is_label_new_ = false;  // until it is followed or has failed
  Timer label_timer_;          // until when the label is waited for
  std::string problem_;
  Lifetime lifetime_;
};

}  // namespace kgpu::agent
