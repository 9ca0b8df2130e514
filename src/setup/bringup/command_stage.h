// A stage that runs other kgpu commands as programs of their own: they do and print the same as by
// hand.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/sys/run.h"
#include "src/setup/bringup/stage.h"

namespace kgpu::bringup {

// The kgpu program and how to run it.
struct Commands {
  std::string program;  // the kgpu that runs now, by this process's path
  sys::ProgramRunner& runner;
  // Receives a command's output while it runs, line by line.
  std::function<void(std::string_view line)> on_line;
  std::vector<std::string> environment{};  // ours, so that a command does what it does by hand

  // `is_shown`: its lines go to on_line.
  StatusOr<sys::RunResult> Run(const std::vector<std::string>& words, bool is_shown) const;
};

using Words = std::vector<std::string>;

struct CommandStage {
  std::string id{};
  std::string title{};
  Words look{};  // exit code 0 or 9: ready; 7: needed; any other: blocked. Empty: always needed
  std::string reason{};        // prefix of the lines of `look` that say why the stage is needed
  bool is_look_final = false;  // no stage fixes what it finds: 7 also means blocked
  std::string obstacle{};      // a line of `look` with this text means blocked, whatever it returns
  std::string way_past{};      // what else can be done about that
  std::string when_hidden{};   // what to do where `look` cannot see the host: exit code 6
  bool is_proven = false;      // after `act`, `look` must report ready
  Words act{};                 // empty: nothing to do
  Words preview{};
  Words undo{};  // empty: leaves no traces
  // Whether there is anything for `undo` to revert.
  std::function<bool()> has_traces = [] { return false; };
  std::function<StatusOr<Levels>()> levels = [] { return Levels{}; };
  Words preview_undo{};
  // Exit code of `act` and `undo` that means Ending::kWaits; 0: there is none.
  int waits = 0;
  int nothing = 0;  // exit code of `undo` for nothing to undo; 0: there is none
};

std::unique_ptr<Stage> MakeStage(CommandStage stage, const Commands& commands);

}  // namespace kgpu::bringup
