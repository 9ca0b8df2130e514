// A stage for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "src/bringup/stage.h"

namespace kgpu::bringup {

// Does nothing but keep what it was asked for.
class FakeStage final : public Stage {
 public:
  FakeStage(std::string id, std::vector<std::string>& calls) : id_(std::move(id)), calls_(calls) {}

  Look look{Condition::kNeeded, ""};
  StatusOr<Outcome> outcome{Outcome{}};
  bool leaves_traces = true;

  std::string_view id() const override { return id_; }
  std::string_view title() const override { return id_; }
  bool LeavesTraces() const override { return leaves_traces; }
  Look LookAt() override { return look; }
  StatusOr<std::string> Preview() override { return "would do " + id_ + "\n"; }
  StatusOr<std::string> PreviewUndo() override { return "would undo " + id_ + "\n"; }
  StatusOr<Outcome> Do() override {
    calls_.push_back("do " + id_);
    return outcome;
  }
  StatusOr<Outcome> Undo() override {
    calls_.push_back("undo " + id_);
    return outcome;
  }

 private:
  std::string id_;
  std::vector<std::string>& calls_;
};

}  // namespace kgpu::bringup
