// Effects that tests look at.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "src/node/part/part.h"

namespace kgpu::node {

class TestEffects final : public Effects {
 public:
  NodeState now() const override { return state; }
  void AssignAgain() override {
    ++assigns;
    on_assign();
  }
  void ShowAgain() override { ++shows; }
  void UpdateAgain() override { on_update(); }
  void MeasureAgain() override { ++measures; }
  void FiguresChanged() override { ++figures; }
  void LookAtPods() override {
    ++looks;
    on_look();
  }
  void Notify(kube::Event event) override { events.push_back(std::move(event)); }

  NodeState state;
  int assigns = 0;
  int shows = 0;
  int measures = 0;
  int figures = 0;
  int looks = 0;
  std::vector<kube::Event> events;
  std::function<void()> on_assign = [] {};
  std::function<void()> on_update = [] {};
  std::function<void()> on_look = [] {};
};

}  // namespace kgpu::node
