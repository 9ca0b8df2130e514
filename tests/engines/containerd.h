// A separate containerd, called as the kubelet does.
#pragma once

#include <memory>
#include <string>

#include "tests/engines/box.h"
#include "tests/engines/cri_client.h"
#include "tests/engines/image.h"
#include "tests/engines/programs.h"
#include "tests/engines/report.h"

namespace kgpu::engines {

class ContainerdEngine {
 public:
  // `socket`: where it will listen.
  ContainerdEngine(Origin origin, std::string socket)
      : origin_(origin), socket_(std::move(socket)) {}

  EngineBox& box() { return box_; }

  // A runtime handler besides runc: `program` instead of runc. Call it before Start.
  void AddHandler(const std::string& name, const std::string& program);
  // Starts it and loads `image`.
  void Start(Image& image);
  // Loads an archive in addition.
  void Load(const std::string& archive);
  CriClient& cri() { return *cri_; }
  // The image's report from a container of a pod.
  Report RunReport(CriClient::Container container);
  // Why the runtime refuses the container; OK if it does not.
  Status TryRun(CriClient::Container container);

 private:
  Origin origin_;
  std::string socket_;
  EngineBox box_;
  std::string handlers_;
  std::unique_ptr<CriClient> cri_;
};

}  // namespace kgpu::engines
