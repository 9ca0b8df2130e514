// Brings GPUs to exact layouts, one after the other. What fails is undone: every GPU that was
// changed gets its layout back, the last one first.
#pragma once

#include <functional>
#include <map>
#include <memory>
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
};

// The present layout as a target. Errors: those of InstanceOf.
StatusOr<Target> TargetOf(const HostGpu& gpu);

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

  // Errors: NotFound (no such GPU), and the driver's; the text names GPU and step, and says whether
  // the former layouts are back.
  Status Apply(const std::vector<Target>& targets);

 private:
  Status EnsureSession();
  StatusOr<HostGpu> Find(const device::GpuUuid& uuid);
  // Adds the GPU's present layout to `before` ahead of the first change.
  Status Change(const Target& target, std::vector<Target>& before);
  // `gpu` as it is now.
  Status ApplyOne(HostGpu gpu, const Target& target);
  Status FindAndApply(const Target& target);
  Status SetMode(HostGpu& gpu, bool is_enabled);
  Status DestroyOthers(HostGpu& gpu, const std::vector<Instance>& layout);
  Status Destroy(const HostGpu& gpu, const probe::GpuInstanceReport& instance);
  Status CreateMissing(const HostGpu& gpu, const std::vector<Instance>& layout);
  Status Create(const HostGpu& gpu, const Instance& instance);
  Status UndoAll(const std::vector<Target>& before, const Status& error);

  ApplyDeps deps_;
  std::unique_ptr<DriverSession> session_;
  std::map<std::string, unsigned> indexes_;  // by UUID, in this session
};

}  // namespace kgpu::mig
