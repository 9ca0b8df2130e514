#include "src/setup/driver/needs.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "src/gpu/cuda/compatibility.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::driver {
namespace {

Status TakeGpus(const HostFacts& facts, const Request& request, Needs& needs) {
  bool has_grace = false;
  if (request.generation) {
    needs.generations = {*request.generation};
  } else {
    for (const GpuId& gpu : facts.gpus) {
      needs.generations.push_back(gpu.generation);
      has_grace |= IsGrace(gpu.device_id);
    }
  }
  std::ranges::sort(needs.generations);
  const auto [first, last] = std::ranges::unique(needs.generations);
  needs.generations.erase(first, last);
  if (needs.generations.empty() && facts.kernel.is_running) {
    return FailedPrecondition(
        "no NVIDIA GPU is on this host's PCI bus: run kgpu doctor, or plan for a future one with "
        "--gpu ampere (or another generation)");
  }
  for (const Generation generation : needs.generations) {
    const Support support = SupportOf(generation);
    needs.first_branch = std::max(needs.first_branch, support.first_branch);
    if (support.last_branch != 0) {
      needs.last_branch = needs.last_branch == 0 ? support.last_branch
                                                 : std::min(needs.last_branch, support.last_branch);
    }
    needs.can_open &= support.can_open;
    needs.can_closed &= support.can_closed;
  }
  needs.can_closed &= !has_grace;
  return OkStatus();
}

Status CheckGpus(const Needs& needs) {
  if (!needs.can_open && !needs.can_closed) {
    return FailedPrecondition(
        "no kernel modules support all of these GPUs ({}): the newer ones need the open modules, "
        "the older ones the proprietary ones: remove one kind from the host, or bind it to "
        "vfio-pci",
        needs.Names());
  }
  if (needs.last_branch != 0 && needs.first_branch > needs.last_branch) {
    return FailedPrecondition(
        "no driver branch supports all of these GPUs ({}): some need {} or newer, some are "
        "supported up to {}",
        needs.Names(), needs.first_branch, needs.last_branch);
  }
  return OkStatus();
}

// HGX boards with NVLink 5 are known a little later than Blackwell's other GPUs. Source: the
// release notes of driver 570 for data centres.
void TakeBoards(const HostFacts& facts, Needs& needs) {
  const auto is_board = [](const GpuId& gpu) { return IsHgxBlackwell(gpu.device_id); };
  const cuda::DriverVersion least{.numbers = {570, 133, 20}};
  if (std::ranges::any_of(facts.gpus, is_board) && (!needs.least || *needs.least < least)) {
    needs.least = least;
    needs.why.push_back(
        fmt::format("HGX boards of Blackwell need driver {} or newer", least.str()));
  }
}

Status TakeCuda(const std::string& text, Needs& needs) {
  if (text.empty()) {
    return OkStatus();
  }
  const auto parsed = cuda::CudaVersion::Parse(text);
  if (!parsed.ok()) {
    return Annotate(parsed.status(), "--cuda");
  }
  needs.least = cuda::LeastDriver(*parsed);
  if (!needs.least) {
    return InvalidArgument(
        "--cuda: {} is newer than the latest CUDA version known to kgpu, {}: set the driver that "
        "it needs with --version",
        parsed->str(), cuda::Toolkits().front().cuda.str());
  }
  if (needs.last_branch != 0 && needs.least->branch() > needs.last_branch) {
    return FailedPrecondition(
        "--cuda: {} needs driver {} or newer, but branch {} is the last that supports these GPUs "
        "({}): use an older CUDA version",
        parsed->str(), needs.least->str(), needs.last_branch, needs.Names());
  }
  for (const Generation generation : needs.generations) {
    const auto compute = SupportOf(generation).compute;
    const auto least = cuda::LeastCompute(parsed->major);
    if (compute && least && *compute < *least) {
      needs.notes.push_back(
          fmt::format("the toolkit of CUDA {} no longer builds programs for {} GPUs", parsed->major,
                      ToString(generation)));
    }
  }
  needs.why.push_back(
      fmt::format("CUDA {} needs driver {} or newer", parsed->str(), needs.least->str()));
  return OkStatus();
}

Status TakeVersion(const Request& request, Needs& needs) {
  const std::string& text = request.version;
  if (text.empty()) {
    return OkStatus();
  }
  const std::string_view flag = request.is_branch ? "--branch" : "--version";
  ASSIGN_OR_RETURN(const cuda::DriverVersion parsed, ParseVersion(request));
  needs.branch = parsed.branch();
  if (needs.last_branch != 0 && *needs.branch > needs.last_branch) {
    return FailedPrecondition(
        "{}: {} is newer than branch {}, the last that supports these GPUs ({})", flag, text,
        needs.last_branch, needs.Names());
  }
  if (*needs.branch < needs.first_branch) {
    return FailedPrecondition("{}: these GPUs ({}) need branch {} or newer", flag, needs.Names(),
                              needs.first_branch);
  }
  const bool is_whole = text.find('.') != std::string::npos;
  if (needs.least &&
      (*needs.branch < needs.least->branch() || (is_whole && parsed < *needs.least))) {
    return InvalidArgument(
        "{}: {} is older than {}, the minimum for these GPUs and the requested CUDA version", flag,
        text, needs.least->str());
  }
  needs.why.push_back(fmt::format("{} {} requested", flag.substr(2), text));
  return OkStatus();
}

Status CheckKind(const std::optional<ModuleKind>& kind, const Needs& needs) {
  if (kind == ModuleKind::kOpen && !needs.can_open) {
    return FailedPrecondition(
        "--module: the open modules support GPUs from turing on, but this host has {}: use "
        "proprietary",
        needs.Names());
  }
  if (kind == ModuleKind::kProprietary && !needs.can_closed) {
    return FailedPrecondition("--module: only the open modules support these GPUs ({}): use open",
                              needs.Names());
  }
  return OkStatus();
}

}  // namespace

std::string Needs::Names() const {
  std::vector<std::string> names;
  names.reserve(generations.size());
  for (const Generation generation : generations) {
    names.emplace_back(ToString(generation));
  }
  return names.empty() ? "unknown" : Join(names, " and ");
}

StatusOr<Needs> NeedsOf(const HostFacts& facts, const Request& request) {
  Needs needs;
  RETURN_IF_ERROR(TakeGpus(facts, request, needs));
  RETURN_IF_ERROR(CheckGpus(needs));
  if (needs.generations.empty()) {
    needs.notes.emplace_back(
        "no GPU is visible from here: the plan suits all GPUs that the branch supports");
  } else {
    needs.why.push_back(fmt::format("GPUs: {}", needs.Names()));
  }
  RETURN_IF_ERROR(TakeCuda(request.cuda, needs));
  if (!request.generation) {
    TakeBoards(facts, needs);
  }
  RETURN_IF_ERROR(TakeVersion(request, needs));
  RETURN_IF_ERROR(CheckKind(request.kind, needs));
  return needs;
}

}  // namespace kgpu::driver
