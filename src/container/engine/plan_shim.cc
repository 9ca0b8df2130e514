// The part of plan.h about kgpu-runtime itself, which all engines share.
#include <fcntl.h>
#include <cerrno>

#include <filesystem>
#include <utility>

#include "src/container/engine/config_parts.h"
#include "src/container/engine/engine_files.h"
#include "src/container/engine/plan.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/read_fd.h"

namespace kgpu::engine {
namespace {

StatusOr<std::string> ReadProgram(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_valid()) {
    return ErrnoStatus(errno, fmt::format("open {}", path));
  }
  return sys::ReadAll(fd.get(), change::kMostFileBytes);
}

Status AddProgram(const sys::Root& host, const ShimInput& input, Plan& plan) {
  const StatusOr<std::string> there = host.ReadFile(input.path, change::kMostFileBytes);
  const std::optional<std::string> before = there.ok() ? std::optional(*there) : std::nullopt;
  if (input.program.empty()) {
    return before ? OkStatus()
                  : NotFound(
                        "kgpu-runtime: not found beside kgpu or at {} on the host: install it "
                        "there first",
                        input.path);
  }
  FileStep step;
  ASSIGN_OR_RETURN(step.after, ReadProgram(input.program));
  if (before != step.after) {
    step.path = input.path;
    step.before = before;
    step.mode = 0755;
    step.source = input.program;
    plan.files.push_back(std::move(step));
  }
  return OkStatus();
}

Status AddLink(const sys::Root& host, const ShimInput& input, Plan& plan) {
  const std::filesystem::path program(input.path);
  const std::string path = (program.parent_path() / kHookName).string();
  const std::string target = program.filename().string();
  const auto text = host.ReadLink(path);
  if (text.ok() && *text == target) {
    return OkStatus();
  }
  if (host.LinkStat(path).ok()) {
    plan.notes.push_back(fmt::format(
        "{} exists and was not written by kgpu: docker run --gpus uses it instead of kgpu-runtime",
        path));
    return OkStatus();
  }
  plan.links.push_back({.path = path, .target = target});
  return OkStatus();
}

}  // namespace

StatusOr<std::vector<std::string>> RuntimesFor(const std::vector<Plan>& plans,
                                               const std::vector<std::string>& known) {
  std::vector<std::string> runtimes;
  for (const Plan& plan : plans) {
    if (!plan.uses_runtime || !plan.engine) {
      continue;
    }
    if (plan.real_runtime.path.empty()) {
      return FailedPrecondition(
          "{}: none of {} found where it looks for programs, so kgpu-runtime could start no "
          "container: install runc, or set the path of its runtime in \"runtimes\" of {}",
          plan.engine->Name(), Join(plan.real_runtime.wanted, ", "), kShimConfig);
    }
    runtimes = Union(std::move(runtimes), {plan.real_runtime.path});
  }
  return Union(std::move(runtimes), known);
}

StatusOr<Plan> PlanShim(const sys::Root& host, const ShimInput& input) {
  Plan plan;
  plan.id = std::string(kShimId);
  plan.way = "kgpu-runtime edits a container's spec before the real runtime reads it";
  RETURN_IF_ERROR(AddProgram(host, input, plan));
  RETURN_IF_ERROR(AddLink(host, input, plan));
  if (!plan.links.empty()) {
    plan.notes.emplace_back(
        "restart docker once to enable docker run --gpus: dockerd reads its hook at startup");
  }
  ASSIGN_OR_RETURN(const std::optional<std::string> config,
                   ReadIfThere(host, std::string(kShimConfig)));
  if (!input.config.empty() && config != input.config) {
    FileStep step;
    step.path = std::string(kShimConfig);
    step.before = config;
    step.after = input.config;
    plan.files.push_back(std::move(step));
  }
  return plan;
}

}  // namespace kgpu::engine
