// The flags of `kgpu mig` commands, the GPUs that they are about, and the plans made from them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/cli/base/command_registrar.h"
#include "src/cli/base/host_options.h"
#include "src/cli/base/options.h"
#include "src/node/mig/host_plan.h"
#include "src/node/mig/model_plan.h"
#include "src/node/mig/planner.h"
#include "src/node/mig/session.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

struct MigOptions {
  HostOptions host;
  std::string kubelet_dir = kKubeletDir;
  std::string kubelet_path;       // the same as this program sees it; empty: below the host root
  std::vector<std::string> gpus;  // indexes or UUIDs; empty: all with MIG
  std::string profiles;           // instances that must be free
  std::string layout;             // instances of each GPU
  std::string config;             // file of mig-parted
  std::string select;             // name of a configuration
  std::string model;              // of a plan without GPUs
  std::string count = "1";
  std::string have;
  std::string output = "table";
  bool may_evict = false;
  bool waits = false;  // --idle-only
  bool is_check = false;
  bool is_dry_run = false;
  bool is_yes = false;
};

// --gpu and where the host is.
void AddMigHostFlags(CLI::App& command, MigOptions& options);
// --layout, --config and --select, which describe whole GPUs.
void AddMigLayoutFlags(CLI::App& command, MigOptions& options);
// Those, --profiles and --evict.
void AddMigGoalFlags(CLI::App& command, MigOptions& options);

// Errors: those of FindProbe and mig::DriverSession::Open.
StatusOr<std::unique_ptr<mig::DriverSession>> OpenMigSession(const HostOptions& options,
                                                             const host::DriverRoot& root);

// The GPUs of --gpu, else all, with the containers that the kubelet gave them to. What could not be
// read is noted on standard error. Errors: NotFound, those of the driver.
StatusOr<std::vector<mig::HostGpu>> ReadMigGpus(const MigOptions& options,
                                                const host::DriverRoot& root);

// The names of the GPUs for people: their indexes.
std::vector<std::string> MigNamesOf(const std::vector<mig::HostGpu>& gpus);

std::vector<std::string> MigUuidsOf(const std::vector<mig::HostGpu>& gpus);

// The change that the flags request. Errors: those of the file of --config and of mig::PlanHost.
StatusOr<mig::Plan> MakeMigPlan(const MigOptions& options, const std::vector<mig::HostGpu>& gpus);

// The same for --model, without a GPU. Errors: InvalidArgument (--count), those of mig::PlanModel.
StatusOr<mig::ModelPlan> MakeModelPlan(const MigOptions& options);

}  // namespace kgpu::cli
