// A container that kgpu-runtime starts with a real runtime behind it, from a bundle of the
// test.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/e2e/container.h"
#include "tests/e2e/program.h"
#include "tests/e2e/sim_host.h"

namespace kgpu::e2e {

// Writes the simulated host's injection index and a configuration for the shim.
void PrepareHost(const SimHost& host, std::string_view config = "{}");

// Why containers cannot be started with `runtime` here; empty if they can.
std::string WhyNotWith(std::string_view runtime);

class Box {
 public:
  // `runtime`: "runc" or "crun".
  explicit Box(const SimHost& host, std::string_view runtime = "runc",
               ContainerBench::Image image = ContainerBench::Image::kDebianLike);
  ~Box();
  Box(const Box&) = delete;
  Box& operator=(const Box&) = delete;

  // What the container runs, with sh.
  void SetScript(const std::string& script) const;
  void AddEnv(const std::string& variable) const;
  void AddMount(const std::string& destination, const std::string& source) const;
  void MakeRootReadOnly() const;
  // The container's root is user 100000 of the host; the host's /dev is the simulated one, since a
  // runtime mounts nodes there that nobody may create in a user namespace.
  void UseUserNamespace();
  // What docker run --gpus writes.
  void AddGpus(const std::string& devices) const;

  // `kgpu-runtime run`, with the runtime's log as JSON.
  Result Run(std::chrono::milliseconds limit = std::chrono::seconds(60)) const;
  // `kgpu-runtime create`, without pipes of ours, which the container would hold open. Exit code.
  int Create() const;
  // `kgpu-runtime words…` with the same state folder and log.
  Result Call(const std::vector<std::string>& words,
              std::chrono::milliseconds limit = std::chrono::seconds(60)) const;

  std::string rootfs() const { return image_.rootfs(); }
  std::string bundle() const { return dir_.At("bundle"); }
  std::string id() const { return id_; }
  const TempDir& dir() const { return dir_; }
  std::string spec() const { return dir_.ReadFile("bundle/config.json"); }
  std::string log() const { return dir_.ReadFile("log.json"); }

 private:
  std::vector<std::string> Argv(const std::vector<std::string>& words) const;

  const SimHost& host_;
  std::string runtime_;
  bool has_user_namespace_ = false;
  ContainerBench image_;
  TempDir dir_;
  std::string id_;
};

}  // namespace kgpu::e2e
