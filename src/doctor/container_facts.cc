#include <fmt/format.h>

#include "src/base/strings.h"
#include "src/cdi/check.h"
#include "src/doctor/facts.h"
#include "src/engine/find.h"
#include "src/engine/state.h"

namespace kgpu::doctor {
namespace {

// The soft limit of "Max locked memory  65536  65536  bytes". Source: proc(5), /proc/pid/limits.
std::optional<uint64_t> LockedMemory(std::string_view limits) {
  for (const std::string_view line : Split(limits, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() > 3 && line.starts_with("Max locked memory")) {
      return ParseUint(words[3]);
    }
  }
  return std::nullopt;
}

std::vector<EngineFacts> ReadEngines(Sight& sight, sys::ProgramRunner& runner) {
  const StatusOr<engine::State> state = engine::ReadState(sight.host());
  std::vector<EngineFacts> all;
  for (engine::Engine& engine : engine::FindEngines(sight.host(), runner, {})) {
    EngineFacts facts;
    facts.engine = std::move(engine);
    engine::CheckInput input;
    input.engine = &facts.engine;
    if (state.ok() && state->contains(facts.engine.Id())) {
      input.record = &state->at(facts.engine.Id());
    }
    facts.findings = engine::CheckEngine(sight.host(), runner, input);
    facts.config = sight.Text(facts.engine.config_file).value_or("");
    if (facts.engine.daemon) {
      facts.memlock = LockedMemory(
          sight.Text(fmt::format("proc/{}/limits", facts.engine.daemon->pid)).value_or(""));
    }
    all.push_back(std::move(facts));
  }
  return all;
}

void ReadSpecs(Sight& sight, ContainerFacts& facts) {
  const cdi::FolderContents contents = cdi::ReadFolders(
      sight.host(), {std::string(cdi::kStaticFolder), std::string(cdi::kDynamicFolder)});
  for (const cdi::SpecFile& file : contents.files) {
    if (!file.problem.empty()) {
      facts.broken_specs.push_back({file.path, file.problem});
      continue;
    }
    facts.has_gpu_spec |= file.spec.kind.ends_with("/gpu");
    for (const cdi::Finding& finding : cdi::CheckSpec(file.spec, sight.host())) {
      facts.stale_specs.push_back({file.path, finding.text});
    }
  }
  facts.conflicts = contents.conflicts;
}

void NoteLink(Sight& sight, const host::DeviceFile& node, ContainerFacts& facts) {
  const std::string link = fmt::format("/dev/char/{}:{}", node.major, node.minor);
  if (!sight.host().LinkStat(link).ok()) {
    facts.lost_links.push_back(link);
  }
}

}  // namespace

ContainerFacts ReadContainerFacts(Sight& sight, sys::ProgramRunner& runner,
                                  const host::DeviceNodes& nodes) {
  ContainerFacts facts;
  facts.engines = ReadEngines(sight, runner);
  ReadSpecs(sight, facts);
  facts.has_systemd = engine::HasSystemd(sight.host());
  facts.is_cgroup_v2 = sight.host().Exists("sys/fs/cgroup/cgroup.controllers");
  for (const host::GpuNode& gpu : nodes.gpus) {
    NoteLink(sight, gpu.node, facts);
  }
  if (nodes.control) {
    NoteLink(sight, *nodes.control, facts);
  }
  return facts;
}

}  // namespace kgpu::doctor
