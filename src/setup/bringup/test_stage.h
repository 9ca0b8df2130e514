// A stage for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "src/setup/bringup/stage.h"

namespace kgpu::bringup {

// Only records the calls.
class FakeStage final : public Stage {
 public:
  FakeStage(std::string id, std::vector<std::string>& calls) : id_(std::move(id)), calls_(calls) {}

  Look look{Condition::kNeeded, ""};
  StatusOr<Outcome> outcome{Outcome{}};
  bool leaves_traces = true;
  bool has_traces = false;
  bool is_quick_to_fail = false;  // before it leaves traces
  Levels levels{};
  std::string level{};  // what Do puts on top; empty: nothing
  int begun = 0;
  int ended = 0;

  std::string_view id() const override { return id_; }
  std::string_view title() const override { return id_; }
  bool LeavesTraces() const override { return leaves_traces; }
  bool HasTraces() const override { return has_traces; }
  StatusOr<Levels> LevelsThere() const override { return levels; }
  Look LookAt() override { return look; }
  StatusOr<std::string> Preview() override { return "would do " + id_ + "\n"; }
  StatusOr<std::string> PreviewUndo() override { return "would undo " + id_ + "\n"; }
  Status Begin() override {
    ++begun;
    return OkStatus();
  }
  Status End() override {
    ++ended;
    return OkStatus();
  }
  StatusOr<Outcome> Do() override {
    calls_.push_back("do " + id_);
    has_traces = has_traces || !is_quick_to_fail;
    if (!level.empty() && outcome.ok()) {
      Put(level);
    }
    return outcome;
  }
  StatusOr<Outcome> Undo() override {
    calls_.push_back("undo " + id_);
    has_traces = has_traces && !outcome.ok();
    if (!has_traces) {
      levels = {};
    }
    return outcome;
  }
  // Like Do, or a person.
  void Put(const std::string& name) {
    has_traces = true;
    levels.names = {name};
    levels.top = "driver " + name;
    levels.is_whole = true;
    levels.by_hand = "kgpu driver install";
  }

 private:
  std::string id_;
  std::vector<std::string>& calls_;
};

}  // namespace kgpu::bringup
