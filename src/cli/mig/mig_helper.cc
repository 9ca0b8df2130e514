#include "src/cli/mig/mig_helper.h"

#include <unistd.h>

#include <string>
#include <vector>

#include "src/cli/base/output.h"
#include "src/cli/mig/mig_deps.h"
#include "src/cli/mig/mig_request.h"
#include "src/node/mig/change.h"
#include "src/node/mig/helper.h"
#include "src/node/mig/place.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/read_fd.h"

namespace kgpu::cli {
namespace {

constexpr size_t kMostRequestBytes = size_t{256} << 10;

MigOptions OptionsOf(const mig::HelperRequest& request) {
  const mig::HelperHost& host = request.host;
  MigOptions options;
  options.host = {.host_root = host.host_root,
                  .driver_root = host.driver_root,
                  .engine_root = host.engine_root,
                  .nvml_library = host.nvml_library,
                  .probe = host.probe};
  options.kubelet_path = host.kubelet_dir;
  options.gpus = request.gpus;
  options.layout = request.layout.instances;
  options.select = request.layout.named;
  options.config = request.layout.configs_file;
  options.waits = true;
  return options;
}

// The first reply of a change that is undone is for readers that never get the second one: if this
// process is killed in between, the change has failed, and must not be finished.
StatusOr<mig::HelperReply> Answer(const mig::HelperRequest& request) {
  const MigOptions options = OptionsOf(request);
  ASSIGN_OR_RETURN(const host::DriverRoot root, OpenRoots(options.host));
  ASSIGN_OR_RETURN(const auto gpus, ReadMigGpus(options, root));
  ASSIGN_OR_RETURN(const mig::Plan plan, MakeMigPlan(options, gpus));
  mig::HelperReply reply = mig::ReplyOf(plan, gpus);
  if (request.step == mig::Step::kPlan || reply.changes.empty()) {
    return reply;
  }
  const std::vector<mig::Target> targets = mig::TargetsOf(plan, gpus);
  ASSIGN_OR_RETURN(const auto before, mig::PresentOf(targets, gpus));
  bool is_undone = false;
  mig::ApplyDeps deps = MigDepsOf(options, root);
  deps.undoing = [&](const Status& error) {
    is_undone = true;
    (void)PrintOut(
        mig::PrintReply({.outcome = mig::Outcome::kUndone, .reason = std::string(Message(error))}));
  };
  const Status status = mig::CarryOut(root.host, before, targets, std::move(deps));
  if (is_undone) {
    return mig::HelperReply{.outcome = mig::Outcome::kUndone,
                            .reason = std::string(Message(status))};
  }
  RETURN_IF_ERROR(status);
  return reply;
}

StatusOr<mig::Target> TargetFor(const mig::HelperRequest& request, const mig::HostGpu& gpu) {
  const mig::ClaimPlace place = request.place.value_or(mig::ClaimPlace());
  switch (request.step) {
    case mig::Step::kMake:
      return mig::WithPlace(gpu, place);
    case mig::Step::kRemove:
      return mig::WithoutPlace(gpu, place);
    default:
      return mig::WithoutMig(gpu);
  }
}

// A change of one GPU for a claim.
StatusOr<mig::HelperReply> AnswerPlace(const mig::HelperRequest& request) {
  const MigOptions options = OptionsOf(request);
  ASSIGN_OR_RETURN(const host::DriverRoot root, OpenRoots(options.host));
  if (request.step == mig::Step::kTimeSlice) {
    RETURN_IF_ERROR(SetTimeSlice(root, request.gpus.front(), request.time_slice));
    return mig::HelperReply{.outcome = mig::Outcome::kDone};
  }
  ASSIGN_OR_RETURN(const mig::HostGpu gpu,
                   mig::ChangeGpu(
                       root.host, request.gpus.front(),
                       [&](const mig::HostGpu& before) { return TargetFor(request, before); },
                       MigDepsOf(options, root)));
  mig::HelperReply reply{.outcome = mig::Outcome::kDone};
  if (request.step == mig::Step::kMake) {
    ASSIGN_OR_RETURN(reply.made, mig::DeviceAt(gpu, *request.place));
  }
  return reply;
}

StatusOr<mig::HelperReply> AnswerTo(const mig::HelperRequest& request) {
  const bool is_of_layouts = request.step == mig::Step::kPlan || request.step == mig::Step::kChange;
  return is_of_layouts ? Answer(request) : AnswerPlace(request);
}

}  // namespace

StatusOr<ExitCode> RunMigHelper() {
  ASSIGN_OR_RETURN(const std::string text, sys::ReadAll(STDIN_FILENO, kMostRequestBytes));
  const auto request = mig::ParseRequest(text);
  const auto reply =
      request.ok() ? AnswerTo(*request) : StatusOr<mig::HelperReply>(request.status());
  return OkOr(PrintOut(mig::PrintReply(reply.ok() ? *reply : mig::ReplyOf(reply.status()))));
}

}  // namespace kgpu::cli
