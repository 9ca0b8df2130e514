// Brings GPUs to exact layouts, one after the other. What fails is undone: every GPU that was
// changed gets its layout back, the last one first.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/mig/host.h"
#include "src/node/mig/planner.h"
#include "src/node/mig/session.h"
#include "src/platform/base/status.h"

namespace kgpu::mig {

// The requested state of a GPU.
struct Target {
  device::GpuUuid uuid;
  bool is_mig_enabled = true;
  std::vector<Instance> layout{};  // with exact starts; none overlap
  // Of a former state with a pending change: the MIG mode after the next reset. It stays if it is
  // still pending, but is never requested again: an idle GPU would change at once. nullopt: a reset
  // leaves the mode as it is.
  std::optional<bool> is_pending_enabled{};
};

// The present state as a target. Errors: those of InstanceOf.
StatusOr<Target> TargetOf(const HostGpu& gpu);

// "MIG on, 3g.40gb at 0, 3g.40gb at 4", "MIG off (on after a reset), no instances".
std::string StateText(const Target& target);

// For each change of a plan the target that it leads to. `gpus` are those of the plan's states.
std::vector<Target> TargetsOf(const Plan& plan, std::span<const HostGpu> gpus);

struct ApplyDeps {
  // Opens a session: at the beginning, and after a reset, for which there must be none.
  std::function<StatusOr<std::unique_ptr<DriverSession>>()> open;
  // Resets a GPU of which the MIG mode is pending; no session is open meanwhile.
  std::function<Status(const HostGpu& gpu)> reset;
  // Ends the users of an instance that is to be destroyed, or of the GPU. Empty: the driver refuses
  // to destroy what is in use.
  std::function<Status(const HostGpu& gpu, const std::vector<const User*>& users)> evict;
  // One line for each change that was made.
  std::function<void(std::string_view line)> note;
  // A change has failed with this error, and is undone now.
  std::function<void(const Status& error)> undoing;
};

class Applier {
 public:
  explicit Applier(ApplyDeps deps) : deps_(std::move(deps)) {}

  // OK only if the driver shows each target afterwards. Errors: NotFound (no such GPU), and the
  // driver's; the text names GPU and step, says whether the former layouts are back, and which
  // changes of the MIG mode a reset still makes.
  Status Apply(const std::vector<Target>& targets);
  // The GPU as it is now. Errors: NotFound, FailedPrecondition (no MIG), the driver's.
  StatusOr<HostGpu> Find(const device::GpuUuid& uuid);
  // Whether a failed Apply() left something that it had changed.
  bool has_left_changes() const { return has_left_changes_; }

 private:
  Status EnsureSession();
  // Adds the GPU's present layout to `before` ahead of the first change.
  Status Change(const Target& target, std::vector<Target>& before);
  // `gpu` as it is now; returns it as it is afterwards.
  StatusOr<HostGpu> ApplyOne(HostGpu gpu, const Target& target);
  StatusOr<HostGpu> FindAndApply(const Target& target);
  // The GPU, if it is as `target` says.
  StatusOr<HostGpu> Verify(const Target& target);
  StatusOr<probe::MigModeReport> RequestMode(const HostGpu& gpu, bool is_enabled);
  Status SetMode(const HostGpu& gpu, bool is_enabled);
  // Cancels a change of the MIG mode that the next reset would make.
  Status KeepMode(const HostGpu& gpu);
  Status DestroyOthers(HostGpu& gpu, const std::vector<Instance>& layout);
  Status Destroy(const HostGpu& gpu, const probe::GpuInstanceReport& instance);
  Status CreateMissing(const HostGpu& gpu, const std::vector<Instance>& layout);
  Status Create(const HostGpu& gpu, const Instance& instance);
  Status UndoAll(const std::vector<Target>& before, const Status& error);

  ApplyDeps deps_;
  std::unique_ptr<DriverSession> session_;
  std::map<std::string, unsigned> indexes_;  // by UUID, in this session
  bool has_left_changes_ = false;
};

}  // namespace kgpu::mig
