// A spec that is read is edited with everything edits can do. What comes out must be JSON, a spec,
// and hold the edits; without an edit the text must be the one that was read.
#include <boost/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/container/oci/edit.h"
#include "src/container/oci/spec.h"
#include "src/platform/doc/doc.h"

namespace {

using kgpu::oci::Spec;

void Require(bool claim) {
  if (!claim) {
    std::abort();
  }
}

kgpu::cdi::ContainerEdits SomeEdits() {
  kgpu::cdi::ContainerEdits edits;
  edits.env = {"NVIDIA_VISIBLE_DEVICES=void"};
  kgpu::cdi::DeviceNode& node = edits.device_nodes.emplace_back();
  node.path = "/dev/nvidia0";
  node.type = "c";
  node.major = 195;
  node.minor = 0;
  node.file_mode = 0666;
  edits.net_devices = {{.host_interface_name = "eth0", .name = "net0"}};
  edits.mounts = {{"/usr/lib/a.so", "/usr/lib64/a.so", {"ro", "rbind"}, ""}};
  edits.hooks = {{"prestart", "/bin/true", {"true"}, {"A=b"}, 3}};
  edits.additional_gids = {44};
  return edits;
}

// The variables as a parser of the whole text sees them; nothing when it sees none, or no JSON.
std::optional<std::vector<std::string>> EnvOfWhole(const std::string& text) {
  const auto whole = kgpu::doc::Parse(text, kgpu::doc::Format::kJson, "whole");
  if (!whole.ok()) {
    return std::nullopt;
  }
  boost::json::error_code error;
  const boost::json::value* env = whole->find_pointer("/process/env", error);
  if (env == nullptr || !env->is_array()) {
    return std::nullopt;
  }
  std::vector<std::string> variables;
  for (const boost::json::value& item : env->get_array()) {
    if (!item.is_string()) {
      return std::nullopt;
    }
    variables.emplace_back(item.get_string());
  }
  return variables;
}

bool HasNode(const std::string& text) {
  return text.find(R"("path":"/dev/nvidia0")") != std::string::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  auto spec = Spec::Parse(text, "fuzz");
  if (!spec.ok()) {
    return 0;
  }
  Require(spec->Print().value() == text);
  spec->Annotations().status().IgnoreError();
  if (const auto whole = EnvOfWhole(text)) {
    const auto env = spec->Env();
    Require(env.ok() && std::ranges::equal(*env, *whole));
  }
  static const kgpu::sys::Root engine = kgpu::sys::Root::Open("/").value();
  const bool removed =
      spec->RemoveMounts([](const auto& mount) { return mount.source == "/dev/null"; }).ok() &&
      spec->RemoveHooks([](std::string_view path) { return path.ends_with("hook"); }).ok();
  if (!removed || !kgpu::oci::ApplyEdits(*spec, SomeEdits(), engine).ok()) {
    return 0;
  }
  const auto printed = spec->Print();
  if (!printed.ok()) {
    return 0;  // a number or a second key that could not be kept
  }
  auto again = Spec::Parse(*printed, "again");
  if (!again.ok()) {
    // Only what the edits added can make it too long.
    Require(printed->size() > kgpu::oci::kSpecLimit);
    return 0;
  }
  Require(HasNode(*printed));
  Require(kgpu::oci::FindEnv(again->Env().value(), "NVIDIA_VISIBLE_DEVICES") == "void");
  Require(again->Env()->size() == spec->Env()->size());
  Require(again->Mounts()->size() == spec->Mounts()->size());
  Require(again->HookPaths()->size() == spec->HookPaths()->size());
  return 0;
}
