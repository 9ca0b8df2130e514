// A host and a bundle in a folder, for tests: an index with two GPUs and a GPU in MIG mode.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/container/inject/index.h"
#include "src/container/oci/spec.h"
#include "src/container/shim/run.h"
#include "testing/fake_clock.h"
#include "testing/temp_dir.h"

namespace kgpu::shim {

inline inject::IndexNode TestNode(const std::string& path, int64_t major, int64_t minor) {
  inject::IndexNode node;
  node.node.path = path;
  node.node.type = "c";
  node.node.major = major;
  node.node.minor = minor;
  node.node.permissions = "rw";
  return node;
}

inline inject::InjectionIndex TestIndex() {
  using inject::Capability;
  inject::InjectionIndex index;
  index.driver_version = "535.104.05";
  index.cuda_version = "12.2";
  index.devices = {
      {{"0", "GPU-aaaaaaaa-0000-0000-0000-000000000000"},
       "8.0",
       "tesla",
       false,
       {TestNode("/dev/nvidia0", 195, 0)}},
      {{"1", "GPU-bbbbbbbb-0000-0000-0000-000000000000"},
       "8.0",
       "tesla",
       false,
       {TestNode("/dev/nvidia1", 195, 1)}},
      {{"2:0", "MIG-cccccccc-0000-0000-0000-000000000000"},
       "8.0",
       "tesla",
       true,
       {TestNode("/dev/nvidia2", 195, 2), TestNode("/dev/nvidia-caps/nvidia-cap12", 237, 12)}},
      {{"2:1", "MIG-cccccccc-1111-0000-0000-000000000000"},
       "8.0",
       "tesla",
       true,
       {TestNode("/dev/nvidia2", 195, 2), TestNode("/dev/nvidia-caps/nvidia-cap21", 237, 21)}},
  };
  index.nodes = {TestNode("/dev/nvidiactl", 195, 255)};
  index.files = {
      {Capability::kCompute,
       false,
       false,
       "/usr/lib/libcuda.so.535.104.05",
       {"/usr/lib64/libcuda.so.1", "/usr/lib64/libcuda.so.535.104.05"}},
      {Capability::kUtility, false, false, "/usr/bin/nvidia-smi", {"/usr/bin/nvidia-smi"}},
      {Capability::kVideo,
       false,
       false,
       "/usr/lib/libnvcuvid.so.535.104.05",
       {"/usr/lib64/libnvcuvid.so.1"}},
  };
  index.env = {"NVIDIA_VISIBLE_DEVICES=void"};
  return index;
}

class TestBundle {
 public:
  TestBundle() { WriteIndex(TestIndex()); }

  void WriteIndex(const inject::InjectionIndex& index) const {
    dir_.WriteFile("host/run/kgpu/injection.json", inject::PrintIndex(index));
  }
  void WriteSpec(std::string_view text) const { dir_.WriteFile("bundle/config.json", text); }

  // A spec with these variables (and PATH), mounts and any other fields, given as JSON text.
  static std::string Spec(const std::vector<std::string>& env, const std::string& mounts = "",
                          const std::string& more = "") {
    std::string variables = "\"PATH=/bin\"";
    for (const std::string& variable : env) {
      variables += fmt::format(",\"{}\"", variable);
    }
    return fmt::format(
        R"({{"ociVersion":"1.0.2","process":{{"env":[{}]}},"mounts":[{{"destination":"/proc","source":"proc"}}{}{}]{}}})",
        variables, mounts.empty() ? "" : ",", mounts, more);
  }
  static std::string RequestMount(const std::string& name,
                                  const std::string& source = "/dev/null") {
    return fmt::format(R"({{"destination":"/var/run/nvidia-container-devices/{}","source":"{}"}})",
                       name, source);
  }
  // Docker's hook entry, as a field to add.
  static std::string Hook() {
    return R"(,"hooks":{"prestart":[{"path":"/usr/bin/nvidia-container-runtime-hook",)"
           R"("args":["nvidia-container-runtime-hook","prestart"]},{"path":"/usr/bin/other"}]})";
  }

  Status Edit() {
    const std::string bundle = dir_.At("bundle");
    const sys::Root state = sys::Root::Open(dir_.At("host")).value();
    const sys::Root engine = sys::Root::Open("/").value();
    CommandLine line;
    line.starts_container = true;
    line.bundle = bundle;
    line.container = "box";
    line.spec_file = spec_file;
    return EditBundle(line, config, {state, engine, clock_});
  }
  // WriteSpec and Edit.
  Status Edit(std::string_view spec) {
    WriteSpec(spec);
    return Edit();
  }

  std::string spec() const { return dir_.ReadFile("bundle/config.json"); }
  std::string grants() const { return dir_.ReadFile("host/var/log/kgpu/runtime.log"); }
  std::string refusals() const { return dir_.ReadFile("host/var/log/kgpu/runtime.log.refused"); }
  std::string audit() const { return grants() + refusals(); }
  const TempDir& dir() const { return dir_; }

  Config config;
  std::string spec_file{kUsualSpec};

 private:
  TempDir dir_;
  FakeClock clock_;
};

}  // namespace kgpu::shim
