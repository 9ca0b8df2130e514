// The part for the MIG layouts of this node's GPUs: connects MigChanges with the rest of the agent.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/gpu/device/snapshot.h"
#include "src/node/layouts/child_run.h"
#include "src/node/layouts/mig_changes.h"
#include "src/node/part/part.h"
#include "src/node/pods/background.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"
#include "src/platform/sys/root.h"

namespace kgpu::layouts {

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
class MigLayouts final : public node::Part {
 public:
  // The GPUs of this process: see MigChanges::Sources.
  struct Gpus {
    std::function<void(std::function<void()> closed)> close;
    std::function<void()> open;
    std::function<void(std::function<void()> done)> read;
    std::function<void(const std::string& gpu)> forget;
    std::function<std::string(const std::string& gpu)> borrower;
  };

  // `own` is "/" of this process, in which configs_file is. `loop`, `own` and `effects` must
  // outlive it; `own` also what `background` runs, which looks at files off the loop.
  MigLayouts(EventLoop& loop, const sys::Root& own, MigLayoutsOptions options,
             pods::Background background, node::Effects& effects, Gpus gpus);

  void Update(const node::NodeState& state) override;
  void Assign(const node::NodeState& state, node::Draft& draft) override;
  void MarkHealth(pools::Assignment& shown) const override { changes_.Mark(shown); }
  void ShowStatus(const node::NodeState& state, node::StatusPage& page) const override;
  // The value of kMigStateLabel. Nothing: the node should not have the label. Empty: it is not
  // known yet.
  std::optional<std::string> label_state() const;

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
  const pods::Background background_;
  node::Effects& effects_;
  const Gpus gpus_;
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
  std::string problem_;        // why the label is not followed; empty: it is, or there is none
  Lifetime lifetime_;
};

}  // namespace kgpu::layouts
