#include <algorithm>
#include <boost/json/value.hpp>

#include <fmt/format.h>

#include "src/container/cdi/check.h"
#include "src/container/cdi/spec_version.h"
#include "src/container/engine/control.h"
#include "src/container/engine/find.h"
#include "src/container/engine/packages.h"
#include "src/container/engine/state.h"
#include "src/diagnose/doctor/facts.h"
#include "src/kube/api/json.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/sys/find_program.h"
#include "src/platform/sys/systemctl.h"

namespace kgpu::doctor {
namespace {

constexpr std::string_view kHookConfig = "etc/nvidia-container-runtime/config.toml";

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

// All that the engine reads, one text after the other. k3s and RKE2 make the file itself again from
// a template that may not be there.
std::string ReadSettings(host::Sight& sight, const EngineFacts& facts) {
  const engine::Engine& engine = facts.engine;
  std::string text = facts.config;
  if (engine.is_template) {
    const std::string folder = engine.config_file.substr(0, engine.config_file.rfind('/'));
    text += "\n" + sight.Text(folder + "/config.toml").value_or("");
  }
  if (!engine.drop_in_folder.empty()) {
    for (const std::string& name : sight.Names(engine.drop_in_folder)) {
      text += "\n" + sight.Text(fmt::format("{}/{}", engine.drop_in_folder, name)).value_or("");
    }
  }
  return text;
}

std::vector<EngineFacts> ReadEngines(host::Sight& sight, sys::ProgramRunner& runner,
                                     const sys::Root& engine_root) {
  const StatusOr<engine::State> state = engine::ReadState(sight.host());
  std::vector<EngineFacts> all;
  for (engine::Engine& engine : engine::FindEngines(sight.host(), runner, {})) {
    EngineFacts facts;
    facts.engine = std::move(engine);
    engine::CheckInput input;
    input.engine = &facts.engine;
    input.engine_root = &engine_root;
    if (state.ok() && state->contains(facts.engine.Id())) {
      input.record = &state->at(facts.engine.Id());
    }
    facts.findings = engine::CheckEngine(sight.host(), runner, input);
    facts.config = sight.Text(facts.engine.config_file).value_or("");
    facts.settings = ReadSettings(sight, facts);
    facts.start = engine::StartCommand(sight.host(), facts.engine);
    if (facts.engine.daemon) {
      facts.memlock = LockedMemory(
          sight.Text(fmt::format("proc/{}/limits", facts.engine.daemon->pid)).value_or(""));
    }
    all.push_back(std::move(facts));
  }
  return all;
}

bool HasGpuNode(const cdi::ContainerEdits& edits) {
  return std::ranges::any_of(edits.device_nodes, [](const cdi::DeviceNode& node) {
    return node.path.starts_with("/dev/nvidia");
  });
}

// "nvidia.com/gpu", and any other kind that adds an NVIDIA node; GPUs of other vendors do not
// count.
bool HasGpu(const cdi::Spec& spec) {
  const std::string vendor = spec.kind.substr(0, spec.kind.find('/'));
  return vendor == "nvidia.com" || vendor.ends_with(".nvidia.com") || vendor == "kgpu.dev" ||
         HasGpuNode(spec.edits) || std::ranges::any_of(spec.devices, [](const cdi::Device& device) {
           return HasGpuNode(device.edits);
         });
}

bool IsNewer(host::Sight& sight, const std::string& path) {
  const doc::Format format = path.ends_with(".json") ? doc::Format::kJson : doc::Format::kYaml;
  const auto tree = doc::Parse(sight.Text(path).value_or(""), format, path);
  return tree.ok() && cdi::IsNewerThanKnown(kube::TextField(*tree, {"cdiVersion"}));
}

void ReadSpecs(host::Sight& sight, const sys::Root& engine_root, ContainerFacts& facts) {
  const cdi::FolderContents contents = cdi::ReadFolders(
      sight.host(), {std::string(cdi::kStaticFolder), std::string(cdi::kDynamicFolder)});
  for (const cdi::SpecFile& file : contents.files) {
    if (!file.problem.empty()) {
      facts.broken_specs.push_back({file.path, file.problem, IsNewer(sight, file.path)});
      continue;
    }
    facts.has_gpu_spec |= HasGpu(file.spec);
    for (const report::Finding& finding : cdi::CheckSpec(file.spec, engine_root)) {
      facts.stale_specs.push_back({file.path, finding.message});
    }
  }
  facts.conflicts = contents.conflicts;
}

void NoteLink(host::Sight& sight, const host::DeviceFile& node, ContainerFacts& facts) {
  const std::string link = fmt::format("/dev/char/{}:{}", node.major, node.minor);
  if (!sight.host().LinkStat(link).ok()) {
    facts.lost_links.push_back(link);
  }
}

void NoteLinks(host::Sight& sight, const host::DeviceNodes& nodes, ContainerFacts& facts) {
  for (const host::GpuNode& gpu : nodes.gpus) {
    NoteLink(sight, gpu.node, facts);
  }
  for (const auto& node : {nodes.control, nodes.uvm, nodes.uvm_tools}) {
    if (node) {
      NoteLink(sight, *node, facts);
    }
  }
  for (const host::CapNode& cap : nodes.caps) {
    NoteLink(sight, cap.node, facts);
  }
}

// Of the name of its own library: "libsystemd-shared-252.so", "libsystemd-shared-255.4-1.fc40.so".
std::optional<unsigned> SystemdVersion(host::Sight& sight) {
  constexpr std::string_view kStart = "libsystemd-shared-";
  for (const std::string_view folder :
       {"usr/lib/systemd", "lib/systemd", "usr/lib/x86_64-linux-gnu/systemd",
        "usr/lib/aarch64-linux-gnu/systemd", "usr/lib64/systemd"}) {
    for (const std::string& name : sight.Names(folder)) {
      const std::string_view rest =
          std::string_view(name).substr(std::min(kStart.size(), name.size()));
      const auto number = ParseUint(rest.substr(0, rest.find_first_not_of("0123456789")));
      if (name.starts_with(kStart) && number) {
        return static_cast<unsigned>(*number);
      }
    }
  }
  return std::nullopt;
}

std::optional<engine::Version> RuncVersion(host::Sight& sight, sys::ProgramRunner& runner) {
  const std::string runc = sys::FindProgram(sight.host(), "runc");
  if (runc.empty()) {
    return std::nullopt;
  }
  const StatusOr<sys::RunResult> result =
      runner.Run({.argv = {runc, "--version"}, .root = sight.host().path()});
  return result.ok() && result->IsSuccess() ? engine::FindVersion(result->out) : std::nullopt;
}

bool IsLegacyHook(host::Sight& sight) {
  const std::string text = sight.Text(kHookConfig).value_or("");
  const std::vector<std::string_view> lines = Split(text, '\n');
  return std::ranges::any_of(
      lines, [](std::string_view line) { return Trim(line) == "mode = \"legacy\""; });
}

}  // namespace

ContainerFacts ReadContainerFacts(host::Sight& sight, sys::ProgramRunner& runner,
                                  const host::DeviceNodes& nodes, const std::string& engine_root) {
  ContainerFacts facts;
  const StatusOr<sys::Root> opened = sys::Root::Open(engine_root);
  if (!opened.ok()) {
    sight.Note(opened.status());
  }
  const sys::Root& root = opened.ok() ? *opened : sight.host();
  facts.engines = ReadEngines(sight, runner, root);
  facts.install = engine::InstallAdvice(sight.host());
  ReadSpecs(sight, root, facts);
  facts.has_systemd = sys::HasSystemd(sight.host());
  facts.is_cgroup_v2 = sight.host().Exists("sys/fs/cgroup/cgroup.controllers");
  facts.is_legacy_hook = IsLegacyHook(sight);
  NoteLinks(sight, nodes, facts);
  if (!facts.lost_links.empty() && facts.has_systemd) {
    facts.systemd_version = SystemdVersion(sight);
    facts.runc_version = RuncVersion(sight, runner);
  }
  return facts;
}

}  // namespace kgpu::doctor
